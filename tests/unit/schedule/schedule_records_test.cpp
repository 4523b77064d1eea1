// Steering schedules and running keys once, over records that misbehave on demand.
#include "simba/schedule/schedule_records.hpp"

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/slot_record.hpp"
#include "simba/core/error.hpp"
#include "simba/testkit/manual_runtime.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// One record in memory. `owner` owns the mutex.
class OneRecord final : public MutexRecords {
 public:
  enum class Fault {
    none,
    unavailable,   ///< not carried out
    in_doubt,      ///< not carried out, but nobody says so
    lost_answer,   ///< carried out, but nobody says so
    silence,       ///< carried out and never answered
    other_change,  ///< somebody else writes just before
  };

  void read(const std::string& /*mutex*/, RecordHandler handler) override {
    ++reads;
    const Fault fault = next(read_faults);
    if (fault == Fault::unavailable) {
      return handler(Error{ErrorKind::unavailable, "the store is down"});
    }
    if (fault == Fault::silence) return;
    handler(RecordAnswer{RecordAnswer::Outcome::found, record});
  }

  void write(const RecordWrite& write, RecordHandler handler) override {
    ++writes;
    const Fault fault = next(write_faults);
    if (fault == Fault::unavailable) {
      return handler(Error{ErrorKind::unavailable, "the store is down"});
    }
    if (fault == Fault::in_doubt) return handler(Error{ErrorKind::in_doubt, "connection lost"});
    if (fault == Fault::other_change) {
      ++record.version;
      other_change(record);
    }
    const RecordAnswer answer{carry_out(write), record};
    if (fault == Fault::lost_answer) {
      after_lost_answer(record);
      return handler(Error{ErrorKind::in_doubt, "connection lost"});
    }
    if (fault != Fault::silence) handler(answer);
  }

  MutexRecord record{.text = "", .version = 0, .now = SystemTime{1'000'000ms}};
  RecordOwner owner{.contender_id = "one", .fencing_token = 7};
  std::deque<Fault> read_faults;
  std::deque<Fault> write_faults;
  std::function<void(MutexRecord&)> other_change = [](MutexRecord&) {};
  std::function<void(MutexRecord&)> after_lost_answer = [](MutexRecord&) {};
  int reads = 0;
  int writes = 0;

 private:
  static Fault next(std::deque<Fault>& faults) {
    if (faults.empty()) return Fault::none;
    const Fault fault = faults.front();
    faults.pop_front();
    return fault;
  }

  RecordAnswer::Outcome carry_out(const RecordWrite& write) {
    if (write.owner && (write.owner->contender_id != owner.contender_id ||
                        write.owner->fencing_token != owner.fencing_token)) {
      return RecordAnswer::Outcome::not_owned;
    }
    if (write.replaces != record.version) return RecordAnswer::Outcome::changed;
    record.text = write.text;
    ++record.version;
    return RecordAnswer::Outcome::written;
  }
};

using Fault = OneRecord::Fault;

class ScheduleRecordsTest : public testing::Test {
 protected:
  /// As its leader has registered it.
  void register_schedule() const {
    detail::SlotRecord schedule;
    schedule.definition = "every 10s";
    schedule.fingerprint = "f";
    store_->record.text = detail::to_text(schedule);
    ++store_->record.version;
  }

  detail::SlotRecord content() const { return detail::parse_slot_record(store_->record.text, "m"); }

  ScheduleRecords::Begun begin(const std::string& key, const SlotOptions& options = {}) const {
    return records_.begin("m", store_->owner, key, options);
  }

  void end(std::uint64_t number, RunOutcome outcome) const {
    records_.end("m", store_->owner, number, outcome, {}, "", "");
  }

  /// The same process would not own it twice under one token.
  void hand_over(const std::string& contender_id) const {
    store_->owner = {contender_id, store_->owner.fencing_token + 1};
  }

  const testkit::ManualRuntime world_;
  const std::shared_ptr<OneRecord> store_ = std::make_shared<OneRecord>();
  const ScheduleRecords records_{store_, world_.runtime(), 10s};
};

template <typename Call>
ErrorKind kind_of_error(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << "no error";
  return ErrorKind::internal;
}

