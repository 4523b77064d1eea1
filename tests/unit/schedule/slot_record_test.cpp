#include "schedule/slot_record.hpp"

#include <limits>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/text.hpp"
#include "simba/core/error.hpp"

namespace simba::detail {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;

SystemTime at(std::int64_t seconds) { return SystemTime{std::chrono::seconds{seconds}}; }

const RecordOwner me{"me", 7};

SlotRecord registered() {
  SlotRecord record;
  record.definition = "0 3 * * * in Europe/Berlin";
  record.fingerprint = "cron 0 3 * * * in Europe/Berlin";
  record.options = "0 3";
  record.anchor = at(1000);
  record.settled = at(2000);
  record.next = at(3000);
  record.last = at(1500);
  return record;
}

SlotRecord full() {
  SlotRecord record = registered();
  begin_run(record, {.time = at(10), .number = 0, .attempt = 1}, me, at(11));
  end_run(record, {RunOutcome::failed, 3, "exit code 3", "out\nput \xC3\xA4"},
          {.promise = SlotPromise::at_least_once}, at(12));
  begin_run(record, {.time = at(13), .number = 0, .attempt = 1}, me, at(14));
  record.owed = {at(13), at(15)};
  record.paused = true;
  record.trigger = at(16);
  record.keys.push_back({"2026-11-20", 3, 2, RunOutcome::cancelled});
  return record;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto first = first_code_point(text);
    if (!first) return false;
    text.remove_prefix(first->size);
  }
  return true;
}

