#include "simba/core/delay_monitor.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/owner_dispatcher.hpp"
#include "simba/testkit/manual_runtime.hpp"
#include "simba/testkit/recording_contender.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class DelayMonitorTest : public testing::Test {
 protected:
  std::unique_ptr<DelayMonitor::Line> line(const std::string& who, const void* executor) {
    return std::make_unique<DelayMonitor::Line>(monitor_, who, executor, "do something about it");
  }

  testkit::ManualRuntime world_;
  const std::shared_ptr<DelayMonitor> monitor_ =
      DelayMonitor::make(world_.runtime()->clock, *world_.runtime()->timers, world_.runtime()->log);
  const int one_ = 1;
  const int other_ = 2;
};

TEST_F(DelayMonitorTest, SaysWhoWaitsAndWhoRunsOnTheSameExecutorAndCounts) {
  const auto blocker = line("the blocker", &one_);
  const auto stranger = line("the stranger", &other_);
  const auto waiter = line("the waiter", &one_);
  blocker->waits();
  blocker->begins();
  stranger->begins();
  world_.advance(34s);
  waiter->waits();
  world_.advance(999ms);
  EXPECT_EQ(monitor_->delayed(), 0U);
  EXPECT_EQ(world_.log().lines().size(), 0U);
  world_.advance(1ms);
  EXPECT_EQ(monitor_->delayed(), 1U);
  EXPECT_THAT(world_.log().text(),
              AllOf(HasSubstr("not started after 1 s: the waiter; currently running: the "
                              "blocker for 35 s; do something about it"),
                    Not(HasSubstr("stranger"))));
  world_.advance(1h);
  EXPECT_EQ(monitor_->delayed(), 1U) << "each is counted once";
  EXPECT_EQ(world_.log().lines().size(), 1U);
}

TEST_F(DelayMonitorTest, TellsWhatRunsWhatWaitsAndForHowLongCallbacksHaveRun) {
  const auto first = line("the first", &one_);
  auto second = line("the second", &one_);
  first->begins();
  second->waits();
  world_.advance(2s);
  EXPECT_EQ(monitor_->statistics().running, 1U);
  EXPECT_EQ(monitor_->statistics().waiting, 1U);
  EXPECT_EQ(monitor_->statistics().waiting_for, 2s);
  EXPECT_EQ(monitor_->statistics().durations.count(), 0U);
  first->ends();
  second->begins();
  world_.advance(3s);
  second.reset();  // what runs only once
  const CallbackStatistics seen = monitor_->statistics();
  EXPECT_EQ(seen.running + seen.waiting, 0U);
  EXPECT_EQ(seen.waiting_for, 0s);
  EXPECT_EQ(seen.durations.count(), 2U);
  EXPECT_EQ(seen.durations.total, 5s);
}

TEST_F(DelayMonitorTest, NamesAFewOfManyInOneLine) {
  std::vector<std::unique_ptr<DelayMonitor::Line>> lines;
  for (int i = 0; i < 5; ++i) {
    lines.push_back(line("waiter " + std::to_string(i), &one_));
    lines.back()->waits();
  }
  world_.advance(1s);
  EXPECT_EQ(monitor_->delayed(), 5U);
  ASSERT_EQ(world_.log().lines().size(), 1U);
  EXPECT_THAT(world_.log().text(), HasSubstr("waiter 0, waiter 1, waiter 2 and 2 more"));
}

TEST_F(DelayMonitorTest, SaysNothingOfWhatBeginsInTimeOrNoLongerWaits) {
  const auto begun = line("begun", &one_);
  const auto dropped = line("dropped", &one_);
  auto gone = line("gone", &one_);
  begun->waits();
  dropped->waits();
  gone->waits();
  world_.advance(500ms);
  begun->begins();
  dropped->is_empty();
  gone.reset();
  world_.advance(1h);
  begun->ends();
  begun->waits();  // anew
  world_.advance(999ms);
  EXPECT_EQ(monitor_->delayed(), 0U);
  world_.advance(1ms);
  EXPECT_EQ(monitor_->delayed(), 1U);
}

TEST(DelayMonitorEnd, ALineMayOutliveItsMonitor) {
  testkit::ManualRuntime world;
  auto monitor =
      DelayMonitor::make(world.runtime()->clock, *world.runtime()->timers, world.runtime()->log);
  const std::weak_ptr<DelayMonitor> weak = monitor;
  DelayMonitor::Line waiting{monitor, "the waiter", nullptr, "do something about it"};
  waiting.waits();
  monitor.reset();
  EXPECT_TRUE(weak.expired()) << "an executor that has stopped may keep a line";
  world.advance(1s);
  waiting.begins();
  waiting.ends();
}

class DelayedCallbacks : public testing::Test {
 protected:
  DelayedCallbacks() : runtime_{std::make_shared<Runtime>(*world_.runtime())} {
    runtime_->delays = DelayMonitor::make(runtime_->clock, *runtime_->timers, runtime_->log);
  }

  testkit::ManualRuntime world_;
  const std::shared_ptr<Runtime> runtime_;
  testkit::RecordingContender contender_{"m", "me"};
};

TEST_F(DelayedCallbacks, AreNoticedWhereAnExecutorDoesNotBeginThem) {
  const auto idle = std::make_shared<testkit::ManualExecutor>();
  const auto dispatcher = std::make_shared<OwnerDispatcher>(contender_, idle, runtime_);
  dispatcher->publish(MutexOwner{"me", {}, {}, 1, runtime_->clock});
  dispatcher->deliver();
  world_.advance(1s);
  EXPECT_EQ(runtime_->delays->delayed(), 1U);
  EXPECT_TRUE(world_.log().contains("a callback of mutex [m], contender [me]"));
  EXPECT_TRUE(world_.log().contains("its executor is busy or has stopped"));
  idle->run_all();
  EXPECT_EQ(contender_.acquisitions(), 1U);
}

TEST_F(DelayedCallbacks, AreNoticedBehindOneOfTheSameServiceThatDoesNotReturn) {
  const auto dispatcher = std::make_shared<OwnerDispatcher>(contender_, nullptr, runtime_);
  dispatcher->post([&] {
    dispatcher->publish(MutexOwner{"me", {}, {}, 1, runtime_->clock});
    dispatcher->deliver();
    world_.advance(2s);
    EXPECT_EQ(runtime_->delays->delayed(), 1U);
    EXPECT_TRUE(world_.log().contains(
        "not started after 1 s: a callback of mutex [m], contender [me]; currently running: "
        "a callback of mutex [m], contender [me] for 1 s"));
  });
  dispatcher->deliver();
  world_.run_ready();
  EXPECT_EQ(contender_.acquisitions(), 1U);
}

TEST_F(DelayedCallbacks, AreNotWaitedForOnceTheyAreDiscarded) {
  const auto idle = std::make_shared<testkit::ManualExecutor>();
  const auto dispatcher = std::make_shared<OwnerDispatcher>(contender_, idle, runtime_);
  dispatcher->post([] {});
  dispatcher->deliver();
  dispatcher->discard();
  world_.advance(1h);
  EXPECT_EQ(runtime_->delays->delayed(), 0U);
}

}  // namespace
}  // namespace simba
