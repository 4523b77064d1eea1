// simba schedule with slots that all hosts share: each happens once, whoever leads.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/cli/fixture.hpp"
#include "support/safety.hpp"

namespace simba {
namespace {

using support::CliProgram;
using support::eventually;
using testing::HasSubstr;

struct CliScheduleSlots : support::CliTest {
  Words every(const std::string& period, const std::string& text, Words options = {}) const {
    options.insert(options.end(), {"--every", period, "--", "sh", "-c", text});
    return line("schedule", options);
  }

  Words every_month(Words options, const Words& more = {}) const {
    options.insert(options.end(), more.begin(), more.end());
    options.insert(options.end(), {"--cron", "@monthly", "--", "sh", "-c", write_diary()});
    return line("schedule", options);
  }

  std::string write_diary() const {
    return "echo $SIMBA_RUN_NUMBER $SIMBA_ATTEMPT $SIMBA_SLOT >>" + diary.string();
  }

  struct Entry {
    int number = 0;
    int attempt = 0;
    std::string slot;
  };

  std::vector<Entry> entries() const {
    std::vector<Entry> all;
    std::istringstream lines{support::content_of(diary)};
    for (Entry entry; lines >> entry.number >> entry.attempt >> entry.slot;) all.push_back(entry);
    return all;
  }

  /// E.g. of "2026-11-20T03:00:00.250Z".
  static std::chrono::milliseconds time_of(const std::string& slot) {
    std::tm date{};
    std::istringstream text{slot};
    text >> std::get_time(&date, "%Y-%m-%dT%H:%M:%S");
    double rest = 0;
    if (text.peek() == '.') text >> rest;
    return std::chrono::seconds{timegm(&date)} +
           std::chrono::round<std::chrono::milliseconds>(std::chrono::duration<double>{rest});
  }

  bool has_entries(std::size_t count) const {
    return eventually([&] { return entries().size() >= count; });
  }

  std::vector<nlohmann::json> objects() const {
    CliProgram program{line("runs", {"--json"})};
    EXPECT_EQ(program.wait(), 0) << program.err();
    std::vector<nlohmann::json> objects;
    std::istringstream lines{program.out()};
    for (std::string text; std::getline(lines, text);) {
      objects.push_back(nlohmann::json::parse(text));
    }
    return objects;
  }

  /// Of the last run that has ended; 0: none has, or one is under way.
  int last_ended() const {
    const auto all = objects();
    if (all.size() < 2 || all.back().at("ended").is_null()) return 0;
    return all.back().at("number").get<int>();
  }

  int steer(const std::string& action) const { return CliProgram{steering(action)}.wait(); }

  Words steering(const std::string& action) const {
    return {"schedule", action, "-b", "sqlite:" + database.string(), "-m", "m"};
  }

