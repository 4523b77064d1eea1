// The decisions of a leader, event by event: a test is the store and the clock.
#include "schedule/slot_machine.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"

namespace simba::detail {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Actions = SlotMachine::Actions;
using Request = SlotMachine::Request;
using Kind = SlotEvent::Kind;
using Outcome = RecordAnswer::Outcome;

/// A store with one record, as the port describes it.
class SlotStore {
 public:
  RecordAnswer carry_out(const Request& request, SystemTime now) {
    record_.now = now;
    if (!request.write) return {Outcome::found, record_};
    const RecordWrite& write = *request.write;
    if (write.owner->fencing_token != owner) return {Outcome::not_owned, record_};
    if (write.replaces != record_.version) return {Outcome::changed, record_};
    if (write.not_before && now < *write.not_before) return {Outcome::too_early, record_};
    put(write.text);
    ++writes;
    return {Outcome::written, record_};
  }

  void put(std::string text) {
    record_.text = std::move(text);
    ++record_.version;
  }

  SlotRecord content() const { return parse_slot_record(record_.text, "clean"); }

  template <typename Change>
  void change(const Change& change) {
    SlotRecord record = content();
    change(record);
    put(to_text(record));
  }

  /// As after a failover: another text under the same version.
  template <typename Change>
  void replace(const Change& change) {
    SlotRecord record = content();
    change(record);
    record_.text = to_text(record);
  }

  FencingToken owner = 1;
  int writes = 0;

 private:
  MutexRecord record_{};
};

/// A machine and its store. Begins at the same moment for both clocks.
class SlotMachineTest : public ::testing::Test {
 protected:
  explicit SlotMachineTest(SlotOptions options = {}) { use(options); }

  void use(const SlotOptions& options, std::chrono::nanoseconds initial_delay = 0s,
           std::chrono::nanoseconds period = 60s) {
    config_ = ScheduleConfig::shared_rate(initial_delay, period, options);
    machine_.emplace("clean", "me", config_, *random_);
  }

  SystemTime wall() const {
    return wall_begin_ + std::chrono::floor<std::chrono::milliseconds>(now_ - begin_) + offset_;
  }

  /// Notes what the actions say, but for their request.
  std::optional<Request> take(Actions actions) {
    for (SlotEvent& event : actions.events) events_.push_back(std::move(event));
    if (actions.begun) begun_.push_back(*actions.begun);
    cancelled_ = cancelled_ || actions.cancel;
    over_ += actions.over ? 1 : 0;
    return std::move(actions.request);
  }

  std::optional<Request> answer(const Request& request) {
    return take(machine_->answer(request.id, store_.carry_out(request, wall()), now_));
  }

  std::optional<Request> fail(const Request& request, ErrorKind kind) {
    return take(machine_->answer(request.id, Error{kind, "no answer"}, now_));
  }

  /// Has the store answer until nothing more is asked.
  void answer_all(Actions actions) {
    for (auto request = take(std::move(actions)); request;) request = answer(*request);
  }

  /// A request that this machine makes when its time comes.
  std::optional<Request> wake() {
    if (machine_->wake_at() != never) now_ = std::max(now_, machine_->wake_at());
    return take(machine_->due(now_));
  }

  void advance(std::chrono::nanoseconds span) {
    const LocalTime until = now_ + span;
    while (machine_->wake_at() <= until) {
      for (auto request = wake(); request;) request = answer(*request);
    }
    now_ = until;
  }

  void lead(FencingToken token = 1) {
    store_.owner = token;
    answer_all(machine_->lead(token, now_));
  }

  void end(RunOutcome outcome = RunOutcome::succeeded) {
    answer_all(machine_->work_ended({outcome, {}, "", ""}, now_));
  }

  /// The request that begins the first slot, not yet answered.
  Request begin_request() {
    const auto read = take(machine_->lead(1, now_));
    auto write = answer(*read);
    EXPECT_TRUE(write && write->write);
    EXPECT_THAT(begun_, IsEmpty());
    return *write;
  }

  std::vector<Kind> kinds() const {
    std::vector<Kind> kinds;
    for (const SlotEvent& event : events_) kinds.push_back(event.kind);
    return kinds;
  }

  Slot first(int attempt = 1) const { return {wall_begin_, 1, attempt}; }

