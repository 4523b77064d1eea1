// Schedules whose slots are shared through the store, in virtual time.
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "simba/schedule/schedule_records.hpp"
#include "unit/schedule/scheduler_fixture.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using schedule_test::SchedulerFixture;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = SlotEvent::Kind;

/// What a run was told, and when it began.
struct Noted {
  std::chrono::nanoseconds at{};  // since the beginning of the test
  std::string who{};
  Slot slot{};

  friend bool operator==(const Noted&, const Noted&) = default;
};

/// Keeps its tasks while it is stuck.
class StuckExecutor final : public Executor {
 public:
  explicit StuckExecutor(std::shared_ptr<Executor> inner) : inner_{std::move(inner)} {}
  void execute(std::function<void()> task) override {
    stuck ? tasks.push_back(std::move(task)) : inner_->execute(std::move(task));
  }
  bool running_in_this_thread() const noexcept override { return inner_->running_in_this_thread(); }
  bool stuck = false;
  std::vector<std::function<void()>> tasks;

 private:
  const std::shared_ptr<Executor> inner_;
};

class SharedSlots : public SchedulerFixture {
 protected:
  using Body = std::function<void(const simba::Run&)>;

  /// A scheduler that notes its runs and what it is told.
  std::unique_ptr<Scheduler> start(const std::string& who, const ScheduleConfig& config,
                                   Body body = {}) {
    auto scheduler = make(who, config, std::move(body));
    scheduler->start();
    return scheduler;
  }

  std::unique_ptr<Scheduler> make(const std::string& who, const ScheduleConfig& config,
                                  Body body = {}) {
    return std::make_unique<Scheduler>(
        "clean", factory_, config,
        [this, who, body = std::move(body)](const simba::Run& run) {
          noted_.push_back({world_.now() - begin_, who, *run.slot()});
          if (body) body(run);
        },
        SchedulerOptions{.contender_id = who, .on_slot = [this](const SlotEvent& event) {
                           events_.push_back(event);
                           if (on_slot_) on_slot_(event);
                         }});
  }

  std::vector<std::chrono::nanoseconds> times() const {
    std::vector<std::chrono::nanoseconds> times;
    for (const Noted& run : noted_) times.push_back(run.at);
    return times;
  }

  /// When the slots were, on the clock on the wall, which the test began at.
  std::vector<std::chrono::nanoseconds> slots() const {
    std::vector<std::chrono::nanoseconds> times;
    for (const Noted& run : noted_) times.push_back(run.slot.time - wall_begin_);
    return times;
  }

  std::vector<std::uint64_t> numbers() const {
    std::vector<std::uint64_t> numbers;
    for (const Noted& run : noted_) numbers.push_back(run.slot.number);
    return numbers;
  }

  std::vector<Kind> kinds() const {
    std::vector<Kind> kinds;
    for (const SlotEvent& event : events_) kinds.push_back(event.kind);
    return kinds;
  }

  ScheduleReport report() const { return records_.report("clean"); }

  std::vector<RunOutcome> outcomes() const {
    std::vector<RunOutcome> outcomes;
    for (const RunReport& run : report().runs) outcomes.push_back(run.outcome);
    return outcomes;
  }

  /// The process of the leader dies: nothing of it is heard any more.
  void crash(std::unique_ptr<Scheduler>& scheduler) { crashed_.push_back(std::move(scheduler)); }

  const SystemTime wall_begin_ =
      std::chrono::floor<std::chrono::milliseconds>(world_.clock().wall_now());
  const ScheduleRecords records_{factory_.records(), world_.runtime(), 5s};
  std::vector<Noted> noted_;
  std::vector<SlotEvent> events_;
  std::function<void(const SlotEvent&)> on_slot_;
  std::vector<std::unique_ptr<Scheduler>> crashed_;
};

const SlotOptions repeating{.promise = SlotPromise::at_least_once};

