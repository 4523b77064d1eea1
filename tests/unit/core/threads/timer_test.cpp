#include "simba/core/timer.hpp"

#include <atomic>
#include <malloc.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "simba/core/runtime.hpp"
#include "unit/core/doubles.hpp"
#include "unit/core/gate.hpp"
#include "unit/core/own_threads.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using test::Gate;

class TimerTest : public testing::Test {
 protected:
  LocalTime now() const { return runtime_->clock->now(); }

  std::unique_ptr<Timer> timer(std::function<void()> on_due) {
    return runtime_->timers->create(std::move(on_due));
  }

  /// True once the timer thread has been through everything that was due before.
  bool passes(std::chrono::nanoseconds span) {
    Gate gate;
    const auto later = timer([&] { gate.open(); });
    later->arm(now() + span);
    return gate.opens();
  }

  /// Calls `act` with a moment that is still to come when it returns, and lets that moment pass. On
  /// a machine that is too busy for it, once more with a later one.
  void in_time(const std::function<void(LocalTime)>& act) {
    for (auto span = 4ms;; span *= 2) {
      const auto due = now() + span;
      act(due);
      const bool was_in_time = now() < due;
      ASSERT_TRUE(passes(span * 2));
      if (was_in_time) return;
    }
  }

  std::shared_ptr<test::LineLog> log_ = std::make_shared<test::LineLog>();
  std::shared_ptr<const Runtime> runtime_ = make_runtime({.log = log_});
};

TEST_F(TimerTest, FiresWhenItIsDueAndNotBefore) {
  Gate fired;
  LocalTime fired_at{};
  const auto alarm = timer([&] {
    fired_at = now();
    fired.open();
  });
  const auto due = now() + 5ms;
  alarm->arm(due);
  ASSERT_TRUE(fired.opens());
  EXPECT_GE(fired_at, due);
}

TEST_F(TimerTest, ArmedForThePastFiresAtOnceButNotInsideArm) {
  for (const auto due : {LocalTime{}, LocalTime::min(), now()}) {
    Gate fired;
    std::thread::id thread;
    const auto alarm = timer([&] {
      thread = std::this_thread::get_id();
      fired.open();
    });
    alarm->arm(due);
    ASSERT_TRUE(fired.opens());
    EXPECT_NE(thread, std::this_thread::get_id());
  }
}

TEST_F(TimerTest, ArmedAgainForAnEarlierMomentFiresThen) {
  Gate fired;
  const auto alarm = timer([&] { fired.open(); });
  alarm->arm(never - 1ns);
  alarm->arm(now() + 1h);
  alarm->arm(now() + 1ms);
  EXPECT_TRUE(fired.opens());
}

TEST_F(TimerTest, ArmedAgainForALaterMomentDoesNotFireBeforeThat) {
  Gate fired;
  std::atomic<int> calls{0};
  const auto alarm = timer([&] {
    ++calls;
    fired.open();
  });
  in_time([&](LocalTime due) {
    calls = 0;
    alarm->arm(due);
    alarm->arm(due + 1h);
  });
  EXPECT_EQ(calls, 0);
  alarm->arm(now());
  EXPECT_TRUE(fired.opens());
}

TEST_F(TimerTest, ArmedAgainForALaterMomentFiresThen) {
  Gate fired;
  LocalTime last_call{};
  const auto alarm = timer([&] {
    last_call = now();
    fired.open();
  });
  alarm->arm(now() + 2ms);
  const auto due = now() + 5ms;
  alarm->arm(due);
  ASSERT_TRUE(fired.opens());
  ASSERT_TRUE(passes(6ms));
  EXPECT_GE(last_call, due);
}

TEST_F(TimerTest, CancelledDoesNotFire) {
  std::atomic<int> calls{0};
  const auto alarm = timer([&] { ++calls; });
  in_time([&](LocalTime due) {
    calls = 0;
    alarm->arm(due);
    alarm->cancel();
  });
  EXPECT_EQ(calls, 0);
}

TEST_F(TimerTest, CancelledAndArmedAgainFires) {
  Gate fired;
  const auto alarm = timer([&] { fired.open(); });
  alarm->arm(now() + 2ms);
  alarm->cancel();
  ASSERT_TRUE(passes(4ms)) << "the wait that was left alone is over by now";
  alarm->arm(now() + 1ms);
  EXPECT_TRUE(fired.opens());
}

TEST_F(TimerTest, NeverArmedDoesNotFire) {
  std::atomic<int> calls{0};
  const auto alarm = timer([&] { ++calls; });
  alarm->cancel();
  ASSERT_TRUE(passes(1ms));
  EXPECT_EQ(calls, 0);
}

