#include "simba/testkit/manual_runtime.hpp"

#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"

namespace simba::testkit {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class ManualRuntimeTest : public testing::Test {
 protected:
  /// A blocking call as Simba makes them.
  bool wait(LocalTime deadline, const std::function<bool()>& ready) {
    std::unique_lock lock{mutex_};
    const bool held = manual_.runtime()->waiter->wait_until(lock, changed_, deadline, [&] {
      EXPECT_TRUE(lock.owns_lock());
      return ready();
    });
    EXPECT_TRUE(lock.owns_lock());
    return held;
  }

  std::unique_ptr<Timer> timer(std::function<void()> on_due) {
    return manual_.runtime()->timers->create(std::move(on_due));
  }

  std::function<void()> note(const std::string& name) {
    return [this, name] { order_.push_back(name); };
  }

  ManualRuntime manual_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> order_;
  const LocalTime start_ = manual_.now();
};

TEST_F(ManualRuntimeTest, HasEveryPartOfARuntime) {
  const auto& runtime = *manual_.runtime();
  EXPECT_TRUE(runtime.clock && runtime.timers && runtime.callbacks && runtime.workers &&
              runtime.signals && runtime.waiter && runtime.random && runtime.log);
  EXPECT_EQ(runtime.clock->now(), manual_.now());
  EXPECT_EQ(runtime.callbacks.get(), &manual_.callbacks());
  EXPECT_EQ(runtime.workers.get(), &manual_.workers());
  EXPECT_EQ(runtime.signals.get(), &manual_.signals());
  runtime.log->log(LogLevel::info, "hello");
  EXPECT_TRUE(manual_.log().contains("hello"));
}

TEST_F(ManualRuntimeTest, TheSameSeedGivesTheSameRandomness) {
  const auto first = [](std::uint64_t seed) {
    return ManualRuntime{seed}.runtime()->random->next();
  };
  EXPECT_EQ(first(7), first(7));
  EXPECT_NE(first(7), first(8));
}

TEST_F(ManualRuntimeTest, RunReadyRunsSignalsThenCallbacksThenWorkThenTimersThatAreDue) {
  const auto& runtime = *manual_.runtime();
  const auto due = timer(note("timer"));
  const auto later = timer(note("later"));
  due->arm(start_);
  later->arm(start_ + 1ns);
  runtime.workers->execute(note("work"));
  runtime.callbacks->execute([&] {
    order_.emplace_back("callback");
    runtime.signals->execute(note("second signal"));
  });
  runtime.signals->execute(note("signal"));
  EXPECT_EQ(manual_.run_ready(), 5U);
  EXPECT_THAT(order_, ElementsAre("signal", "callback", "second signal", "work", "timer"));
  EXPECT_EQ(manual_.now(), start_);
  EXPECT_EQ(manual_.next_due(), start_ + 1ns);
}

TEST_F(ManualRuntimeTest, AdvanceStopsAtEachTimerOnTheWay) {
  std::vector<LocalTime> moments;
  std::unique_ptr<Timer> tick;
  tick = timer([&] {
    moments.push_back(manual_.now());
    tick->arm(manual_.now() + 2s);
    manual_.callbacks().execute([&] { moments.push_back(manual_.now()); });
  });
  tick->arm(start_ + 2s);
  manual_.advance(5s);
  EXPECT_THAT(moments, ElementsAre(start_ + 2s, start_ + 2s, start_ + 4s, start_ + 4s));
  EXPECT_EQ(manual_.now(), start_ + 5s);
  manual_.advance(1s);
  EXPECT_EQ(moments.size(), 6U) << "a timer due at the very end fires";
}

TEST_F(ManualRuntimeTest, TimeCannotGoBack) {
  EXPECT_THROW(manual_.advance(-1ns), InvalidArgumentError);
  EXPECT_THROW(manual_.run_until([] { return true; }, -1ns), InvalidArgumentError);
}

TEST_F(ManualRuntimeTest, RunUntilStopsAsSoonAsItsConditionHolds) {
  int ticks = 0;
  std::unique_ptr<Timer> tick;
  tick = timer([&] {
    ++ticks;
    tick->arm(manual_.now() + 1s);
  });
  tick->arm(start_ + 1s);
  EXPECT_TRUE(manual_.run_until([&] { return ticks == 3; }, 10s));
  EXPECT_EQ(manual_.now(), start_ + 3s);
  EXPECT_FALSE(manual_.run_until([&] { return ticks == 99; }, 10s));
  EXPECT_EQ(manual_.now(), start_ + 13s);
  EXPECT_EQ(ticks, 13) << "what is due at the end still runs";
}

TEST_F(ManualRuntimeTest, RunUntilGivesUpWhenNothingCanHappenAnyMore) {
  EXPECT_FALSE(manual_.run_until([] { return false; }, std::chrono::nanoseconds::max()));
}

TEST_F(ManualRuntimeTest, ABlockingCallRunsTasksUntilItsConditionHolds) {
  bool ready = false;
  manual_.callbacks().execute([&] {
    const std::lock_guard lock{mutex_};  // the waiting call has let go of it
    ready = true;
  });
  manual_.callbacks().execute(note("not needed"));
  EXPECT_TRUE(wait(never, [&] { return ready; }));
  EXPECT_THAT(order_, ElementsAre());
  EXPECT_EQ(manual_.now(), start_);
}

TEST_F(ManualRuntimeTest, ABlockingCallMovesTimeOnToTheTimerItNeeds) {
  bool ready = false;
  const auto alarm = timer([&] { ready = true; });
  alarm->arm(start_ + 3s);
  EXPECT_TRUE(wait(start_ + 5s, [&] { return ready; }));
  EXPECT_EQ(manual_.now(), start_ + 3s);
}

TEST_F(ManualRuntimeTest, ABlockingCallEndsAtItsDeadline) {
  const auto alarm = timer(note("too late"));
  alarm->arm(start_ + 6s);
  EXPECT_FALSE(wait(start_ + 5s, [] { return false; }));
  EXPECT_EQ(manual_.now(), start_ + 5s);
  EXPECT_THAT(order_, ElementsAre());
  EXPECT_FALSE(wait(start_, [] { return false; })) << "a deadline that is past";
}

TEST_F(ManualRuntimeTest, ABlockingCallThatWouldWaitForEverThrows) {
  std::unique_lock lock{mutex_};
  EXPECT_THAT(
      [&] { manual_.runtime()->waiter->wait_until(lock, changed_, never, [] { return false; }); },
      ThrowsMessage<std::logic_error>(HasSubstr("would wait forever")));
  EXPECT_TRUE(lock.owns_lock());
}

TEST_F(ManualRuntimeTest, BlockingCallsMayBeNestedInTasksAndTimers) {
  bool inner = false;
  bool outer = false;
  const auto wakes_inner = timer([&] { inner = true; });
  std::mutex other;
  const auto blocks = timer([&] {
    std::unique_lock lock{other};
    EXPECT_TRUE(
        manual_.runtime()->waiter->wait_until(lock, changed_, start_ + 9s, [&] { return inner; }));
    manual_.callbacks().execute([&] { outer = true; });
  });
  blocks->arm(start_ + 1s);
  wakes_inner->arm(start_ + 4s);
  manual_.advance(2s);
  EXPECT_EQ(manual_.now(), start_ + 4s) << "the nested call went beyond";
  EXPECT_TRUE(outer);
}

TEST_F(ManualRuntimeTest, ATimerThatNeverComesToRestIsFoundOut) {
  std::unique_ptr<Timer> runaway;
  runaway = timer([&] { runaway->arm(manual_.now()); });
  runaway->arm(start_);
  EXPECT_THROW(manual_.run_ready(), std::logic_error);
}

TEST(ManualRuntime, ItsPartsLiveOnWhileSomeoneHoldsThem) {
  std::shared_ptr<const Runtime> runtime;
  std::unique_ptr<Timer> timer;
  bool fired = false;
  {
    ManualRuntime manual;
    runtime = manual.runtime();
    timer = runtime->timers->create([&] { fired = true; });
    runtime->callbacks->execute([runtime] { FAIL() << "was queued when the runtime ended"; });
  }
  timer->arm(runtime->clock->now() + 1s);
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_lock lock{mutex};
  EXPECT_TRUE(runtime->waiter->wait_until(lock, changed, never, [&] { return fired; }));
}

}  // namespace
}  // namespace simba::testkit