TEST_F(SharedSlots, HappenAtTheTimesOfTheirExpression) {
  const auto scheduler = start("a", ScheduleConfig::shared(Cron{"*/20 * * * *"}));
  world_.advance(65min);
  EXPECT_THAT(times(), ElementsAre(20min, 40min, 60min));
  EXPECT_THAT(numbers(), ElementsAre(1U, 2U, 3U));
  EXPECT_THAT(outcomes(), Each(RunOutcome::succeeded));
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(SharedSlots, OfAPeriodAreCountedFromTheFirstRegistration) {
  const auto scheduler = start("a", ScheduleConfig::shared_rate(4s, 4s));
  world_.advance(13s);
  EXPECT_THAT(times(), ElementsAre(4s, 8s, 12s));
}

TEST_F(SharedSlots, AreNeitherRepeatedNorSkippedByALeaderThatStopsBetweenRuns) {
  auto first = start("a", ScheduleConfig::shared_rate(0s, 10s));
  world_.advance(1s);
  auto second = start("b", ScheduleConfig::shared_rate(0s, 10s));
  first->stop();  // right after its run
  world_.advance(10s);
  auto third = start("c", ScheduleConfig::shared_rate(0s, 10s));
  second->stop();
  world_.advance(10s);
  EXPECT_THAT(times(), ElementsAre(0s, 10s, 20s));
  EXPECT_THAT(slots(), ElementsAre(0s, 10s, 20s));
  EXPECT_EQ(noted_[1].who, "b");
  EXPECT_EQ(noted_[2].who, "c");
}

TEST_F(SharedSlots, ThatPassedWhileNobodyLedHappenAsThePolicySays) {
  const auto missed_with = [this](SlotOptions options) {
    noted_.clear();
    events_.clear();
    const auto begin = world_.now() - begin_;
    auto first = start("a", ScheduleConfig::shared_rate(0s, 10s, options));
    world_.advance(1s);
    first->stop();
    world_.advance(34s);  // 10, 20 and 30 pass
    auto second = start("a", ScheduleConfig::shared_rate(0s, 10s, options));
    world_.advance(6s);
    second->stop();
    std::vector<std::chrono::nanoseconds> slots = this->slots();
    for (auto& slot : slots) slot -= begin;
    return slots;
  };
  EXPECT_THAT(missed_with({.missed = MissedSlots::latest}), ElementsAre(0s, 30s, 40s));
  ASSERT_THAT(events_, SizeIs(1));
  EXPECT_EQ(events_[0].kind, Kind::missed);
  EXPECT_EQ(events_[0].count, 2U);
}

TEST_F(SharedSlots, ThatWereMissedCanBeSkipped) {
  const SlotOptions options{.missed = MissedSlots::skip};
  auto first = start("a", ScheduleConfig::shared_rate(0s, 10s, options));
  world_.advance(1s);
  first->stop();
  world_.advance(34s);
  auto second = start("b", ScheduleConfig::shared_rate(0s, 10s, options));
  world_.advance(6s);
  EXPECT_THAT(slots(), ElementsAre(0s, 40s));
  ASSERT_THAT(events_, SizeIs(1));
  EXPECT_EQ(events_[0].count, 3U);
  EXPECT_EQ(events_[0].slot->time, wall_begin_ + 30s);
}

TEST_F(SharedSlots, ThatWereMissedCanAllHappenOneAfterAnother) {
  const SlotOptions options{.missed = MissedSlots::all, .max_missed = 3};
  auto first = start("a", ScheduleConfig::shared_rate(0s, 10s, options));
  world_.advance(1s);
  first->stop();
  world_.advance(44s);
  auto second = start("b", ScheduleConfig::shared_rate(0s, 10s, options));
  world_.advance(6s);
  EXPECT_THAT(slots(), ElementsAre(0s, 20s, 30s, 40s, 50s));
  EXPECT_THAT(numbers(), ElementsAre(1U, 2U, 3U, 4U, 5U));
  ASSERT_THAT(events_, SizeIs(1));
  EXPECT_EQ(events_[0].count, 1U);
}

TEST_F(SharedSlots, WhoseRunFailsAreOverIfPromisedAtMostOnce) {
  const auto scheduler = start("a", ScheduleConfig::shared_rate(0s, 60s), [](const simba::Run&) {
    throw RunFailure{"exit code 3", 3, "out"};
  });
  world_.advance(50s);
  EXPECT_THAT(times(), ElementsAre(0s));
  ASSERT_THAT(kinds(), ElementsAre(Kind::failed));
  EXPECT_EQ(events_[0].attempts_left, 0);
  const auto runs = report().runs;
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].outcome, RunOutcome::failed);
  EXPECT_EQ(runs[0].exit_code, 3);
  EXPECT_EQ(runs[0].message, "exit code 3");
  EXPECT_EQ(runs[0].output, "out");
  EXPECT_EQ(runs[0].contender_id, "a");
}

