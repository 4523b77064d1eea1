#include "core/threads/thread_pool.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <pthread.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "simba/testkit/capturing_logger.hpp"
#include "simba/testkit/manual_clock.hpp"
#include "simba/testkit/manual_timers.hpp"
#include "unit/core/gate.hpp"
#include "unit/core/own_threads.hpp"

namespace simba::detail {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::Gate;

/// A pool whose threads are real and whose time is not, so that a task blocks exactly when the
/// clock says so.
class ThreadPoolTest : public testing::Test {
 protected:
  std::unique_ptr<ThreadPool> make_pool(std::size_t least, std::size_t most) {
    return std::make_unique<ThreadPool>(
        "pool", least, most,
        PoolSurroundings{.group = group_, .clock = clock_, .timers = timers_, .log = log_});
  }

  /// Tasks that stay until `go_on_`; `at_once` of them find a thread.
  void block(ThreadPool& pool, int tasks, int at_once) {
    for (int i = 0; i < tasks; ++i) {
      pool.execute([this] {
        ++blocking_;
        EXPECT_TRUE(go_on_.opens());
        --blocking_;
      });
    }
    ASSERT_TRUE(eventually([&] { return blocking_ == at_once; }));
  }

  /// Lets the pool grow step by step until so many tasks block.
  void grow(const std::vector<int>& steps) {
    for (const int blocking : steps) {
      pass(10ms);
      ASSERT_TRUE(eventually([&] { return blocking_ == blocking; })) << blocking;
      ASSERT_TRUE(has_threads(blocking));
    }
  }

  void pass(std::chrono::nanoseconds span) {
    clock_->advance(span);
    while (timers_->fire_next(clock_->now())) {
    }
  }

  static bool has_threads(int count) {
    return eventually([=] { return test::threads_named("pool-") == count; });
  }

  const std::shared_ptr<testkit::ManualClock> clock_ = std::make_shared<testkit::ManualClock>();
  const std::shared_ptr<testkit::ManualTimers> timers_ = std::make_shared<testkit::ManualTimers>();
  const std::shared_ptr<testkit::CapturingLogger> log_ =
      std::make_shared<testkit::CapturingLogger>();
  const std::shared_ptr<const ThreadGroup> group_ = std::make_shared<const ThreadGroup>();
  Gate go_on_;
  std::atomic<int> blocking_{0};
};

TEST_F(ThreadPoolTest, GivesATaskThatWaitsBehindBlockedOnesAThread) {
  const auto pool = make_pool(2, 64);
  block(*pool, 2, 2);
  Gate ran;
  pool->execute([&] { ran.open(); });
  pass(10ms);
  EXPECT_TRUE(ran.opens());
  go_on_.open();
}

TEST_F(ThreadPoolTest, HasNoMoreThreadsForManyTasksThatDoNotBlock) {
  const auto pool = make_pool(2, 64);
  block(*pool, 2, 2);
  std::atomic<int> ran{0};
  for (int i = 0; i < 10'000; ++i) pool->execute([&] { ++ran; });
  pass(9ms);  // they have not blocked for long
  EXPECT_TRUE(has_threads(2));
  go_on_.open();
  EXPECT_TRUE(eventually([&] { return ran == 10'000; }));
  pass(1s);
  EXPECT_TRUE(has_threads(2));
}

TEST_F(ThreadPoolTest, GrowsOnlyByWhatIsBlockedAndShrinksAgain) {
  const auto pool = make_pool(2, 64);
  block(*pool, 50, 2);
  grow({4, 8, 16, 32, 50});
  pass(1h);
  EXPECT_TRUE(has_threads(50)) << "nothing waits";
  go_on_.open();
  EXPECT_TRUE(has_threads(2));
}

TEST_F(ThreadPoolTest, KeepsAsManyThreadsUnblockedAsItBeganWith) {
  const auto pool = make_pool(2, 64);
  block(*pool, 1, 1);
  pass(10ms);
  // The other thread gets two tasks, neither of which blocks it for long.
  struct Quick {
    Gate began;
    Gate may_end;
  };
  std::array<Quick, 2> quick;
  for (Quick& task : quick) {
    pool->execute([&] {
      task.began.open();
      EXPECT_TRUE(task.may_end.opens());
    });
  }
  ASSERT_TRUE(quick[0].began.opens());
  Gate ran;
  pool->execute([&] { ran.open(); });
  pass(9ms);
  quick[0].may_end.open();
  ASSERT_TRUE(quick[1].began.opens());
  pass(1ms);
  EXPECT_TRUE(ran.opens()) << "it has waited 10 ms while only one of two threads was not blocked";
  quick[1].may_end.open();
  go_on_.open();
}

TEST_F(ThreadPoolTest, EndsWhileItGrows) {
  for (int i = 0; i < 20; ++i) {
    Gate go_on;
    auto pool = make_pool(2, 64);
    for (int task = 0; task < 32; ++task) pool->execute([&] { EXPECT_TRUE(go_on.opens()); });
    std::thread growth{[&] { pass(10ms); }};
    go_on.open();
    pool.reset();
    growth.join();
  }
  EXPECT_TRUE(has_threads(0));
}

TEST_F(ThreadPoolTest, HasNeverMoreThreadsThanItsMaximum) {
  const auto pool = make_pool(1, 3);
  block(*pool, 10, 1);
  grow({2, 3, 3});
  EXPECT_EQ(timers_->next_due(), never) << "it can do nothing more, so it does not look";
  go_on_.open();
}

TEST_F(ThreadPoolTest, KeepsATaskForWhichTheSystemGivesNoThreadAndTriesAgain) {
  const auto pool = make_pool(1, 64);
  block(*pool, 1, 1);
  Gate ran;
  pool->execute([&] { ran.open(); });
  ::pthread_attr_t usual;
  ASSERT_EQ(::pthread_getattr_default_np(&usual), 0);
  ::pthread_attr_t excessive;
  ASSERT_EQ(::pthread_getattr_default_np(&excessive), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&excessive, std::size_t{1} << 47), 0);
  ASSERT_EQ(::pthread_setattr_default_np(&excessive), 0);
  pass(10ms);
  EXPECT_EQ(::pthread_setattr_default_np(&usual), 0);
  EXPECT_TRUE(log_->contains("pool: cannot start another thread"));
  EXPECT_TRUE(has_threads(1));
  pass(1s);
  EXPECT_TRUE(ran.opens());
  go_on_.open();
}

TEST_F(ThreadPoolTest, EndsWhileItIsLargeAndRunsWhatIsQueued) {
  std::atomic<int> ran{0};
  {
    const auto pool = make_pool(1, 8);
    block(*pool, 8, 1);
    grow({2, 4, 8});
    for (int i = 0; i < 100; ++i) pool->execute([&] { ++ran; });
    go_on_.open();
  }
  EXPECT_EQ(ran, 100);
  EXPECT_TRUE(has_threads(0));
}

TEST_F(ThreadPoolTest, GrowsAndShrinksWithoutLosingATask) {
  const auto pool = make_pool(2, 16);
  std::atomic<int> ran{0};
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 20; ++i) {
      pool->execute([&] {
        std::this_thread::yield();
        ++ran;
      });
    }
    pass(10ms);  // whatever runs now has done so for 10 ms
  }
  EXPECT_TRUE(eventually([&] { return ran == 1'000; }));
  EXPECT_TRUE(has_threads(2));
}

}  // namespace
}  // namespace simba::detail
