// When the work runs, in virtual time.
#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>

#include "unit/schedule/scheduler_fixture.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using schedule_test::SchedulerFixture;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

class SchedulerTest : public SchedulerFixture {};

TEST_F(SchedulerTest, TheFirstRunComesAnInitialDelayAfterBecomingLeader) {
  Scheduler scheduler{"clean", factory_, ScheduleConfig::delay(3s, 10s), noting()};
  scheduler.start();
  world_.advance(1min);
  EXPECT_THAT(runs_, ElementsAre(3s, 13s, 23s, 33s, 43s, 53s));
}

TEST_F(SchedulerTest, FixedDelayCountsFromTheEndOfARun) {
  Scheduler scheduler{"clean", factory_, ScheduleConfig::delay(0s, 10s), lasting(4s)};
  scheduler.start();
  world_.advance(30s);
  EXPECT_THAT(runs_, ElementsAre(0s, 14s, 28s));
}

TEST_F(SchedulerTest, FixedRateStaysOnItsGrid) {
  Scheduler scheduler{"clean", factory_, ScheduleConfig::rate(1s, 10s), lasting(4s)};
  scheduler.start();
  world_.advance(35s);
  EXPECT_THAT(runs_, ElementsAre(1s, 11s, 21s, 31s));
}

TEST_F(SchedulerTest, FixedRateNeverPilesUp) {
  Scheduler scheduler{"clean", factory_, ScheduleConfig::rate(0s, 1s), lasting(3500ms)};
  scheduler.start();
  world_.advance(9s);
  EXPECT_THAT(runs_, ElementsAre(0s, 4s, 8s));
}

TEST_F(SchedulerTest, AnExceptionIsLoggedAndTheScheduleGoesOn) {
  int run = 0;
  Scheduler scheduler{"clean", factory_, ScheduleConfig::delay(0s, 1s), [&](std::stop_token) {
                        ++run;
                        if (run == 1) throw std::runtime_error{"disk full"};
                        if (run == 2) throw 42;
                      }};
  scheduler.start();
  world_.advance(2s);
  EXPECT_EQ(run, 3);
  EXPECT_EQ(world_.log().count("work of scheduler [clean]"), 2U) << world_.log().text();
  EXPECT_TRUE(world_.log().contains("disk full"));
}

TEST_F(SchedulerTest, HooksHearOfItsContenderFirstAndMayThrow) {
  std::vector<std::string> heard;
  const auto hear = [&](const MutexContendService& service, std::string what) {
    heard.push_back(std::move(what));
    EXPECT_EQ(service.contender_id(), "one");
    throw std::runtime_error{"no disk"};
  };
  Scheduler scheduler{"clean",
                      factory_,
                      ScheduleConfig::delay(0s, 1h),
                      [&](std::stop_token) { heard.emplace_back("work"); },
                      {.contender_id = "one",
                       .on_state =
                           [&](MutexContendService& service, const MutexState& state) {
                             hear(service, "owner " + state.after().owner_id());
                           },
                       .on_event =
                           [&](MutexContendService& service, const ContentionEvent& event) {
                             const bool lost = std::holds_alternative<OwnershipLost>(event);
                             if (lost) hear(service, "lost");
                           }}};
  scheduler.start();
  world_.advance(1s);
  EXPECT_THAT(heard, ElementsAre("owner one", "work"));
  store_->cut();
  ASSERT_TRUE(world_.run_until([&] { return heard.size() >= 4; }, 1min));
  EXPECT_THAT(heard, ElementsAre("owner one", "work", "lost", "owner "));
  EXPECT_TRUE(world_.log().contains("a hook of scheduler [clean] threw: no disk"));
}

TEST_F(SchedulerTest, OnlyTheLeaderWorks) {
  std::vector<std::string> who;
  const auto work = [&](const std::string& name) {
    return [&who, name](std::stop_token) { who.push_back(name); };
  };
  Scheduler one{"clean", factory_, ScheduleConfig::delay(0s, 1s), work("one")};
  Scheduler two{"clean", factory_, ScheduleConfig::delay(0s, 1s), work("two")};
  one.start();
  two.start();
  world_.advance(1s);
  EXPECT_TRUE(one.is_leader());
  EXPECT_FALSE(two.is_leader());
  EXPECT_THAT(who, ElementsAre("one", "one"));
  one.stop();
  world_.advance(1s);
  EXPECT_FALSE(one.is_leader());
  EXPECT_TRUE(two.is_leader());
  EXPECT_THAT(who, ElementsAre("one", "one", "two", "two"));
}