TEST_F(SharedSlots, WhoseRunFailsAreRepeatedWithGrowingPausesIfPromisedAtLeastOnce) {
  const auto scheduler = start("a", ScheduleConfig::shared_rate(0s, 300s, repeating),
                               [](const simba::Run&) { throw std::runtime_error{"no"}; });
  world_.advance(100s);
  EXPECT_THAT(times(), ElementsAre(0s, 10s, 30s));
  EXPECT_THAT(numbers(), ElementsAre(1U, 1U, 1U));
  EXPECT_EQ(noted_[2].slot.attempt, 3);
  ASSERT_THAT(kinds(), ElementsAre(Kind::failed, Kind::failed, Kind::failed));
  EXPECT_EQ(events_[0].attempts_left, 2);
  EXPECT_EQ(events_[2].attempts_left, 0);
}

TEST_F(SharedSlots, AreRepeatedByTheNextLeaderUnderTheirNumber) {
  auto first = start("a", ScheduleConfig::shared_rate(0s, 300s, repeating),
                     [](const simba::Run&) { throw std::runtime_error{"no"}; });
  world_.advance(1s);
  auto second = start("b", ScheduleConfig::shared_rate(0s, 300s, repeating));
  first->stop();
  world_.advance(60s);
  EXPECT_THAT(times(), ElementsAre(0s, 10s));
  EXPECT_EQ(noted_[1].who, "b");
  EXPECT_EQ(noted_[1].slot, (Slot{wall_begin_, 1, 2}));
  EXPECT_THAT(outcomes(), ElementsAre(RunOutcome::failed, RunOutcome::succeeded));
}

TEST_F(SharedSlots, WhoseRunLosesTheLeaseAreLostOrRepeated) {
  for (const bool repeats : {false, true}) {
    noted_.clear();
    events_.clear();
    const std::string name = repeats ? "clean-again" : "clean";
    const SlotOptions options = repeats ? repeating : SlotOptions{};
    const auto body = [this](const simba::Run& run) {
      noted_.push_back({world_.now() - begin_, "", *run.slot()});
      if (noted_.size() == 1) world_.clock().advance(1min);  // the lease passes
    };
    const SchedulerOptions told{
        .on_slot = [this](const SlotEvent& event) { events_.push_back(event); }};
    Scheduler scheduler{name, factory_, ScheduleConfig::shared_rate(0s, 10min, options), Work{body},
                        told};
    scheduler.start();
    world_.advance(2min);
    EXPECT_THAT(noted_, SizeIs(repeats ? 2 : 1));
    ASSERT_THAT(kinds(), ElementsAre(Kind::lost));
    EXPECT_EQ(events_[0].attempts_left, repeats ? 2 : 0);
    EXPECT_EQ(records_.report(name).runs[0].outcome, RunOutcome::lost);
    scheduler.stop();
  }
}