  const std::filesystem::path diary = folder.path() / "diary";
};

TEST_F(CliScheduleSlots, ALeaderThatIsKilledBetweenRunsCostsNoSlotAndRepeatsNone) {
  const Words options{"--promise", "at-least-once", "--missed", "all"};
  std::size_t seen = 0;
  for (int leader = 0; leader < 2; ++leader) {
    CliProgram program{every("1s", write_diary(), options)};
    ASSERT_TRUE(has_entries(seen + 2)) << program.err();
    // One that is killed in a run is repeated after a while; that would take long.
    ASSERT_TRUE(eventually([&] { return last_ended() > 0; }));
    program.signal(SIGKILL);
    program.wait();
    seen = entries().size();
  }
  CliProgram last{every("1s", write_diary(), options)};
  ASSERT_TRUE(has_entries(seen + 2)) << last.err();
  last.signal(SIGTERM);
  EXPECT_EQ(last.wait(), 0) << last.err();
  std::map<int, Entry> runs;
  for (const Entry& entry : entries()) {
    const auto [at, is_new] = runs.emplace(entry.number, entry);
    if (is_new) continue;
    EXPECT_EQ(at->second.slot, entry.slot) << "all attempts are of one slot";
    EXPECT_GT(entry.attempt, 1) << support::safety_violation << "a slot was begun twice";
  }
  EXPECT_EQ(runs.begin()->first, 1);
  EXPECT_EQ(runs.rbegin()->first, static_cast<int>(runs.size())) << "each number has run";
  std::vector<std::string> slots;
  for (const auto& [number, entry] : runs) slots.push_back(entry.slot);
  EXPECT_TRUE(std::is_sorted(slots.begin(), slots.end())) << testing::PrintToString(slots);
  EXPECT_EQ(std::adjacent_find(slots.begin(), slots.end()), slots.end())
      << support::safety_violation << "a slot has two numbers: " << testing::PrintToString(slots);
  for (std::size_t i = 1; i < slots.size(); ++i) {
    EXPECT_EQ(time_of(slots[i]) - time_of(slots[i - 1]), std::chrono::seconds{1})
        << "a slot was left out: " << testing::PrintToString(slots);
  }
}

TEST_F(CliScheduleSlots, ALeaderThatIsKilledInARunLosesItAndTheNextOneSaysSo) {
  CliProgram first{every("100ms", "echo cmd $$; while :; do sleep 0.01; done", {"--id", "first"})};
  first.number("cmd");
  first.signal(SIGKILL);
  CliProgram second{every("100ms", write_diary(), {"--json"})};
  ASSERT_TRUE(second.notes("\"event\":\"lost\"")) << second.err();
  ASSERT_TRUE(has_entries(1));
  for (const Entry& entry : entries()) {
    EXPECT_GT(entry.number, 1) << support::safety_violation << "a slot was begun twice";
  }
  const auto all = objects();
  ASSERT_GE(all.size(), 2U);
  EXPECT_EQ(all[1].at("outcome"), "lost");
  EXPECT_EQ(all[1].at("contender_id"), "first");
}

TEST_F(CliScheduleSlots, AHostThatIsToldToEndLeavesTheNextSlotToAnother) {
  CliProgram first{every("1h", write_diary())};
  ASSERT_TRUE(has_entries(1));
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 0) << first.err();
  CliProgram second{every("1h", write_diary(), {"--json"})};
  ASSERT_TRUE(second.notes("leading"));
  EXPECT_EQ(steer("trigger"), 0);  // what it does first is not a slot that was done
  ASSERT_TRUE(has_entries(2));
  EXPECT_EQ(entries()[1].number, 2);
  EXPECT_EQ(entries().size(), 2U);
}

TEST_F(CliScheduleSlots, AHostThatDoesNotLeadIsToldThatItsDefinitionDiffers) {
  CliProgram leader{every("1h", write_diary(), {"--history", "5", "--jitter", "1ms"})};
  ASSERT_TRUE(has_entries(1)) << leader.err();
  CliProgram other{every("1h", write_diary())};
  EXPECT_TRUE(
      other.notes("schedule \"m\" is \"every 3600s, jitter 0.001s\" on the host that leads, "
                  "and \"every 3600s\" here; make it the same on all hosts"))
      << other.err();
  CliProgram alone{every("1h", write_diary(), {"--per-leader"})};
  EXPECT_TRUE(alone.notes("but none here (--per-leader), so starts may be repeated"))
      << alone.err();
  CliProgram same{every("1h", write_diary(), {"--jitter", "1ms"})};
  CliProgram last{every("2h", write_diary())};
  EXPECT_TRUE(last.notes("and \"every 7200s\" here")) << last.err();
  EXPECT_THAT(same.err(), testing::Not(HasSubstr("on all hosts")));
}

TEST_F(CliScheduleSlots, IsPausedTriggeredAndResumedFromElsewhere) {
  CliProgram program{every("100ms", "true")};
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(database) && last_ended() >= 2; }))
      << program.err();
  CliProgram pause{steering("pause")};
  EXPECT_EQ(pause.wait(), 0) << pause.err();
  EXPECT_EQ(pause.out(), "paused \"m\": no slot begins until it is resumed\n");
  ASSERT_TRUE(eventually([&] { return last_ended() > 0; }));
  const int paused_at = last_ended();
  EXPECT_TRUE(objects()[0].at("paused"));
  CliProgram again{steering("pause")};
  EXPECT_EQ(again.wait(), 0);
  EXPECT_EQ(again.out(), "\"m\" was paused already\n");

  EXPECT_EQ(steer("trigger"), 0);
  ASSERT_TRUE(eventually([&] { return last_ended() > paused_at; })) << program.err();
  EXPECT_EQ(last_ended(), paused_at + 1) << "only what was triggered runs";

  CliProgram resume{steering("resume")};
  EXPECT_EQ(resume.wait(), 0);
  EXPECT_EQ(resume.out(), "resumed \"m\"\n");
  EXPECT_TRUE(eventually([&] { return last_ended() > paused_at + 2; })) << program.err();
}