TEST_F(TimerTest, MayBeArmedInItsOwnFunction) {
  Gate done;
  int calls = 0;
  std::unique_ptr<Timer> alarm;
  alarm = timer([&] {
    if (++calls == 5) {
      done.open();
    } else {
      alarm->arm(now() + 100us);
    }
  });
  alarm->arm(now());
  EXPECT_TRUE(done.opens());
}

TEST_F(TimerTest, MayBeDestroyedInItsOwnFunction) {
  Gate done;
  std::unique_ptr<Timer> alarm;
  Gate assigned;
  alarm = timer([&] {
    assigned.opens();
    alarm.reset();
    done.open();
  });
  alarm->arm(now());
  assigned.open();
  EXPECT_TRUE(done.opens());
}

TEST_F(TimerTest, DestroyedWhileArmedDoesNotFire) {
  std::atomic<int> calls{0};
  in_time([&](LocalTime due) {
    calls = 0;
    timer([&] { ++calls; })->arm(due);
  });
  EXPECT_EQ(calls, 0);
}

TEST_F(TimerTest, ThatThrowsIsLoggedAndDisturbsNeitherItselfNorOthers) {
  Gate second_call;
  std::atomic<int> calls{0};
  const auto alarm = timer([&] {
    if (++calls == 2) second_call.open();
    throw std::runtime_error{"no luck"};
  });
  alarm->arm(now());
  ASSERT_TRUE(passes(1ms));
  alarm->arm(now());
  EXPECT_TRUE(second_call.opens());
  ASSERT_TRUE(passes(1ms));
  EXPECT_TRUE(runtime_->log->flush(30s));
  EXPECT_TRUE(log_->has("a timer callback threw: no luck"));
}

TEST_F(TimerTest, HoldsWhatItsFunctionHoldsNoLongerThanItLives) {
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = held;
  {
    const auto alarm = timer([held = std::move(held)] {});
    alarm->arm(now() + 1h);
    EXPECT_FALSE(seen.expired());
  }
  ASSERT_TRUE(passes(0ms));
  EXPECT_TRUE(seen.expired());
}

TEST_F(TimerTest, OutlivesTheRuntimeItWasMadeOf) {
  Gate fired;
  const auto alarm = timer([&] { fired.open(); });
  const auto due = now() + 1ms;
  runtime_.reset();
  alarm->arm(due);
  EXPECT_TRUE(fired.opens());
}

TEST_F(TimerTest, ArmedAndCancelledOverAndOverDoesNotWakeItsThread) {
  Gate known;
  pid_t thread = 0;
  const auto alarm = timer([&] {
    thread = ::gettid();
    known.open();
  });
  alarm->arm(now());
  ASSERT_TRUE(known.opens());
  const auto switches = [&] {
    return std::stol(test::line_after("/proc/self/task/" + std::to_string(thread) + "/status",
                                      "voluntary_ctxt_switches:"));
  };
  alarm->arm(now() + 1h);
  const auto before = switches();
  for (int i = 0; i < 10'000; ++i) {
    alarm->arm(now() + 1h);
    alarm->cancel();
  }
  EXPECT_LT(switches() - before, 100);
}

TEST_F(TimerTest, ThatThreadsArmAtTheSameTimeAllFireInTheEnd) {
  constexpr int timers = 100;
  std::atomic<int> fired{0};
  Gate all;
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        std::vector<std::unique_ptr<Timer>> mine;
        std::vector<std::shared_ptr<Gate>> gates;
        mine.reserve(timers);
        gates.reserve(timers);
        for (int i = 0; i < timers; ++i) {
          const auto gate = gates.emplace_back(std::make_shared<Gate>());
          mine.push_back(timer([gate] { gate->open(); }));
        }
        for (int round = 0; round < 50; ++round) {
          for (auto& alarm : mine) alarm->arm(now() + ((round * 7 + t) % 5) * 100us);
        }
        for (auto& alarm : mine) alarm->arm(now() + 1ms);
        for (auto& gate : gates) fired += gate->opens() ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(fired, 4 * timers);
}

TEST_F(TimerTest, CostsLittleMemoryInGreatNumbers) {
  constexpr std::size_t count = 10'000;
  std::vector<std::unique_ptr<Timer>> timers;
  timers.reserve(count);
  const auto used = [] {
    const auto info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const auto before = used();
  for (std::size_t i = 0; i < count; ++i) {
    timers.push_back(timer([] {}));
    timers.back()->arm(now() + 1h + std::chrono::milliseconds{i});
  }
  const auto each = (used() - before) / count;
  if (each == 0) GTEST_SKIP() << "the allocator of a sanitizer does not tell";
  RecordProperty("bytes", static_cast<int>(each));
  EXPECT_LT(each, 400U);
}

}  // namespace
}  // namespace simba