TEST_F(SharedSlots, ThatComeDuringARunAreSkippedByDefault) {
  const auto scheduler = start("a", ScheduleConfig::shared_rate(0s, 2s), [this](const simba::Run&) {
    if (noted_.size() == 1) world_.clock().advance(5s);
  });
  world_.advance(7s);
  EXPECT_THAT(slots(), ElementsAre(0s, 6s));
  ASSERT_THAT(kinds(), ElementsAre(Kind::skipped));
  EXPECT_EQ(events_[0].count, 2U);
}

TEST_F(SharedSlots, ThatComeDuringARunCanBeQueued) {
  const SlotOptions options{.while_busy = BusySlots::queue_one};
  const auto scheduler =
      start("a", ScheduleConfig::shared_rate(0s, 10s, options), [this](const simba::Run&) {
        if (noted_.size() == 1) world_.clock().advance(4s);
        if (noted_.size() == 2) world_.clock().advance(5s);
      });
  world_.advance(11s);
  EXPECT_THAT(slots(), ElementsAre(0s, 10s));
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(SharedSlots, ThatALaterOneCancelsBeforeAThreadTakesThemAreOver) {
  const auto executor = std::make_shared<StuckExecutor>(world_.runtime()->workers);
  executor->stuck = true;
  Scheduler scheduler{
      "clean",
      factory_,
      ScheduleConfig::shared_rate(0s, 2s, {.while_busy = BusySlots::cancel_running}),
      [this](const simba::Run& run) {
        noted_.push_back({world_.now() - begin_, "", *run.slot()});
      },
      {.executor = executor}};
  scheduler.start();
  world_.advance(3s);
  ASSERT_THAT(executor->tasks, SizeIs(1));
  executor->stuck = false;
  executor->tasks[0]();
  world_.advance(2s);
  EXPECT_THAT(slots(), ElementsAre(2s, 4s));
  EXPECT_THAT(outcomes(),
              ElementsAre(RunOutcome::cancelled, RunOutcome::succeeded, RunOutcome::succeeded));
}

TEST_F(SharedSlots, BeginNeverEarlyEvenIfTheClockIsSetBack) {
  const auto scheduler = start("a", ScheduleConfig::shared(Cron{"*/20 * * * *"}));
  world_.advance(41min);
  world_.clock().set_wall(wall_begin_ + 10min);
  world_.advance(61min);
  EXPECT_THAT(slots(), ElementsAre(20min, 40min, 60min));
  EXPECT_EQ(times()[2], 41min + 50min);
}

TEST_F(SharedSlots, AreFollowedWithinTenSecondsWhenTheClockIsSetForward) {
  const auto scheduler = start("a", ScheduleConfig::shared(Cron{"0 12 * * *"}));
  world_.advance(1min);
  world_.clock().set_wall(wall_begin_ + 12h - 5s);
  world_.advance(1min);
  ASSERT_THAT(times(), SizeIs(1));
  EXPECT_GE(times()[0], 1min + 5s);
  EXPECT_LE(times()[0], 1min + 10s);
}

TEST_F(SharedSlots, DoNotBeginWhilePausedAndAreMissedThen) {
  const auto scheduler = start("a", ScheduleConfig::shared_rate(0s, 20s));
  world_.advance(1s);
  EXPECT_TRUE(records_.pause("clean"));
  world_.advance(64s);
  EXPECT_THAT(times(), ElementsAre(0s));
  EXPECT_TRUE(report().paused);
  EXPECT_TRUE(records_.resume("clean"));
  world_.advance(20s);
  EXPECT_THAT(slots(), ElementsAre(0s, 60s, 80s));
  ASSERT_THAT(kinds(), ElementsAre(Kind::missed));
  EXPECT_EQ(events_[0].count, 2U);
}

TEST_F(SharedSlots, PauseBeforeALeaderHearsOfItHoldsBackTheNextSlot) {
  const auto scheduler = start("a", ScheduleConfig::shared_rate(0s, 5s));
  world_.advance(4s + 999ms);
  records_.pause("clean");
  world_.advance(20s);
  EXPECT_THAT(times(), ElementsAre(0s));
}

TEST_F(SharedSlots, CanBeTriggeredEvenWhilePaused) {
  const auto scheduler = start("a", ScheduleConfig::shared_rate(1h, 1h));
  world_.advance(1s);
  records_.trigger("clean");
  world_.advance(10s);
  ASSERT_THAT(times(), SizeIs(1));
  EXPECT_LE(times()[0], 11s);
  EXPECT_EQ(noted_[0].slot.time, wall_begin_ + 1s);
  records_.pause("clean");
  records_.trigger("clean");
  records_.trigger("clean");
  world_.advance(20s);
  EXPECT_THAT(times(), SizeIs(2));
}

TEST_F(SharedSlots, ThatCannotBeginInTimeAreMissed) {
  SlotOptions options;
  options.start_within = 5s;
  auto first = start("a", ScheduleConfig::shared_rate(0s, 20s, options));
  world_.advance(1s);
  first->stop();
  world_.advance(29s);
  auto second = start("b", ScheduleConfig::shared_rate(0s, 20s, options));
  world_.advance(15s);
  EXPECT_THAT(slots(), ElementsAre(0s, 40s));
  ASSERT_THAT(kinds(), ElementsAre(Kind::missed));
}

TEST_F(SharedSlots, OfAnotherDefinitionAreToldOnce) {
  auto first = start("a", ScheduleConfig::shared_rate(0s, 10s));
  world_.advance(1s);
  first->stop();
  auto second = start("b", ScheduleConfig::shared_rate(0s, 20s));
  world_.advance(45s);
  ASSERT_THAT(kinds(), ElementsAre(Kind::definition_changed));
  EXPECT_THAT(events_[0].message, HasSubstr("\"every 10s\""));
  EXPECT_THAT(slots(), ElementsAre(0s, 20s, 40s)) << "a period after the last one";
}

TEST_F(SharedSlots, OfThePastHappenOnlyOnRequest) {
  SlotOptions options;
  options.backfill = 91min;
  options.missed = MissedSlots::all;
  const auto scheduler = start("a", ScheduleConfig::shared(Cron{"30 * * * *"}, options));
  world_.advance(1s);
  EXPECT_THAT(slots(), ElementsAre(-90min, -30min));
}

TEST_F(SharedSlots, AreGivenBackIfTheSchedulerStopsBeforeTheWorkHasBegun) {
  auto first = start("a", ScheduleConfig::shared_rate(0s, 60s));
  ASSERT_TRUE(run_is_queued());
  first->stop();
  EXPECT_THAT(noted_, IsEmpty());
  auto second = start("b", ScheduleConfig::shared_rate(0s, 60s));
  world_.advance(1s);
  ASSERT_THAT(noted_, SizeIs(1));
  EXPECT_EQ(noted_[0].slot, (Slot{wall_begin_, 1, 1}));
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(SharedSlots, AreRecordedAsCancelledWhenTheWorkStopsItsScheduler) {
  std::unique_ptr<Scheduler> scheduler;
  scheduler = make("a", ScheduleConfig::shared_rate(0s, 10s), [&](const simba::Run& run) {
    scheduler->stop();
    EXPECT_TRUE(run.stop().stop_requested());
  });
  scheduler->start();
  world_.advance(1min);
  EXPECT_FALSE(scheduler->running());
  EXPECT_THAT(times(), ElementsAre(0s));
  EXPECT_THAT(outcomes(), ElementsAre(RunOutcome::cancelled));
}

TEST_F(SharedSlots, CanBeStoppedInTheHookThatTellsOfThem) {
  std::unique_ptr<Scheduler> scheduler;
  on_slot_ = [&](const SlotEvent&) { scheduler->stop(); };
  scheduler = make("a", ScheduleConfig::shared_rate(0s, 10s),
                   [](const simba::Run&) { throw std::runtime_error{"no"}; });
  scheduler->start();
  world_.advance(1min);
  EXPECT_FALSE(scheduler->running());
  EXPECT_THAT(times(), ElementsAre(0s));
  EXPECT_TRUE(other_.try_acquire()) << "the mutex is free";
}

TEST_F(SharedSlots, AreNotToldOfOnceTheHookHasStoppedTheirScheduler) {
  for (const bool stops : {false, true}) {
    noted_.clear();
    events_.clear();
    std::unique_ptr<Scheduler> scheduler;
    on_slot_ = [&](const SlotEvent&) {
      if (stops) scheduler->stop();
    };
    scheduler = make("a", ScheduleConfig::shared_rate(0s, 2s), [this](const simba::Run&) {
      world_.clock().advance(5s);  // slots pass
      throw std::runtime_error{"no"};
    });
    scheduler->start();
    ASSERT_TRUE(world_.run_until([this] { return !events_.empty(); }, 10s));
    EXPECT_THAT(events_, SizeIs(stops ? 1 : 2)) << "skipped and failed, told together";
    scheduler.reset();
  }
}

TEST_F(SharedSlots, AreNotToldOfAfterAStopThatHasWaitedInVain) {
  const auto callbacks = std::make_shared<StuckExecutor>(world_.runtime()->callbacks);
  auto runtime = std::make_shared<Runtime>(*world_.runtime());
  runtime->callbacks = callbacks;
  engine::LeaseServiceFactory factory{store_, runtime};
  Scheduler scheduler{"clean",
                      factory,
                      ScheduleConfig::shared_rate(0s, 10s),
                      [&](const simba::Run&) {
                        callbacks->stuck = true;
                        throw std::runtime_error{"no"};
                      },
                      {.on_slot = [this](const SlotEvent& event) { events_.push_back(event); }}};
  scheduler.start();
  world_.run_ready();
  scheduler.stop();
  ASSERT_THAT(callbacks->tasks, SizeIs(Ge(1U)));
  for (const auto& task : std::exchange(callbacks->tasks, {})) task();
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(SharedSlots, CanBeDestroyedInTheHookThatTellsOfThemAndInTheWork) {
  for (const bool in_work : {false, true}) {
    std::unique_ptr<Scheduler> scheduler;
    on_slot_ = [&](const SlotEvent&) {
      if (!in_work) scheduler.reset();
    };
    scheduler = make("a", ScheduleConfig::shared_rate(0s, 10s), [&](const simba::Run&) {
      if (in_work) scheduler.reset();
      throw std::runtime_error{"no"};
    });
    scheduler->start();
    world_.advance(1min);
    EXPECT_FALSE(scheduler);
    EXPECT_TRUE((SimbaLocker{"clean", factory_}.try_acquire())) << "the mutex is free";
  }
}

// ---- a store in trouble ----------------------------------------------------------------------

using testkit::Fault;
using testkit::Operation;

TEST_F(SharedSlots, DoNotRunIfTheirBeginningIsConfirmedAfterTheLease) {
  const auto scheduler = make("a", ScheduleConfig::shared_rate(0s, 10min));
  store_->next(Operation::write_record, Fault::hold_answer());
  scheduler->start();
  world_.run_ready();
  ASSERT_EQ(store_->held_answers(), 1U);
  world_.clock().advance(1min);  // the process was frozen
  store_->release_answers();
  world_.advance(1min);
  EXPECT_THAT(noted_, IsEmpty());
  EXPECT_THAT(kinds(), ElementsAre(Kind::lost));
}

TEST_F(SharedSlots, RunIfTheirBeginningIsConfirmedLateAndTheLeaseLasts) {
  const auto scheduler = make("a", ScheduleConfig::shared_rate(0s, 10min));
  store_->next(Operation::write_record, Fault::hold_answer());
  scheduler->start();
  world_.advance(1min);  // renewals go through
  EXPECT_THAT(noted_, IsEmpty());
  store_->release_answers();
  world_.advance(1s);
  EXPECT_THAT(noted_, SizeIs(1));
}

TEST_F(SharedSlots, RunOnceIfTheAnswerToTheirBeginningIsLost) {
  store_->next(Operation::write_record, Fault::lose_answer());
  const auto scheduler = start("a", ScheduleConfig::shared_rate(0s, 10min));
  world_.advance(5s);
  EXPECT_THAT(numbers(), ElementsAre(1U));
  EXPECT_THAT(outcomes(), ElementsAre(RunOutcome::succeeded));
}

TEST_F(SharedSlots, AreGivenBackIfTheSchedulerStopsWhileTheirBeginningIsConfirmed) {
  auto first = make("a", ScheduleConfig::shared_rate(0s, 10min));
  store_->next(Operation::write_record, Fault::hold_answer());
  first->start();
  world_.run_ready();
  ASSERT_EQ(store_->held_answers(), 1U);
  const auto timer = world_.runtime()->timers->create([this] { store_->release_answers(); });
  timer->arm(world_.now() + 1s);
  first->stop();
  EXPECT_THAT(noted_, IsEmpty());
  auto second = start("b", ScheduleConfig::shared_rate(0s, 10min));
  world_.advance(1s);
  ASSERT_THAT(noted_, SizeIs(1));
  EXPECT_EQ(noted_[0].slot, (Slot{wall_begin_, 1, 1}));
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(SharedSlots, DoNotHoldUpAStopForEverIfTheStoreDoesNotAnswer) {
  auto scheduler = make("a", ScheduleConfig::shared_rate(0s, 10min));
  store_->next(Operation::write_record, Fault::swallow());
  scheduler->start();
  world_.run_ready();
  scheduler->stop();
  EXPECT_FALSE(scheduler->running());
  store_->mend();
  world_.advance(1min);
  EXPECT_THAT(noted_, IsEmpty());
}

TEST_F(SharedSlots, KeepTheMutexUntilTheStoreHasHeardHowTheRunEnded) {
  auto first = start("a", ScheduleConfig::shared_rate(0s, 10min));
  auto second = start("b", ScheduleConfig::shared_rate(0s, 10min));
  ASSERT_TRUE(run_is_queued());
  store_->next(Operation::write_record, Fault::fail(), 3);
  world_.run_ready();
  first->stop();
  EXPECT_THAT(outcomes(), ElementsAre(RunOutcome::succeeded));
  world_.advance(1min);
  EXPECT_THAT(noted_, SizeIs(1));
  EXPECT_THAT(events_, Each(::testing::Field(&SlotEvent::kind, Kind::stalled)));
}

TEST_F(SharedSlots, ThatCannotBeginSinceTheStoreDoesNotAnswerAreToldAsStalled) {
  const auto scheduler = start("a", ScheduleConfig::shared_rate(0s, 10min));
  world_.advance(1s);
  store_->next(Operation::read_record, Fault::fail(), 5);
  world_.advance(30s);
  EXPECT_THAT(kinds(), ElementsAre(Kind::stalled));
}

TEST_F(SharedSlots, NeedAStoreThatKeepsRecords) {
  struct NoRecords final : MutexContendServiceFactory {
    std::unique_ptr<MutexContendService> create_mutex_contend_service(
        MutexContender& contender, const ContendServiceOptions& options) override {
      return factory->create_mutex_contend_service(contender, options);
    }
    std::shared_ptr<const Runtime> runtime() const noexcept override { return factory->runtime(); }
    engine::LeaseServiceFactory* factory = nullptr;
  } factory;
  factory.factory = &factory_;
  try {
    Scheduler{"clean", factory, ScheduleConfig::shared_rate(0s, 1s), noting()};
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("the store keeps no records"));
  }
}

}  // namespace
}  // namespace simba