TEST_F(CliScheduleSlots, WhatIsNotRegisteredCannotBeSteered) {
  EXPECT_EQ(CliProgram{script("true")}.wait(), 0);
  for (const std::string action : {"pause", "resume", "trigger"}) {
    CliProgram program{steering(action)};
    EXPECT_EQ(program.wait(), 78);
    EXPECT_THAT(program.err(), HasSubstr("no schedule is registered as [m]"));
  }
}

TEST_F(CliScheduleSlots, AFailureAndItsOutputAreInTheHistory) {
  CliProgram program{every("1h", "echo why; exit 3", {"--keep-output", "--id", "ann"})};
  ASSERT_TRUE(program.notes("failed; it will not be repeated: exited with code 3\n"))
      << program.err();
  EXPECT_EQ(program.out(), "why\n");
  ASSERT_TRUE(eventually([&] { return last_ended() == 1; }));
  const auto all = objects();
  EXPECT_EQ(all[0].at("definition"), "every 3600s");
  EXPECT_FALSE(all[0].at("next_slot").is_null());
  EXPECT_EQ(all[1].at("outcome"), "failed");
  EXPECT_EQ(all[1].at("exit_code"), 3);
  EXPECT_EQ(all[1].at("contender_id"), "ann");
  EXPECT_EQ(all[1].at("output"), "why\n");
  CliProgram table{line("runs", {})};
  EXPECT_EQ(table.wait(), 0);
  EXPECT_THAT(table.out(), testing::StartsWith("every 3600s; last slot 20"));
}

TEST_F(CliScheduleSlots, ALaterSlotCancelsARunThatIsStillGoing) {
  CliProgram program{every("300ms",
                           "trap 'echo told; exit 0' TERM; echo run; while :; do sleep 0.01; done",
                           {"--while-busy", "cancel-running"})};
  EXPECT_TRUE(program.says("run\ntold\nrun\n")) << program.err();
  EXPECT_TRUE(program.notes("a later slot has come; CMD was terminated (--while-busy)"));
  EXPECT_EQ(objects().at(1).at("message"), "told to end: a later slot had come (--while-busy)");
}

TEST_F(CliScheduleSlots, ARunThatEndsWithItsHostIsRecordedAsToldToEnd) {
  CliProgram program{every("1h", "echo run; while :; do sleep 0.01; done")};
  ASSERT_TRUE(program.says("run\n")) << program.err();
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 0) << program.err();
  const auto run = objects().at(1);
  EXPECT_EQ(run.at("outcome"), "cancelled");
  EXPECT_EQ(run.at("message"), "told to end");
}

TEST_F(CliScheduleSlots, ARunThatEndsWellHasExitCodeZeroInTheHistory) {
  CliProgram program{every("1h", "true")};
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(database) && last_ended() == 1; }))
      << program.err();
  EXPECT_EQ(objects().at(1).at("exit_code"), 0);
  CliProgram table{line("runs", {})};
  EXPECT_EQ(table.wait(), 0);
  EXPECT_THAT(table.out(), testing::ContainsRegex("succeeded +0 "));
}