TEST_F(SchedulerTest, TheWorkSeesHowLongTheLeaseLastsAlsoWhenItIsToEnd) {
  Scheduler* self = nullptr;
  std::vector<std::chrono::nanoseconds> left;
  Scheduler scheduler{"clean", factory_, ScheduleConfig::delay(0s, 1h),
                      [&](const std::stop_token&) {
                        self->stop();  // takes effect when this returns
                        for (int i = 0; i < 25; ++i) {
                          left.push_back(self->lease_left());
                          world_.advance(1s);
                        }
                      }};
  self = &scheduler;
  EXPECT_EQ(scheduler.lease_left(), 0s);
  scheduler.start();
  world_.advance(1min);
  ASSERT_EQ(left.size(), 25U);
  EXPECT_GT(*std::min_element(left.begin(), left.end()), 9s) << "it is renewed meanwhile";
  EXPECT_EQ(scheduler.lease_left(), 0s);
}

TEST_F(SchedulerTest, AfterStopNoRunBegins) {
  Scheduler scheduler{"clean", factory_, ScheduleConfig::delay(0s, 1s), noting()};
  scheduler.start();
  EXPECT_TRUE(scheduler.running());
  world_.advance(1s);
  scheduler.stop();
  EXPECT_FALSE(scheduler.running());
  EXPECT_FALSE(scheduler.is_leader());
  world_.advance(1min);
  EXPECT_THAT(runs_, ElementsAre(0s, 1s));
  EXPECT_TRUE(other_.try_acquire());
}

TEST_F(SchedulerTest, StartedAgainItBeginsWithTheInitialDelay) {
  Scheduler scheduler{"clean", factory_, ScheduleConfig::rate(2s, 10s), noting()};
  scheduler.start();
  world_.advance(5s);
  scheduler.stop();
  scheduler.start();
  world_.advance(5s);
  EXPECT_THAT(runs_, ElementsAre(2s, 7s));
}

TEST_F(SchedulerTest, ARunThatIsQueuedWhenItStopsIsDropped) {
  Scheduler scheduler{"clean", factory_, ScheduleConfig::delay(0s, 1s), noting()};
  scheduler.start();
  ASSERT_TRUE(run_is_queued());
  scheduler.stop();
  scheduler.start();
  world_.run_ready();
  EXPECT_THAT(runs_, ElementsAre(0s)) << "that of the second life only";
}

TEST_F(SchedulerTest, AProcessThatWasPausedPastItsLeaseBeginsNoRun) {
  Scheduler scheduler{"clean", factory_, ScheduleConfig::delay(0s, 10s), noting()};
  scheduler.start();
  ASSERT_TRUE(run_is_queued());
  world_.clock().advance(1min);
  ASSERT_TRUE(world_.workers().run_one());
  EXPECT_THAT(runs_, IsEmpty()) << "although nobody has noticed the loss yet";
  world_.advance(20s);
  EXPECT_FALSE(runs_.empty()) << "it leads again";
}

TEST_F(SchedulerTest, ALossFiresTheTokenOfTheWorkAndLeadershipIsResumedAfterIt) {
  bool fired = false;
  bool followed = true;
  LocalTime work_ended = never;
  Scheduler scheduler{"clean", factory_, ScheduleConfig::delay(5s, 1h), [&](std::stop_token stop) {
                        noting()(stop);
                        if (work_ended != never) return;
                        store_->cut();
                        world_.advance(1min);
                        fired = stop.stop_requested();
                        store_->mend();
                        world_.advance(1min);
                        followed = scheduler_leads();
                        work_ended = world_.now();
                      }};
  leads_ = [&] { return scheduler.is_leader(); };
  scheduler.start();
  world_.advance(5s);
  EXPECT_TRUE(fired);
  EXPECT_FALSE(followed) << "it must not contend while the work of the last term still runs";
  world_.advance(1min);
  EXPECT_TRUE(scheduler.is_leader());
  ASSERT_EQ(runs_.size(), 2U);
  EXPECT_GE(runs_[1], work_ended - begin_ + 5s) << "the initial delay counts anew";
}

TEST_F(SchedulerTest, WorkRunsOnTheExecutorThatWasGiven) {
  const auto executor = std::make_shared<testkit::ManualExecutor>();
  Scheduler scheduler{"clean",
                      factory_,
                      ScheduleConfig::delay(0s, 10s),
                      noting(),
                      {.contender_id = "worker-7", .executor = executor}};
  scheduler.start();
  world_.advance(1s);
  EXPECT_THAT(runs_, IsEmpty());
  EXPECT_EQ(executor->run_all(), 1U);
  EXPECT_EQ(runs_.size(), 1U);
  EXPECT_EQ(scheduler.contend_service().contender_id(), "worker-7");
  EXPECT_EQ(scheduler.contend_service().contender().mutex(), "clean");
}

class RefusingExecutor final : public Executor {
 public:
  explicit RefusingExecutor(std::shared_ptr<Executor> inner) : inner_{std::move(inner)} {}
  void execute(std::function<void()> task) override {
    if (refused++ < 2) throw std::runtime_error{"queue full"};
    inner_->execute(std::move(task));
  }
  bool running_in_this_thread() const noexcept override { return false; }