std::string error_of(std::string_view text, ErrorKind kind) {
  try {
    parse_slot_record(text, "cleanup");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  ADD_FAILURE() << "no error for " << text;
  return {};
}

TEST(SlotRecord, IsReadAsItWasWritten) {
  EXPECT_EQ(parse_slot_record(to_text(full()), "cleanup"), full());
  EXPECT_EQ(parse_slot_record(to_text(registered()), "cleanup"), registered());
  EXPECT_EQ(parse_slot_record(to_text({}), "cleanup"), SlotRecord{});
}

TEST(SlotRecord, IsEmptyWhereNoneHasBeenWritten) {
  EXPECT_EQ(parse_slot_record("", "cleanup"), SlotRecord{});
}

TEST(SlotRecord, OfANewerVersionIsRefusedWithWhatToDo) {
  const auto error =
      error_of(R"({"format": 2, "number": "not a number any more"})", ErrorKind::unsupported);
  EXPECT_THAT(error, HasSubstr("[cleanup] was written by a newer version of Simba (format 2"));
  EXPECT_THAT(error, EndsWith("upgrade Simba on this host"));
}

TEST(SlotRecord, ThatIsDamagedIsRefusedWithWhatToDo) {
  for (const char* text :
       {"garbage", "{", "[]", "{}", "null", R"({"format": 0, "number": 1})",
        R"({"format": 1.5, "number": 1})", R"({"format": 1})", R"({"format": 1, "number": -1})",
        R"({"format": 1, "number": 1e30})", R"({"format": 1, "number": 1, "runs": {}})",
        R"({"format": 1, "number": 1, "runs": [{}]})",
        R"({"format": 1, "number": 1, "keys": [["a", 1, 1, "eaten"]]})",
        R"({"format": 1, "number": 1, "paused": 1})",
        R"({"format": 1, "number": 1, "trigger": 99999999999999999})",
        R"({"format": 1, "number": 1, "definition": "every 10s"})"}) {
    EXPECT_THAT(error_of(text, ErrorKind::internal), HasSubstr("restore it")) << text;
  }
}

TEST(SlotRecord, KeepsNumbersThatNeedAllBits) {
  SlotRecord record = full();
  record.open->run.fencing_token = std::numeric_limits<FencingToken>::max();
  record.runs[0].exit_code = -1;
  EXPECT_EQ(parse_slot_record(to_text(record), "cleanup"), record);
}

TEST(SlotRecord, KeepsTheEndOfAnOutputInWholeCharacters) {
  SlotRecord record = registered();
  std::string output = "begin";
  for (int i = 0; i < 1000; ++i) output += "\xE2\x82\xAC";  // three bytes each
  begin_run(record, {.time = at(10)}, me, at(11));
  end_run(record, {RunOutcome::failed, 1, std::string(600, 'm'), output + "end"}, {}, at(12));
  const RunReport& run = record.runs[0];
  EXPECT_LE(run.output.size(), longest_output);
  EXPECT_GT(run.output.size(), longest_output - 3);
  EXPECT_TRUE(is_utf8(run.output));
  EXPECT_THAT(run.output, EndsWith("\xE2\x82\xAC"
                                   "end"));
  EXPECT_THAT(run.message, SizeIs(longest_message));
  EXPECT_EQ(parse_slot_record(to_text(record), "cleanup"), record);
}

TEST(SlotRecord, EscapesBytesThatAreNotUtf8) {
  SlotRecord record = registered();
  begin_run(record, {.time = at(10)}, {"c\xFF", 1}, at(11));
  end_run(record, {RunOutcome::failed, 1, "m\x80", "a\xFF\nb"}, {}, at(12));
  const std::string text = to_text(record);
  EXPECT_TRUE(is_utf8(text));
  const auto read = parse_slot_record(text, "cleanup");
  EXPECT_EQ(read.runs[0].message, "m\\x80");
  EXPECT_EQ(read.runs[0].output, "a\\xff\nb");
  EXPECT_EQ(read.runs[0].contender_id, "c\\xff");
}

TEST(SlotRecord, IsNeverLongerThanAStoreTakes) {
  SlotRecord record = full();
  const std::string costly(5000, '\x01');  // six bytes each, escaped
  record.definition = record.fingerprint = record.options = costly;
  for (int i = 0; i < 60; ++i) {
    RunReport run = record.runs[0];
    run.slot = run.contender_id = run.message = run.output = costly;
    record.runs.push_back(run);
  }
  record.open->run = record.runs.back();
  for (int i = 0; i < 150; ++i) record.keys.push_back({costly, 1, 1, RunOutcome::succeeded});
  const std::string text = to_text(record);
  EXPECT_LE(text.size(), MutexRecords::most_bytes);
  const auto read = parse_slot_record(text, "cleanup");
  EXPECT_TRUE(read.open && read.retry && read.owed && read.paused && read.trigger);
}

TEST(SlotRecord, KeepsSixtyKeysHoweverLongTheyAreWritten) {
  SlotRecord record;
  const RecordOwner owner{std::string(255, '"'), std::numeric_limits<std::int64_t>::max()};
  for (int i = 0; i < 101; ++i) {
    const auto key = fmt::format("{:03}", i) + std::string(longest_key - 3, '"');
    begin_key(record, "nightly", owner, key, {}, at(i));
    const std::string no(longest_message, '"');
    end_key(record, owner, record.number, {RunOutcome::failed, 1, no, no}, {.history = 50}, at(i));
  }
  EXPECT_THAT(record.keys, SizeIs(most_keys));
  EXPECT_GE(parse_slot_record(to_text(record), "nightly").keys.size(), 60U);
}

TEST(SlotRecord, GivesUpOldOutputsBeforeRunsAndKeys) {
  SlotRecord record = registered();
  for (int i = 0; i < 30; ++i) {
    begin_run(record, {.time = at(i)}, me, at(i));
    end_run(record, {RunOutcome::failed, 1, "no", std::string(2000, 'x')}, {.history = 50}, at(i));
  }
  const auto read = parse_slot_record(to_text(record), "cleanup");
  ASSERT_THAT(read.runs, SizeIs(30));
  EXPECT_EQ(read.runs.front().output, "");
  EXPECT_EQ(read.runs.back().output, std::string(2000, 'x'));
}

TEST(SlotRecord, RemembersAsManyRunsAsAskedFor) {
  SlotRecord record = registered();
  for (int i = 0; i < 5; ++i) {
    begin_run(record, {.time = at(i)}, me, at(i));
    end_run(record, {}, {.history = 3}, at(i));
  }
  ASSERT_THAT(record.runs, SizeIs(3));
  EXPECT_EQ(record.runs[0].number, 3U);
}

TEST(SlotRecord, RepeatsAFailedSlotUnderItsNumberWithGrowingPauses) {
  const SlotOptions options{
      .promise = SlotPromise::at_least_once, .max_attempts = 3, .retry_pause = 10s};
  SlotRecord record = registered();
  begin_run(record, {.time = at(100)}, me, at(100));
  EXPECT_EQ(end_run(record, {.outcome = RunOutcome::failed}, options, at(110)), 2);
  EXPECT_EQ(record.retry->slot, (Slot{at(100), 1, 2}));
  EXPECT_EQ(record.retry->at, at(120));
  EXPECT_EQ(retry_time(options, 3, at(0)), at(20));
  EXPECT_EQ(retry_time(options, 1000, at(0)), at(3600));
}

TEST(SlotRecord, RepeatsNothingThatIsPromisedAtMostOnceOrEndedWellOrIsExhausted) {
  const auto left_after = [](const SlotOptions& options, RunOutcome outcome, int attempt) {
    SlotRecord record = registered();
    begin_run(record, {.time = at(100), .number = 0, .attempt = attempt}, me, at(100));
    const int left = end_run(record, {.outcome = outcome}, options, at(110));
    EXPECT_EQ(record.retry.has_value(), left > 0);
    return left;
  };
  const SlotOptions repeating{.promise = SlotPromise::at_least_once, .max_attempts = 3};
  EXPECT_EQ(left_after({}, RunOutcome::failed, 1), 0);
  EXPECT_EQ(left_after({}, RunOutcome::lost, 1), 0);
  EXPECT_EQ(left_after(repeating, RunOutcome::lost, 1), 2);
  EXPECT_EQ(left_after(repeating, RunOutcome::failed, 3), 0);
  EXPECT_EQ(left_after(repeating, RunOutcome::cancelled, 1), 2);
  EXPECT_EQ(left_after(repeating, RunOutcome::succeeded, 1), 0);
}

TEST(SlotRecord, ShowsTimesAsCalendarsDo) {
  EXPECT_EQ(time_text(at(1'795'143'600)), "2026-11-20T03:00:00Z");
  EXPECT_EQ(time_text(at(1'795'143'600) + 70ms), "2026-11-20T03:00:00.070Z");
}

TEST(SlotRecord, IsPausedResumedAndTriggeredOnlyWhereAScheduleIsRegistered) {
  SlotRecord record = registered();
  EXPECT_FALSE(resume_slots(record, "cleanup"));
  EXPECT_TRUE(pause_slots(record, "cleanup"));
  EXPECT_FALSE(pause_slots(record, "cleanup"));
  EXPECT_TRUE(report_of(record).paused);
  EXPECT_TRUE(resume_slots(record, "cleanup"));
  EXPECT_TRUE(trigger_run(record, "cleanup", at(5)));
  EXPECT_FALSE(trigger_run(record, "cleanup", at(6))) << "one that waits is enough";
  EXPECT_EQ(record.trigger, at(5));
  SlotRecord empty;
  EXPECT_THROW(pause_slots(empty, "cleanup"), IllegalStateError);
  EXPECT_THROW(resume_slots(empty, "cleanup"), IllegalStateError);
  EXPECT_THROW(trigger_run(empty, "cleanup", at(5)), IllegalStateError);
}

TEST(SlotRecord, ReportsTheRunThatIsUnderWay) {
  const ScheduleReport report = report_of(full());
  ASSERT_THAT(report.runs, SizeIs(2));
  EXPECT_EQ(report.runs[1].outcome, RunOutcome::running);
  EXPECT_EQ(report.last_slot, at(1500));
  EXPECT_EQ(report.next_slot, at(3000));
  EXPECT_FALSE(report_of({}).last_slot);
}

TEST(SlotRecord, LetsAKeyHappenOnce) {
  SlotRecord record;
  const auto begun = begin_key(record, "nightly", me, "monday", {}, at(1));
  EXPECT_EQ(begun.slot, (Slot{at(1), 1, 1}));
  EXPECT_TRUE(end_key(record, me, 1, {RunOutcome::succeeded, 0, "", ""}, {}, at(2)));
  const auto again = begin_key(record, "nightly", {"other", 8}, "monday", {}, at(3));
  EXPECT_FALSE(again.slot);
  EXPECT_EQ(again.done->outcome, RunOutcome::succeeded);
  EXPECT_EQ(again.done->contender_id, "me");
  EXPECT_EQ(begin_key(record, "nightly", me, "tuesday", {}, at(4)).slot->number, 2U);
  EXPECT_EQ(parse_slot_record(to_text(record), "nightly"), record);
}

TEST(SlotRecord, TakesAKeyOverFromAnOwnerThatIsGoneOnlyIfAsked) {
  for (const bool repeating : {false, true}) {
    SlotRecord record;
    begin_key(record, "nightly", {"other", 6}, "monday", {}, at(1));
    SlotOptions options;
    options.max_attempts = 2;
    if (repeating) options.promise = SlotPromise::at_least_once;
    const auto begun = begin_key(record, "nightly", me, "monday", options, at(2));
    EXPECT_EQ(begun.slot.has_value(), repeating);
    EXPECT_EQ(record.runs[0].outcome, RunOutcome::lost);
    if (!repeating) {
      EXPECT_EQ(begun.done->outcome, RunOutcome::lost);
      continue;
    }
    EXPECT_EQ(begun.slot, (Slot{at(2), 1, 2}));
    EXPECT_TRUE(end_key(record, me, 1, {RunOutcome::failed, 1, "exit code 1", ""}, options, at(3)));
    EXPECT_FALSE(record.retry) << "whoever calls again repeats it";
    EXPECT_EQ(begin_key(record, "nightly", me, "monday", options, at(4)).done->outcome,
              RunOutcome::failed);
  }
}

TEST(SlotRecord, EndsNoKeyOfAnotherOwner) {
  SlotRecord record;
  begin_key(record, "nightly", me, "monday", {}, at(1));
  EXPECT_FALSE(end_key(record, {"me", 8}, 1, {}, {}, at(2)));
  EXPECT_FALSE(end_key(record, {"other", 7}, 1, {}, {}, at(2)));
  EXPECT_FALSE(end_key(record, me, 2, {}, {}, at(2)));
  EXPECT_TRUE(end_key(record, me, 1, {}, {}, at(2)));
  EXPECT_FALSE(end_key(record, me, 1, {}, {}, at(2)));
}

TEST(SlotRecord, RemembersTheLastHundredKeys) {
  SlotRecord record;
  for (int i = 0; i < 101; ++i) {
    const auto begun = begin_key(record, "nightly", me, std::to_string(i), {}, at(i));
    end_key(record, me, begun.slot->number, {}, {}, at(i));
  }
  EXPECT_THAT(record.keys, SizeIs(100));
  EXPECT_TRUE(begin_key(record, "nightly", me, "100", {}, at(200)).done);
  EXPECT_TRUE(begin_key(record, "nightly", me, "0", {}, at(200)).slot);
}

TEST(SlotRecord, RefusesKeysThatAreNoneAndMutexesOfSchedules) {
  SlotRecord record;
  for (const std::string& key :
       {std::string{}, std::string(201, 'k'), std::string{"a\nb"}, std::string{"\xFF"}}) {
    EXPECT_THROW(begin_key(record, "nightly", me, key, {}, at(1)), InvalidArgumentError);
  }
  EXPECT_EQ(record, SlotRecord{});
  record = registered();
  EXPECT_THROW(begin_key(record, "nightly", me, "monday", {}, at(1)), IllegalStateError);
}

}  // namespace
}  // namespace simba::detail