TEST_F(CliScheduleSlots, WhoTriggersWhatIsTriggeredAlreadyIsTold) {
  CliProgram program{every("1h", "true")};
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(database) && last_ended() == 1; }))
      << program.err();
  program.signal(SIGTERM);  // so that nobody is there to run it
  EXPECT_EQ(program.wait(), 0) << program.err();
  CliProgram first{steering("trigger")};
  EXPECT_EQ(first.wait(), 0) << first.err();
  EXPECT_THAT(first.out(), testing::StartsWith("triggered \"m\": it runs within 10 s"));
  CliProgram second{steering("trigger")};
  EXPECT_EQ(second.wait(), 0) << second.err();
  EXPECT_EQ(second.out(), "\"m\" was triggered already, and that run has not begun yet\n");
}

TEST_F(CliScheduleSlots, AFailedSlotIsRepeatedUntilItEndsWell) {
  CliProgram program{
      every("1h", write_diary() + "; test $SIMBA_ATTEMPT = 3",
            {"--promise", "at-least-once", "--max-attempts", "5", "--retry-pause", "10ms"})};
  ASSERT_TRUE(has_entries(3));
  ASSERT_TRUE(eventually([&] { return last_ended() == 1; }));
  const auto runs = entries();
  EXPECT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].slot, runs[2].slot);
  EXPECT_EQ(runs[2].number, 1);
  EXPECT_EQ(runs[2].attempt, 3);
}

TEST_F(CliScheduleSlots, SlotsOfThePastHappenAtTheFirstStartIfThatIsWanted) {
  CliProgram program{every_month({"--backfill", "2400h", "--missed", "all"})};
  ASSERT_TRUE(has_entries(3));
  EXPECT_EQ(entries()[2].number, 3);
  EXPECT_LT(entries()[0].slot, entries()[2].slot);
}

TEST_F(CliScheduleSlots, MissedSlotsAndThoseThatAreTooLateDoNotHappenIfThatIsWanted) {
  for (const Words& options : {Words{"--missed", "skip"}, {"--start-within", "1ms"}}) {
    CliProgram program{every_month({"--backfill", "2400h", "--json"}, options)};
    EXPECT_TRUE(program.notes("\"event\":\"missed\"")) << program.err();
    program.signal(SIGTERM);
    EXPECT_EQ(program.wait(), 0);
    EXPECT_TRUE(entries().empty()) << testing::PrintToString(options);
    std::filesystem::remove(database);
  }
}

TEST_F(CliScheduleSlots, JitterIsPartOfTheDefinition) {
  CliProgram program{every("1h", write_diary(), {"--jitter", "20ms"})};
  ASSERT_TRUE(has_entries(1));
  EXPECT_EQ(objects().at(0).at("definition"), "every 3600s, jitter 0.02s");
}

TEST_F(CliScheduleSlots, OnlySoManyRunsAreInTheHistory) {
  CliProgram program{every("50ms", write_diary(), {"--history", "2"})};
  ASSERT_TRUE(has_entries(6));
  EXPECT_LE(objects().size(), 4U) << "the schedule, two runs, and perhaps one that is under way";
}

TEST_F(CliScheduleSlots, AnotherDefinitionIsReported) {
  CliProgram first{every("1h", write_diary())};
  ASSERT_TRUE(has_entries(1));
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 0);
  CliProgram second{every("2h", write_diary(), {"--json"})};
  EXPECT_TRUE(second.notes("\"event\":\"definition_changed\"")) << second.err();
}

TEST_F(CliScheduleSlots, AKeyDoesNotRunUnderTheMutexOfASchedule) {
  CliProgram schedule{every("1h", write_diary())};
  ASSERT_TRUE(has_entries(1));
  schedule.signal(SIGTERM);
  EXPECT_EQ(schedule.wait(), 0);
  CliProgram program{script("echo run", {"--slot", "a"})};
  EXPECT_EQ(program.wait(), 78) << program.err();
  EXPECT_EQ(program.out(), "");
  EXPECT_THAT(program.err(), HasSubstr("mutex [m] belongs to a schedule (every 3600s)"));
}

}  // namespace
}  // namespace simba