TEST_F(ScheduleRecordsTest, AStoreWithoutRecordsIsRefused) {
  EXPECT_EQ(kind_of_error([&] { const ScheduleRecords none(nullptr, world_.runtime(), 1s); }),
            ErrorKind::unsupported);
}

TEST_F(ScheduleRecordsTest, NothingIsKnownOfAMutexWithoutARecord) {
  const ScheduleReport report = records_.report("m");
  EXPECT_EQ(report.definition, "");
  EXPECT_TRUE(report.runs.empty());
  EXPECT_EQ(store_->writes, 0);
}

TEST_F(ScheduleRecordsTest, NoScheduleIsNoScheduleToSteer) {
  const auto refuses = ThrowsMessage<IllegalStateError>(HasSubstr("no schedule is registered"));
  EXPECT_THAT([&] { records_.pause("m"); }, refuses);
  EXPECT_THAT([&] { records_.resume("m"); }, refuses);
  EXPECT_THAT([&] { records_.trigger("m"); }, refuses);
  EXPECT_EQ(store_->writes, 0);
}

TEST_F(ScheduleRecordsTest, APauseIsWrittenOnceAndResumedOnce) {
  register_schedule();
  EXPECT_TRUE(records_.pause("m"));
  EXPECT_TRUE(records_.report("m").paused);
  EXPECT_FALSE(records_.pause("m"));
  EXPECT_EQ(store_->writes, 1);
  EXPECT_TRUE(records_.resume("m"));
  EXPECT_FALSE(records_.resume("m"));
  EXPECT_FALSE(records_.report("m").paused);
}

TEST_F(ScheduleRecordsTest, ATriggerIsKeptForTheLeader) {
  register_schedule();
  EXPECT_TRUE(records_.trigger("m"));
  EXPECT_EQ(content().trigger, store_->record.now);
  EXPECT_FALSE(records_.trigger("m"));
  EXPECT_EQ(store_->writes, 1);
}

TEST_F(ScheduleRecordsTest, AChangeOfOthersIsNotOverwritten) {
  register_schedule();
  store_->write_faults = {Fault::other_change, Fault::other_change};
  store_->other_change = [](MutexRecord& record) {
    auto content = detail::parse_slot_record(record.text, "m");
    ++content.number;
    record.text = detail::to_text(content);
  };
  EXPECT_TRUE(records_.pause("m"));
  EXPECT_TRUE(content().paused);
  EXPECT_EQ(content().number, 2U);
  EXPECT_EQ(store_->reads, 1) << "the answer of a write has the record already";
}