  int refused = 0;

 private:
  const std::shared_ptr<Executor> inner_;
};

TEST_F(SchedulerTest, ARunThatTheExecutorRefusesIsLeftOutAndTheScheduleGoesOn) {
  const auto executor = std::make_shared<RefusingExecutor>(world_.runtime()->workers);
  Scheduler scheduler{"clean",
                      factory_,
                      ScheduleConfig::rate(0s, 10s),
                      noting(),
                      {.contender_id = {}, .executor = executor}};
  scheduler.start();
  world_.advance(35s);
  EXPECT_THAT(runs_, ElementsAre(20s, 30s));
  EXPECT_EQ(world_.log().count("queue full"), 2U) << world_.log().text();
  EXPECT_THAT(scheduler.contend_service().contender_id(), testing::MatchesRegex(".*-[0-9a-f]{16}"));
}

TEST_F(SchedulerTest, StartOutOfTurnThrowsAndNamesTheMutexAndStopReturns) {
  Scheduler scheduler{"clean", factory_, ScheduleConfig::delay(0s, 10s), noting()};
  scheduler.stop();
  scheduler.start();
  EXPECT_THAT([&] { scheduler.start(); },
              ThrowsMessage<IllegalStateError>(
                  AllOf(HasSubstr("[clean]"), HasSubstr("is already started"))));
  scheduler.stop();
  scheduler.stop();
  scheduler.close();
  scheduler.close();
  scheduler.start();
  scheduler.close();
  EXPECT_FALSE(scheduler.running());
}

TEST_F(SchedulerTest, WhatIsWrongIsRefusedWhenItIsMade) {
  const auto config = ScheduleConfig::delay(0s, 10s);
  EXPECT_THROW(Scheduler("clean", factory_, ScheduleConfig{}, noting()), InvalidArgumentError);
  EXPECT_THROW(Scheduler(" ", factory_, config, noting()), InvalidArgumentError);
  EXPECT_THAT([&] { Scheduler("clean", factory_, config, Scheduler::Work{}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("[clean]")));
}

TEST_F(SchedulerTest, TheMutexIsFreeAfterTheDestructor) {
  {
    Scheduler scheduler{"clean", factory_, ScheduleConfig::delay(0s, 10s), noting()};
    scheduler.start();
    world_.advance(1s);
    EXPECT_FALSE(other_.try_acquire());
  }
  EXPECT_TRUE(other_.try_acquire());
  world_.advance(1min);
  EXPECT_EQ(runs_.size(), 1U);
}

/// Fires whenever the test wants, as a timer may.
class EagerTimers final : public TimerService {
 public:
  explicit EagerTimers(std::shared_ptr<TimerService> inner) : inner_{std::move(inner)} {}
  std::unique_ptr<Timer> create(std::function<void()> on_due) override {
    functions.push_back(on_due);
    return inner_->create(std::move(on_due));
  }

  std::vector<std::function<void()>> functions;

 private:
  const std::shared_ptr<TimerService> inner_;
};

TEST_F(SchedulerTest, ATimerThatFiresWhenNothingIsDueStartsNoRun) {
  const auto timers = std::make_shared<EagerTimers>(world_.runtime()->timers);
  auto runtime = std::make_shared<Runtime>(*world_.runtime());
  runtime->timers = timers;
  engine::LeaseServiceFactory factory{store_, runtime};
  auto scheduler =
      std::make_unique<Scheduler>("clean", factory, ScheduleConfig::rate(5s, 10s), noting());
  const auto fire = timers->functions.at(0);
  fire();
  scheduler->start();
  fire();
  world_.advance(4s);
  fire();
  fire();
  world_.advance(3s);
  EXPECT_THAT(runs_, ElementsAre(5s)) << "the setting stands";
  scheduler->stop();
  fire();
  scheduler.reset();
  fire();
  world_.advance(1min);
  EXPECT_THAT(runs_, ElementsAre(5s));
}

class Sweeper final : public AbstractScheduler {
 public:
  explicit Sweeper(MutexContendServiceFactory& factory)
      : AbstractScheduler{"clean", factory, ScheduleConfig::rate(0s, 1s)} {}
  ~Sweeper() override { close(); }

  int runs = 0;

 private:
  void work(std::stop_token stop) override {
    EXPECT_FALSE(stop.stop_requested());
    ++runs;
  }
};

TEST_F(SchedulerTest, AClassMayOverrideTheWork) {
  Sweeper sweeper{factory_};
  sweeper.start();
  world_.advance(2s);
  EXPECT_EQ(sweeper.runs, 3);
}

}  // namespace
}  // namespace simba
