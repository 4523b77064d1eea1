#include "core/threads/on_demand_thread.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/patience.hpp"

namespace simba::detail {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

TEST(OnDemandThread, RunsJobsInOrderOnAnotherThread) {
  OnDemandThread thread{"simba-jobs", "a job threw", make_null_logger()};
  std::vector<int> ran;
  std::thread::id where;
  thread.post([&] { where = std::this_thread::get_id(); });
  for (const int i : {1, 2, 3}) thread.post([&, i] { ran.push_back(i); });
  ASSERT_TRUE(thread.wait(support::scaled(30s)));
  EXPECT_THAT(ran, ElementsAre(1, 2, 3));
  EXPECT_NE(where, std::this_thread::get_id());
}

TEST(OnDemandThread, WorksAgainAfterARest) {
  OnDemandThread thread{"simba-jobs", "a job threw", make_null_logger()};
  EXPECT_TRUE(thread.wait(0ms));
  for (int i = 0; i < 100; ++i) {
    std::atomic<bool> ran = false;
    thread.post([&] { ran = true; });
    if (i % 2 == 0) {
      ASSERT_TRUE(thread.wait(support::scaled(30s)));
    }
    ASSERT_TRUE(support::eventually([&] { return ran.load(); }));
  }
}

TEST(OnDemandThread, GoesOnAfterAJobThatThrows) {
  OnDemandThread thread{"simba-jobs", "a job threw", make_null_logger()};
  bool ran = false;
  thread.post([] { throw std::runtime_error{"by intent"}; });
  thread.post([&] { ran = true; });
  ASSERT_TRUE(thread.wait(support::scaled(30s)));
  EXPECT_TRUE(ran);
}

TEST(OnDemandThread, TakesJobsFromAJob) {
  OnDemandThread thread{"simba-jobs", "a job threw", make_null_logger()};
  bool ran = false;
  thread.post([&] { thread.post([&] { ran = true; }); });
  ASSERT_TRUE(thread.wait(support::scaled(30s)));
  EXPECT_TRUE(ran);
}

TEST(OnDemandThread, LeavesAJobBehindThatDoesNotEnd) {
  OnDemandThread thread{"simba-jobs", "a job threw", make_null_logger()};
  std::promise<void> go_on;
  std::promise<void> was_last;
  thread.post([may = go_on.get_future().share()] { may.wait(); });
  thread.post([&] { was_last.set_value(); });
  EXPECT_FALSE(thread.wait(1ms));

  bool ran = false;
  thread.post([&] { ran = true; });
  ASSERT_TRUE(thread.wait(support::scaled(30s)));
  EXPECT_TRUE(ran);

  go_on.set_value();
  was_last.get_future().wait();
}

TEST(OnDemandThread, MayEndInItsOwnJob) {
  auto thread = std::make_shared<OnDemandThread>("simba-jobs", "a job threw", make_null_logger());
  std::promise<void> go_on;
  std::promise<void> gone;
  thread->post([&, may = go_on.get_future().share()] {
    may.wait();
    thread.reset();
    gone.set_value();
  });
  go_on.set_value();
  gone.get_future().wait();
}

}  // namespace
}  // namespace simba::detail