TEST_F(ScheduleRecordsTest, OthersThatChangeItAgainAndAgainAreNotFoughtForEver) {
  register_schedule();
  store_->write_faults.assign(1'000, Fault::other_change);
  EXPECT_THAT([&] { records_.pause("m"); },
              ThrowsMessage<Error>(HasSubstr("was changed by others 100 times in a row")));
  EXPECT_EQ(store_->writes, 100);
}

TEST_F(ScheduleRecordsTest, ANewerFormatIsNeitherReadNorOverwritten) {
  store_->record.text = R"({"format":2})";
  store_->record.version = 1;
  EXPECT_EQ(kind_of_error([&] { return records_.report("m"); }), ErrorKind::unsupported);
  EXPECT_EQ(kind_of_error([&] { records_.pause("m"); }), ErrorKind::unsupported);
  EXPECT_EQ(kind_of_error([&] { begin("2026-11-20"); }), ErrorKind::unsupported);
  EXPECT_EQ(store_->writes, 0);
}

TEST_F(ScheduleRecordsTest, SilenceEndsWithTheTimeout) {
  store_->read_faults.assign(1'000, Fault::silence);
  const LocalTime before = world_.now();
  EXPECT_THAT([&] { static_cast<void>(records_.report("m")); },
              ThrowsMessage<Error>(HasSubstr("no answer from the store within 10s")));
  EXPECT_EQ(world_.now() - before, 10s);
}

TEST_F(ScheduleRecordsTest, AStoreThatIsDownIsReportedAtOnceToThoseWhoLook) {
  store_->read_faults = {Fault::unavailable};
  const LocalTime before = world_.now();
  EXPECT_EQ(kind_of_error([&] { return records_.report("m"); }), ErrorKind::unavailable);
  EXPECT_EQ(world_.now(), before);
}

TEST_F(ScheduleRecordsTest, APauseWhoseAnswerIsLostIsKnownToHaveHappened) {
  register_schedule();
  store_->write_faults = {Fault::lost_answer};
  EXPECT_TRUE(records_.pause("m"));
  EXPECT_TRUE(content().paused);
}

TEST_F(ScheduleRecordsTest, ATriggerThatMayHaveBeenServedIsNotRepeated) {
  register_schedule();
  store_->write_faults = {Fault::lost_answer};
  store_->after_lost_answer = [](MutexRecord& record) {  // the leader was quick
    auto content = detail::parse_slot_record(record.text, "m");
    content.trigger.reset();
    record.text = detail::to_text(content);
    ++record.version;
  };
  EXPECT_EQ(kind_of_error([&] { records_.trigger("m"); }), ErrorKind::in_doubt);
  EXPECT_FALSE(content().trigger);
}

TEST_F(ScheduleRecordsTest, AKeyIsBegunOnceAndItsEndIsKnownToTheNext) {
  const auto first = begin("2026-11-20");
  ASSERT_TRUE(first.slot);
  EXPECT_EQ(first.slot->number, 1U);
  EXPECT_EQ(first.slot->attempt, 1);
  records_.end("m", store_->owner, 1, RunOutcome::succeeded, 0, "", "");
  hand_over("two");
  const auto second = begin("2026-11-20");
  EXPECT_FALSE(second.slot);
  ASSERT_TRUE(second.done);
  EXPECT_EQ(second.done->outcome, RunOutcome::succeeded);
  EXPECT_EQ(second.done->contender_id, "one");
  EXPECT_EQ(second.done->exit_code, 0);
  EXPECT_TRUE(begin("2026-11-21").slot);
}

TEST_F(ScheduleRecordsTest, AKeyWhoseOwnerDiedIsLostAtMostOnceAndRepeatedAtLeastOnce) {
  ASSERT_TRUE(begin("a").slot);
  hand_over("two");
  const auto lost = begin("a");
  ASSERT_TRUE(lost.done);
  EXPECT_EQ(lost.done->outcome, RunOutcome::lost);
  EXPECT_EQ(lost.done->contender_id, "one");
  const auto again = begin("a", {.promise = SlotPromise::at_least_once, .max_attempts = 2});
  ASSERT_TRUE(again.slot);
  EXPECT_EQ(again.slot->number, 1U);
  EXPECT_EQ(again.slot->attempt, 2);
  end(1, RunOutcome::failed);
  EXPECT_FALSE(begin("a", {.promise = SlotPromise::at_least_once, .max_attempts = 2}).slot);
}

TEST_F(ScheduleRecordsTest, OnlyTheOwnerBeginsAndEnds) {
  const RecordOwner stranger{.contender_id = "two", .fencing_token = 8};
  EXPECT_THAT([&] { records_.begin("m", stranger, "a", {}); },
              ThrowsMessage<IllegalStateError>(HasSubstr("[m] is not owned by [two]")));
  ASSERT_TRUE(begin("a").slot);
  hand_over("two");
  EXPECT_THROW(records_.end("m", {"one", 7}, 1, RunOutcome::succeeded, 0, "", ""),
               IllegalStateError);
}

TEST_F(ScheduleRecordsTest, ARunThatIsNotUnderWayCannotEnd) {
  ASSERT_TRUE(begin("a").slot);
  end(1, RunOutcome::succeeded);
  EXPECT_THAT([&] { end(1, RunOutcome::failed); },
              ThrowsMessage<IllegalStateError>(HasSubstr("run 1 of mutex [m] is not under way")));
  EXPECT_EQ(records_.report("m").runs.at(0).outcome, RunOutcome::succeeded);
}

TEST_F(ScheduleRecordsTest, AKeyThatIsGivenBackIsAsIfItHadNotBegun) {
  ASSERT_TRUE(begin("a").slot);
  records_.give_back("m", store_->owner, 1);
  EXPECT_TRUE(records_.report("m").runs.empty());
  const auto again = begin("a");
  ASSERT_TRUE(again.slot) << "even if it runs at most once";
  EXPECT_EQ(again.slot->attempt, 1);
  end(again.slot->number, RunOutcome::failed);

  const SlotOptions twice{.promise = SlotPromise::at_least_once, .max_attempts = 2};
  ASSERT_TRUE(begin("a", twice).slot);
  records_.give_back("m", store_->owner, again.slot->number);
  const auto done = begin("a").done;
  ASSERT_TRUE(done);
  EXPECT_EQ(done->outcome, RunOutcome::failed) << "its first attempt";
  const auto second = begin("a", twice);
  ASSERT_TRUE(second.slot);
  EXPECT_EQ(second.slot->attempt, 2);
  end(again.slot->number, RunOutcome::succeeded);
  EXPECT_THAT([&] { records_.give_back("m", store_->owner, again.slot->number); },
              ThrowsMessage<IllegalStateError>(HasSubstr("is not under way")));
}

TEST_F(ScheduleRecordsTest, ABeginWhoseAnswerIsLostIsNotTakenForAnotherRun) {
  store_->write_faults = {Fault::lost_answer};
  const auto begun = begin("a");
  ASSERT_TRUE(begun.slot);
  EXPECT_EQ(begun.slot->attempt, 1);
  EXPECT_EQ(records_.report("m").runs.size(), 1U);
}

TEST_F(ScheduleRecordsTest, ABeginThatIsFoundCarriedOutIsWrittenOnceMoreAsReplicasMayNotHaveIt) {
  store_->write_faults = {Fault::lost_answer, Fault::none, Fault::lost_answer};
  EXPECT_TRUE(begin("a").slot);
  EXPECT_EQ(store_->record.version, 3U) << "until one is confirmed";
}

TEST_F(ScheduleRecordsTest, ABeginThatMayNotHaveArrivedIsSentAgain) {
  store_->write_faults = {Fault::in_doubt, Fault::in_doubt};
  ASSERT_TRUE(begin("a").slot);
  EXPECT_EQ(store_->writes, 3);
  EXPECT_EQ(store_->record.version, 1U);
}

TEST_F(ScheduleRecordsTest, ABeginThatNobodyAnswersDoesNotBegin) {
  store_->write_faults = {Fault::silence};
  EXPECT_EQ(kind_of_error([&] { begin("a"); }), ErrorKind::timeout);
}

TEST_F(ScheduleRecordsTest, AnEndOutlastsAShortOutage) {
  ASSERT_TRUE(begin("a").slot);
  store_->read_faults = {Fault::unavailable, Fault::unavailable};
  store_->write_faults = {Fault::unavailable, Fault::lost_answer};
  end(1, RunOutcome::succeeded);
  EXPECT_EQ(records_.report("m").runs.at(0).outcome, RunOutcome::succeeded);
}

TEST_F(ScheduleRecordsTest, AnEndThatWasNotedBeforeTheMutexWasLostIsNoted) {
  ASSERT_TRUE(begin("a").slot);
  store_->write_faults = {Fault::lost_answer};
  store_->after_lost_answer = [&](MutexRecord&) { hand_over("two"); };
  EXPECT_NO_THROW(records_.end("m", {"one", 7}, 1, RunOutcome::succeeded, 0, "", ""));
}

TEST_F(ScheduleRecordsTest, AnOutageThatLastsEndsAnEndWithinTheTimeout) {
  ASSERT_TRUE(begin("a").slot);
  store_->write_faults.assign(1'000, Fault::unavailable);
  const LocalTime before = world_.now();
  EXPECT_EQ(kind_of_error([&] { end(1, RunOutcome::succeeded); }), ErrorKind::unavailable);
  EXPECT_LE(world_.now() - before, 10s);
  EXPECT_LT(store_->writes, 200);
}

TEST_F(ScheduleRecordsTest, AKeyIsCheckedBeforeAnythingIsAsked) {
  EXPECT_THAT([] { ScheduleRecords::check_key(""); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("must not be empty")));
  EXPECT_THAT([] { ScheduleRecords::check_key(std::string(201, 'k')); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("200 bytes (got 201")));
  EXPECT_THAT([] { ScheduleRecords::check_key("a\nb"); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("printable")));
  EXPECT_NO_THROW(ScheduleRecords::check_key(std::string(200, 'k')));
}

TEST_F(ScheduleRecordsTest, TheMutexOfAScheduleHasNoKeys) {
  register_schedule();
  EXPECT_THAT([&] { begin("a"); },
              ThrowsMessage<IllegalStateError>(HasSubstr("belongs to a schedule (every 10s)")));
}

}  // namespace
}  // namespace simba