  const LocalTime begin_{24h};
  const SystemTime wall_begin_{1'800'000'000s};
  LocalTime now_ = begin_;
  std::chrono::milliseconds offset_{0};
  std::shared_ptr<Random> random_ = make_seeded_random(1);
  ScheduleConfig config_;
  std::optional<SlotMachine> machine_;
  SlotStore store_;
  std::vector<SlotEvent> events_;
  std::vector<Slot> begun_;
  bool cancelled_ = false;
  int over_ = 0;
};

constexpr SlotOptions at_least_once{.promise = SlotPromise::at_least_once};

// ---- beginning -------------------------------------------------------------------------------

TEST_F(SlotMachineTest, BeginsNothingBeforeTheStoreHasConfirmedIt) {
  const Request write = begin_request();
  EXPECT_TRUE(machine_->busy());
  EXPECT_EQ(write.write->not_before, wall_begin_);
  EXPECT_EQ(write.write->owner->fencing_token, 1U);
  answer(write);
  EXPECT_THAT(begun_, ElementsAre(first()));
  EXPECT_EQ(store_.content().open->run.contender_id, "me");
}

TEST_F(SlotMachineTest, AnAnswerThatComesTwiceBeginsNothingTwice) {
  const Request write = begin_request();
  answer(write);
  answer(write);
  EXPECT_THAT(begun_, SizeIs(1));
}

TEST_F(SlotMachineTest, AnAnswerAfterTheTermBeginsNothingAndTheNextLeaderFindsARunLost) {
  const Request write = begin_request();
  machine_->end_term();
  answer(write);
  EXPECT_THAT(begun_, IsEmpty());
  lead(2);
  EXPECT_THAT(begun_, IsEmpty());
  EXPECT_THAT(kinds(), ElementsAre(Kind::lost));
}

TEST_F(SlotMachineTest, ABeginningInDoubtThatWasCarriedOutRunsOnce) {
  const Request write = begin_request();
  store_.carry_out(write, wall());
  EXPECT_FALSE(fail(write, ErrorKind::in_doubt));
  EXPECT_THAT(begun_, IsEmpty());
  EXPECT_TRUE(machine_->busy());
  const auto read = wake();
  ASSERT_TRUE(read && !read->write);
  const auto again = answer(*read);
  EXPECT_THAT(begun_, IsEmpty()) << "replicas may not have what is read";
  ASSERT_TRUE(again && again->write);
  answer(*again);
  EXPECT_THAT(begun_, ElementsAre(first()));
}

TEST_F(SlotMachineTest, ARequestThatWasInterruptedByAnExceptionIsMadeAgain) {
  begin_request();  // and not sent
  machine_->interrupted(now_);
  EXPECT_TRUE(machine_->busy()) << "nobody knows whether it was sent";
  advance(5s);
  EXPECT_THAT(begun_, SizeIs(1));
  take(machine_->work_ended({RunOutcome::succeeded, {}, "", ""}, now_));  // and not sent
  machine_->interrupted(now_);
  advance(5s);
  EXPECT_FALSE(machine_->busy());
  EXPECT_FALSE(store_.content().open);
  EXPECT_THAT(begun_, SizeIs(1));
}

TEST_F(SlotMachineTest, ABeginningThatNoReplicaConfirmsRunsNever) {
  const Request write = begin_request();
  store_.carry_out(write, wall());
  fail(write, ErrorKind::in_doubt);
  for (int i = 0; i < 5; ++i) {
    const auto request = answer(*wake());
    ASSERT_TRUE(request && request->write);
    store_.carry_out(*request, wall());
    fail(*request, ErrorKind::in_doubt);
  }
  EXPECT_THAT(begun_, IsEmpty());
  EXPECT_TRUE(machine_->busy());
}

TEST_F(SlotMachineTest, ABeginningInDoubtThatWasNotCarriedOutIsDecidedAgain) {
  const Request write = begin_request();
  fail(write, ErrorKind::timeout);
  advance(1s);
  ASSERT_THAT(begun_, SizeIs(1));
  EXPECT_EQ(begun_[0].number, 1U);
  EXPECT_EQ(store_.writes, 1);
}

TEST_F(SlotMachineTest, ABeginningInDoubtThatIsCarriedOutLateRunsOnce) {
  const Request write = begin_request();
  fail(write, ErrorKind::in_doubt);
  const auto again = answer(*wake());  // the record says nothing of it yet
  ASSERT_TRUE(again && again->write);
  store_.carry_out(write, wall());
  const auto confirm = answer(*again);
  EXPECT_THAT(begun_, IsEmpty());
  ASSERT_TRUE(confirm && confirm->write);
  answer(*confirm);
  EXPECT_THAT(begun_, ElementsAre(first()));
  EXPECT_EQ(store_.content().number, 1U);
}

TEST_F(SlotMachineTest, IsNeverEarlyByTheClockOfTheStore) {
  use({}, 30s);
  lead();
  offset_ = -20s;  // the store's clock is set back
  advance(49s);
  EXPECT_THAT(begun_, IsEmpty());
  advance(2s);
  EXPECT_THAT(begun_, SizeIs(1));
  EXPECT_GE(wall(), begun_[0].time);
}

TEST_F(SlotMachineTest, WaitsForTheRestWhenTheStoreSaysThatItIsTooEarly) {
  use({}, 5s);
  lead();
  now_ = begin_ + 5s;
  const auto write = wake();
  ASSERT_TRUE(write && write->write);
  offset_ = -2s;
  EXPECT_FALSE(answer(*write));
  EXPECT_THAT(begun_, IsEmpty());
  EXPECT_EQ(machine_->wake_at(), begin_ + 7s);
  advance(2s);
  EXPECT_THAT(begun_, SizeIs(1));
}

TEST_F(SlotMachineTest, AClockThatIsSetBackOpensNoSlotAgain) {
  lead();
  end();
  advance(61s);
  ASSERT_THAT(begun_, SizeIs(2));
  end();
  offset_ = -60s;
  advance(100s);
  EXPECT_THAT(begun_, SizeIs(2));
  advance(20s);
  ASSERT_THAT(begun_, SizeIs(3));
  EXPECT_EQ(begun_[2].time, wall_begin_ + 120s);
}

TEST_F(SlotMachineTest, ThatAClockWasSetBackIsToldOnceAndAgainByTheNextLeader) {
  lead();
  end();
  offset_ = -9s;
  advance(15s);
  EXPECT_THAT(events_, IsEmpty()) << "clocks of hosts differ";
  offset_ = -600s;
  advance(60s);
  ASSERT_THAT(kinds(), ElementsAre(Kind::stalled));
  EXPECT_THAT(events_[0].message, HasSubstr("set back"));
  EXPECT_THAT(events_[0].message, HasSubstr(time_text(wall_begin_)));
  machine_->end_term();
  lead(2);
  advance(60s);
  EXPECT_THAT(kinds(), ElementsAre(Kind::stalled, Kind::stalled));
  store_.change([](SlotRecord& record) { record.paused = true; });
  machine_->end_term();
  lead(3);
  advance(60s);
  EXPECT_THAT(events_, SizeIs(2)) << "it is paused, and nobody misses a slot";
}

// ---- stopping --------------------------------------------------------------------------------

TEST_F(SlotMachineTest, StoppedWhileItBeginsGivesTheSlotBack) {
  const Request write = begin_request();
  EXPECT_FALSE(take(machine_->stop(now_)));
  EXPECT_TRUE(machine_->busy());
  const auto undo = answer(write);
  ASSERT_TRUE(undo && undo->write);
  answer(*undo);
  EXPECT_THAT(begun_, IsEmpty());
  EXPECT_FALSE(machine_->busy());
  EXPECT_EQ(over_, 1);
  lead(2);
  EXPECT_THAT(begun_, ElementsAre(first())) << "the same slot, number and attempt";
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(SlotMachineTest, StoppedWhileABeginningIsInDoubtGivesTheSlotBackIfItWasCarriedOut) {
  for (const bool carried_out : {false, true}) {
    store_ = {};
    use({});
    begun_.clear();
    const Request write = begin_request();
    if (carried_out) store_.carry_out(write, wall());
    fail(write, ErrorKind::in_doubt);
    take(machine_->stop(now_));
    EXPECT_TRUE(machine_->busy());
    for (auto request = wake(); request;) request = answer(*request);
    EXPECT_FALSE(machine_->busy());
    EXPECT_THAT(begun_, IsEmpty());
    EXPECT_FALSE(store_.content().open);
    lead(2);
    EXPECT_THAT(begun_, ElementsAre(first()));
    EXPECT_THAT(events_, IsEmpty());
  }
}

TEST_F(SlotMachineTest, StoppedWithNothingUnderWayAsksForNothingMore) {
  lead();
  end();
  take(machine_->stop(now_));
  EXPECT_FALSE(machine_->busy());
  EXPECT_EQ(machine_->wake_at(), never);
}

TEST_F(SlotMachineTest, StoppedWhileItPassesOverSlotsTellsOfThemFirst) {
  use({.missed = MissedSlots::skip});
  lead();
  end();
  machine_->end_term();
  now_ += 130s;
  store_.owner = 2;
  const auto read = take(machine_->lead(2, now_));
  const auto write = answer(*read);
  ASSERT_TRUE(write && write->write);
  take(machine_->stop(now_));
  EXPECT_TRUE(machine_->busy());
  EXPECT_FALSE(answer(*write));
  EXPECT_FALSE(machine_->busy());
  EXPECT_THAT(kinds(), ElementsAre(Kind::missed));
}

TEST_F(SlotMachineTest, StoppedWhileItBeginsTellsOfTheSlotsThatWereMissedBefore) {
  lead();
  end();
  machine_->end_term();
  now_ += 190s;
  store_.owner = 2;
  const auto read = take(machine_->lead(2, now_));
  const auto write = answer(*read);
  ASSERT_TRUE(write && write->write);
  take(machine_->stop(now_));
  const auto undo = answer(*write);
  ASSERT_TRUE(undo && undo->write);
  answer(*undo);
  ASSERT_THAT(kinds(), ElementsAre(Kind::missed));
  EXPECT_EQ(events_[0].count, 2U);
  EXPECT_THAT(begun_, ElementsAre(first()));
}

TEST_F(SlotMachineTest, StoppedWhileTheWorkRunsRecordsHowItEnds) {
  lead();
  take(machine_->stop(now_));
  EXPECT_TRUE(machine_->busy());
  end(RunOutcome::cancelled);
  EXPECT_FALSE(machine_->busy());
  EXPECT_EQ(store_.content().runs.at(0).outcome, RunOutcome::cancelled);
  EXPECT_EQ(machine_->wake_at(), never);
}

TEST_F(SlotMachineTest, ARunOfAnotherUnderTheSameTokenIsNotOurs) {
  SlotRecord record;
  begin_run(record, {.time = wall() - 1s, .number = 0, .attempt = 1}, {"other", 1}, wall() - 1s);
  record.definition = "another";
  store_.put(to_text(record));
  lead(1);
  EXPECT_THAT(begun_, Not(Contains(Slot{wall() - 1s, 1, 1})));
  EXPECT_THAT(kinds(), Contains(Kind::lost));
}

TEST_F(SlotMachineTest, ALongContenderIdIsStillOurs) {
  config_ = ScheduleConfig::shared_rate(0s, 60s);
  machine_.emplace("clean", std::string(1'000, 'm'), config_, *random_);
  lead();
  EXPECT_THAT(begun_, ElementsAre(first()));
  end();
  EXPECT_THAT(store_.content().runs, SizeIs(1));
}

TEST_F(SlotMachineTest, ARecordThatAFailoverHasChangedUnderItsVersionIsReadAgain) {
  lead();
  end();
  store_.replace([](SlotRecord& record) { record.paused = true; });
  advance(2min);
  EXPECT_THAT(begun_, SizeIs(1)) << "paused";
}

TEST_F(SlotMachineTest, NothingBeginsBeforeTheFirstSlotIfThatIsDelayed) {
  SlotOptions options;
  options.backfill = 1h;
  options.missed = MissedSlots::all;
  use(options, 30min, 10min);
  lead();
  advance(29min);
  EXPECT_THAT(begun_, IsEmpty());
  EXPECT_THAT(events_, IsEmpty());
  advance(1min);
  EXPECT_THAT(begun_, SizeIs(1));
}

TEST_F(SlotMachineTest, WorkThatIsNotStartedIsLeftToAnother) {
  lead();
  answer_all(machine_->not_started(now_));
  EXPECT_FALSE(store_.content().open);
  lead(2);
  EXPECT_THAT(begun_, ElementsAre(first(), first()));
}

// ---- ending ----------------------------------------------------------------------------------

TEST_F(SlotMachineTest, AnEndInDoubtIsRecordedOnce) {
  for (const bool carried_out : {false, true}) {
    store_ = {};
    use({});
    lead();
    const auto write = take(machine_->work_ended({RunOutcome::failed, 1, "no", ""}, now_));
    if (carried_out) store_.carry_out(*write, wall());
    events_.clear();
    EXPECT_FALSE(fail(*write, ErrorKind::in_doubt));
    EXPECT_TRUE(machine_->busy());
    for (auto request = wake(); request;) request = answer(*request);
    EXPECT_FALSE(machine_->busy());
    EXPECT_THAT(store_.content().runs, SizeIs(1));
    EXPECT_THAT(kinds(), ElementsAre(Kind::failed));
  }
}

TEST_F(SlotMachineTest, AnEndKeepsWhatOthersHaveWrittenMeanwhile) {
  lead();
  store_.change([](SlotRecord& record) { record.paused = true; });
  end();
  const SlotRecord record = store_.content();
  EXPECT_TRUE(record.paused);
  EXPECT_FALSE(record.open);
  EXPECT_THAT(record.runs, SizeIs(1));
}

TEST_F(SlotMachineTest, ARunWhoseEndTheStoreRefusesIsNotRunAgain) {
  lead();
  store_.owner = 2;
  end();
  EXPECT_EQ(over_, 1);
  store_.owner = 1;
  advance(30s);
  EXPECT_THAT(begun_, SizeIs(1));
}

TEST_F(SlotMachineTest, RunsWhoseEndTheStoreHasLostAreNotRunAgain) {
  lead();
  const SlotRecord open = store_.content();
  end();
  advance(60s);
  end();
  store_.put(to_text(open));
  advance(30s);
  EXPECT_THAT(begun_, SizeIs(2));
  EXPECT_THAT(kinds(), ElementsAre(Kind::lost, Kind::lost));
}

TEST_F(SlotMachineTest, ARunWhoseEndCannotBeRecordedIsNotRunAgain) {
  lead();
  const SlotRecord open = store_.content();
  store_.put("damaged");
  end();
  EXPECT_FALSE(machine_->busy());
  store_.put(to_text(open));
  advance(30s);
  EXPECT_THAT(begun_, SizeIs(1));
  EXPECT_THAT(kinds(), ElementsAre(Kind::stalled, Kind::lost));
}

// ---- reading ---------------------------------------------------------------------------------

TEST_F(SlotMachineTest, ARecordOfANewerVersionIsLeftAloneAndToldOnce) {
  store_.put(R"({"format": 99})");
  lead();
  advance(1min);
  EXPECT_EQ(store_.writes, 0);
  EXPECT_THAT(begun_, IsEmpty());
  ASSERT_THAT(kinds(), ElementsAre(Kind::stalled));
  EXPECT_THAT(events_[0].message, HasSubstr("newer version"));
  store_.put("");
  advance(11s);
  EXPECT_THAT(begun_, SizeIs(1)) << "it is read again now and then";
}

TEST_F(SlotMachineTest, AStoreThatDoesNotAnswerIsAskedEverMoreSeldomAndToldOnce) {
  auto request = take(machine_->lead(1, now_));
  std::chrono::nanoseconds longest{0};
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(request);
    fail(*request, ErrorKind::unavailable);
    longest = std::max(longest, machine_->wake_at() - now_);
    EXPECT_THAT(events_, SizeIs(i < 2 ? 0 : 1));
    request = wake();
  }
  EXPECT_GT(longest, 5s);
  EXPECT_LE(longest, 10s);
  ASSERT_THAT(kinds(), ElementsAre(Kind::stalled));
  for (; request;) request = answer(*request);
  EXPECT_THAT(begun_, SizeIs(1));
}

TEST_F(SlotMachineTest, AStoreThatRefusesEveryWriteIsAskedEverMoreSeldomAndToldOnce) {
  store_.owner = 2;
  answer_all(machine_->lead(1, now_));
  int requests = 0;
  while (machine_->wake_at() <= begin_ + 60s) {
    for (auto request = wake(); request; request = answer(*request)) ++requests;
  }
  EXPECT_LT(requests, 40);
  EXPECT_THAT(kinds(), ElementsAre(Kind::stalled));
  store_.owner = 1;
  advance(20s);
  EXPECT_THAT(begun_, SizeIs(1));
}

TEST_F(SlotMachineTest, AnErrorThatWillNotPassIsToldAtOnce) {
  const auto request = take(machine_->lead(1, now_));
  fail(*request, ErrorKind::permission);
  EXPECT_THAT(kinds(), ElementsAre(Kind::stalled));
}

TEST_F(SlotMachineTest, SlotsThatPassedWhileTheStoreDidNotAnswerCountAsMissedButForTheLast) {
  lead();
  end();
  now_ += 50s;
  for (int i = 0; i < 30; ++i) {
    if (const auto request = wake()) fail(*request, ErrorKind::unavailable);
  }
  ASSERT_GT(now_ - begin_, 3min);
  const auto passed = (now_ - begin_) / 60s;
  events_.clear();
  for (auto request = wake(); request;) request = answer(*request);
  ASSERT_THAT(begun_, SizeIs(2));
  EXPECT_EQ(begun_[1].time, wall_begin_ + passed * 60s);
  ASSERT_THAT(kinds(), ElementsAre(Kind::missed));
  EXPECT_EQ(events_[0].count, static_cast<std::uint64_t>(passed - 1));
}

TEST_F(SlotMachineTest, LooksAtTheRecordEveryTenSecondsAtTheSameMomentsAsOthers) {
  use({}, 1h);
  now_ += 3s;
  lead();
  EXPECT_EQ(machine_->wake_at(), begin_ + 10s);
  const auto read = wake();
  ASSERT_TRUE(read && !read->write);
  answer(*read);
  EXPECT_EQ(machine_->wake_at(), begin_ + 20s);
  EXPECT_EQ(store_.writes, 1) << "the registration";
}

TEST_F(SlotMachineTest, ARunOfAKeyWhoseOwnerIsGoneIsRecordedAsLost) {
  SlotRecord record;
  begin_key(record, "clean", {"other", 1}, "monday", {}, wall());
  store_.put(to_text(record));
  lead(2);
  EXPECT_EQ(store_.content().keys.at(0).outcome, RunOutcome::lost);
  EXPECT_THAT(events_, IsEmpty());
  ASSERT_THAT(begun_, SizeIs(1));
  EXPECT_EQ(begun_[0].number, 2U);
}

// ---- slots that come during a run ------------------------------------------------------------

TEST_F(SlotMachineTest, CancelsARunWhenTheNextSlotComesAndDoesNotRepeatIt) {
  SlotOptions options = at_least_once;
  options.while_busy = BusySlots::cancel_running;
  use(options);
  lead();
  advance(59s);
  EXPECT_FALSE(cancelled_);
  advance(1s);
  EXPECT_TRUE(cancelled_);
  end(RunOutcome::cancelled);
  advance(0s);
  EXPECT_THAT(begun_, ElementsAre(first(), (Slot{wall_begin_ + 60s, 2, 1})));
  EXPECT_FALSE(store_.content().retry);
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(SlotMachineTest, KeepsTheRepetitionOfACancelledRunIfTheScheduleWasPausedMeanwhile) {
  SlotOptions options = at_least_once;
  options.while_busy = BusySlots::cancel_running;
  use(options);
  lead();
  store_.change([](SlotRecord& record) { record.paused = true; });
  advance(60s);
  EXPECT_TRUE(cancelled_) << "it has not heard of the pause";
  end(RunOutcome::cancelled);
  EXPECT_TRUE(store_.content().retry) << "no slot has taken its place";
}

TEST_F(SlotMachineTest, GivesUpARepetitionWhenTheNextSlotComesIfRunsAreCancelledThen) {
  SlotOptions options = at_least_once;
  options.while_busy = BusySlots::cancel_running;
  options.retry_pause = 10min;
  use(options);
  lead();
  end(RunOutcome::failed);
  advance(60s);
  EXPECT_THAT(begun_, ElementsAre(first(), (Slot{wall_begin_ + 60s, 2, 1})));
  ASSERT_THAT(kinds(), ElementsAre(Kind::failed, Kind::failed));
  EXPECT_EQ(events_[0].attempts_left, 2);
  EXPECT_EQ(events_[1].slot, first()) << "it is said that it will not be repeated after all";
  EXPECT_EQ(events_[1].attempts_left, 0);
  EXPECT_THAT(events_[1].message, HasSubstr("later slot"));
}

TEST_F(SlotMachineTest, SaysThatALostRunIsNotRepeatedIfALaterSlotTakesItsPlace) {
  SlotOptions options = at_least_once;
  options.while_busy = BusySlots::cancel_running;
  use(options);
  lead();
  const SlotRecord open = store_.content();
  end();
  store_.put(to_text(open));
  now_ += 70s;
  advance(0s);
  EXPECT_THAT(begun_, ElementsAre(first(), (Slot{wall_begin_ + 60s, 2, 1})));
  ASSERT_THAT(kinds(), ElementsAre(Kind::lost));
  EXPECT_EQ(events_[0].attempts_left, 0);
}

TEST_F(SlotMachineTest, ASlotThatWasGivenBackHappensEvenIfLaterOnesCancelRuns) {
  use({.while_busy = BusySlots::cancel_running});
  lead();
  now_ += 70s;
  answer_all(machine_->not_started(now_));
  advance(0s);
  EXPECT_THAT(begun_, ElementsAre(first(), first()));
  end();
  advance(0s);
  ASSERT_THAT(begun_, SizeIs(3));
  EXPECT_EQ(begun_[2].time, wall_begin_ + 60s);
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(SlotMachineTest, SlotsThatPassedWhileNobodyLedAreMissedEvenIfAnAttemptIsPending) {
  for (const MissedSlots missed : {MissedSlots::all, MissedSlots::latest, MissedSlots::skip}) {
    SlotOptions options = at_least_once;
    options.missed = missed;
    store_ = {};
    begun_.clear();
    events_.clear();
    now_ = begin_;
    use(options);
    lead();
    machine_->end_term();
    now_ += 130s;
    lead(2);
    advance(10s);
    ASSERT_THAT(begun_, ElementsAre(first(), first(2)));
    end();
    advance(0s);
    if (missed == MissedSlots::all) {
      EXPECT_THAT(kinds(), ElementsAre(Kind::lost));
      EXPECT_EQ(begun_.back().time, wall_begin_ + 60s);
      end();
      advance(0s);
    } else {
      ASSERT_THAT(kinds(), ElementsAre(Kind::lost, Kind::missed));
      EXPECT_EQ(events_[1].count, missed == MissedSlots::skip ? 2U : 1U);
    }
    EXPECT_EQ(begun_.back().time, wall_begin_ + (missed == MissedSlots::skip ? 0s : 120s));
  }
}

TEST_F(SlotMachineTest, KeepsOnlyTheLastSlotThatComesDuringARunIfItIsToQueueOne) {
  use({.while_busy = BusySlots::queue_one});
  lead();
  now_ += 190s;
  end();
  advance(0s);
  ASSERT_THAT(begun_, SizeIs(2));
  EXPECT_EQ(begun_[1].time, wall_begin_ + 180s);
  ASSERT_THAT(kinds(), ElementsAre(Kind::skipped));
  EXPECT_EQ(events_[0].count, 2U);
  EXPECT_EQ(events_[0].slot->time, wall_begin_ + 120s);
}

TEST_F(SlotMachineTest, NamesTheLastSlotThatWasSkippedAlsoIfMissedOnesAreAllToHappen) {
  use({.missed = MissedSlots::all, .while_busy = BusySlots::queue_one});
  lead();
  advance(190s);
  end();
  ASSERT_THAT(kinds(), ElementsAre(Kind::skipped));
  EXPECT_EQ(events_[0].count, 2U);
  EXPECT_EQ(events_[0].slot->time, wall_begin_ + 120s);
}

TEST_F(SlotMachineTest, AQueuedSlotOutlivesItsLeader) {
  use({.missed = MissedSlots::skip, .while_busy = BusySlots::queue_one});
  lead();
  now_ += 70s;
  end();
  machine_->end_term();
  now_ += 10s;
  lead(2);
  ASSERT_THAT(begun_, SizeIs(2));
  EXPECT_EQ(begun_[1].time, wall_begin_ + 60s);
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(SlotMachineTest, SkipsSlotsWhileAnAttemptIsPending) {
  SlotOptions options = at_least_once;
  options.retry_pause = 150s;
  use(options);
  lead();
  end(RunOutcome::failed);
  advance(151s);
  EXPECT_THAT(begun_, ElementsAre(first(), first(2)));
  EXPECT_THAT(kinds(), ElementsAre(Kind::failed, Kind::skipped, Kind::skipped));
}

TEST_F(SlotMachineTest, ATriggerBringsAPendingAttemptForward) {
  SlotOptions options = at_least_once;
  options.retry_pause = 1h;
  use(options);
  lead();
  end(RunOutcome::failed);
  store_.change([this](SlotRecord& record) {
    pause_slots(record, "clean");
    trigger_run(record, "clean", wall());
  });
  advance(11s);
  EXPECT_THAT(begun_, ElementsAre(first(), first(2)));
  EXPECT_FALSE(store_.content().trigger);
}

TEST_F(SlotMachineTest, SlotsThatComeWhileMissedOnesAreCaughtUpWithComeAfterThose) {
  use({.missed = MissedSlots::all, .while_busy = BusySlots::queue_one});
  lead();
  end();
  machine_->end_term();
  now_ += 185s;
  lead(2);
  now_ += 60s;  // 240 passes during the run of 60
  for (int i = 0; i < 3; ++i) {
    end();
    advance(0s);
  }
  ASSERT_THAT(begun_, SizeIs(5));
  for (std::size_t i = 0; i < begun_.size(); ++i) {
    EXPECT_EQ(begun_[i], (Slot{wall_begin_ + i * 60s, i + 1, 1}));
  }
}

// ---- definitions that differ -----------------------------------------------------------------

TEST_F(SlotMachineTest, OtherOptionsAloneLeaveTheSlotsAsTheyAreAndAreTold) {
  use({.missed = MissedSlots::all});
  lead();
  end();
  machine_->end_term();
  now_ += 130s;
  lead(2);
  end();
  machine_->end_term();
  now_ += 5s;
  use({.missed = MissedSlots::all, .jitter = 1s});
  lead(3);
  EXPECT_THAT(begun_, ElementsAre(first(), (Slot{wall_begin_ + 60s, 2, 1}),
                                  (Slot{wall_begin_ + 120s, 3, 1})));
  EXPECT_THAT(kinds(), ElementsAre(Kind::definition_changed));
  EXPECT_THAT(store_.content().definition, HasSubstr("jitter"));
  end();
  advance(90s);
  ASSERT_THAT(begun_, SizeIs(4));
  EXPECT_EQ(begun_.back().time, wall_begin_ + 180s);
}

TEST_F(SlotMachineTest, SlotsThatAreDroppedForOtherTimesAreToldAsMissed) {
  use({.missed = MissedSlots::all});
  lead();
  end();
  machine_->end_term();
  now_ += 250s;
  lead(2);
  end();
  machine_->end_term();
  now_ += 60s;
  use({.missed = MissedSlots::all}, 0s, 90s);
  lead(3);
  ASSERT_THAT(kinds(), ElementsAre(Kind::definition_changed, Kind::missed));
  EXPECT_EQ(events_[1].count, 4U) << "three that were owed and one that has passed";
  EXPECT_EQ(events_[1].slot->time, wall_begin_ + 300s);
  ASSERT_THAT(begun_, SizeIs(3));
  EXPECT_EQ(begun_.back().time, wall());
}

TEST_F(SlotMachineTest, LeadersOfDifferentPeriodsThatTakeTurnsBeginNothingTooSoonAndGoOn) {
  for (FencingToken token = 1; token <= 100; ++token) {
    use({}, 0s, token % 2 == 0 ? 20s : 60s);
    lead(token);
    end();
    for (int i = 0; i < 7; ++i) {
      advance(1s);
      end();
    }
    machine_->end_term();
  }
  EXPECT_GE(begun_.size(), 700U / 60);
  for (std::size_t i = 1; i < begun_.size(); ++i) {
    EXPECT_GE(begun_[i].time - begun_[i - 1].time, 20s);
  }
}

TEST_F(SlotMachineTest, AShorterDelayBeforeTheFirstSlotTakesEffect) {
  use({}, 1h);
  lead();
  machine_->end_term();
  now_ += 1s;
  use({}, 5s);
  lead(2);
  advance(5s);
  ASSERT_THAT(begun_, SizeIs(1));
  EXPECT_EQ(begun_[0].time, wall_begin_ + 6s);
}

// ---- options ---------------------------------------------------------------------------------

TEST_F(SlotMachineTest, BeginsEachSlotLaterByAJitterThatDoesNotChange) {
  use({.jitter = 20s}, 30s);
  lead();
  bool late = false;
  for (int i = 0; i < 20; ++i) {
    advance(60s);
    ASSERT_THAT(begun_, SizeIs(i + 1));
    const auto run = store_.content().open->run;
    EXPECT_GE(run.begun, begun_.back().time);
    EXPECT_LE(run.begun, begun_.back().time + 20s);
    late = late || run.begun > begun_.back().time + 1s;
    end();
  }
  EXPECT_TRUE(late);
}

TEST_F(SlotMachineTest, ALostRunIsRepeatedUntilTheAttemptsAreUsedUp) {
  use(at_least_once);
  for (FencingToken token = 1; token <= 5; ++token) {
    lead(token);
    advance(45s);
    machine_->end_term();
    now_ -= 45s;  // all before the next slot
  }
  EXPECT_THAT(begun_, ElementsAre(first(), first(2), first(3)));
  ASSERT_THAT(kinds(), ElementsAre(Kind::lost, Kind::lost, Kind::lost));
  EXPECT_EQ(events_[0].attempts_left, 2);
  EXPECT_EQ(events_[2].attempts_left, 0);
}

TEST_F(SlotMachineTest, TheNextSlotAndTheLastOneThatWasBegunAreKeptForPeople) {
  use({}, 5s);
  lead();
  EXPECT_FALSE(report_of(store_.content()).last_slot);
  EXPECT_EQ(store_.content().next, wall_begin_ + 5s);
  advance(5s);
  now_ += 70s;
  end();
  const ScheduleReport report = report_of(store_.content());
  EXPECT_EQ(report.last_slot, wall_begin_ + 5s) << "that of 65 s was skipped";
  EXPECT_EQ(report.next_slot, wall_begin_ + 125s);
}

}  // namespace
}  // namespace simba::detail
