// simba run --slot and --once-per: a key that happens once, whichever host comes first; and what
// simba runs shows of it.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/cli/fixture.hpp"
#include "simba/core/mutex_records.hpp"
#include "simba/sqlite/sqlite_factory.hpp"
#include "support/safety.hpp"

namespace simba {
namespace {

using support::CliProgram;
using testing::HasSubstr;

struct CliSlot : support::CliTest {
  /// `simba run --slot a` of a script of the shell.
  Words once(const std::string& text, Words options = {}) const {
    options.insert(options.begin(), {"--slot", "a"});
    return script(text, options);
  }

  std::string write_diary() const { return "echo run >>" + diary.string(); }

  long lines_in_diary() const {
    const std::string text = support::content_of(diary);
    return std::count(text.begin(), text.end(), '\n');
  }

  std::vector<nlohmann::json> runs() const {
    CliProgram program{line("runs", {"--json"})};
    EXPECT_EQ(program.wait(), 0) << program.err();
    std::vector<nlohmann::json> objects;
    std::istringstream lines{program.out()};
    for (std::string text; std::getline(lines, text);)
      objects.push_back(nlohmann::json::parse(text));
    return objects;
  }

  const std::filesystem::path diary = folder.path() / "diary";
  const std::string forever = "echo cmd $$; while :; do sleep 0.01; done";
  const Words repeated{"--promise", "at-least-once"};
};

TEST_F(CliSlot, CronOnThreeHostsRunsItOnce) {
  std::vector<std::unique_ptr<CliProgram>> hosts;
  for (int i = 0; i < 3; ++i) hosts.push_back(std::make_unique<CliProgram>(once(write_diary())));
  int notes = 0;
  for (const auto& host : hosts) {
    EXPECT_EQ(host->wait(), 0) << host->err();
    if (host->err().find("nothing to do") != std::string::npos) ++notes;
  }
  EXPECT_EQ(lines_in_diary(), 1) << support::safety_violation << "a key was begun twice";
  EXPECT_EQ(notes, 2);
}

TEST_F(CliSlot, AHostThatComesWhenAShortJobIsOverDoesNotRunItAgain) {
  CliProgram first{once(write_diary(), {"--id", "first", "--timeout", "0"})};
  ASSERT_EQ(first.wait(), 0) << first.err();
  EXPECT_EQ(first.err(), "");
  CliProgram second{once(write_diary(), {"--timeout", "0"})};
  EXPECT_EQ(second.wait(), 0) << second.err();
  EXPECT_EQ(lines_in_diary(), 1);
  EXPECT_THAT(second.err(), testing::MatchesRegex("simba: slot \"a\" of \"m\" was run by first at "
                                                  "[-0-9]+ [:0-9]+; nothing to do\n"));
}

TEST_F(CliSlot, AnotherKeyIsAnotherRun) {
  EXPECT_EQ(CliProgram{once(write_diary())}.wait(), 0);
  EXPECT_EQ(CliProgram{script(write_diary(), {"--slot", "b"})}.wait(), 0);
  EXPECT_EQ(lines_in_diary(), 2);
}

TEST_F(CliSlot, OncePerIsAKeyThatHostsAgreeOn) {
  const Words options{"--once-per", "8784h", "--zone", "Europe/Berlin"};
  CliProgram first{script("echo $SIMBA_SLOT", options)};
  EXPECT_EQ(first.wait(), 0) << first.err();
  EXPECT_THAT(first.out(), testing::MatchesRegex("20[-0-9]+T00:00:00[+]0[12]:00\n"));
  CliProgram second{script("echo $SIMBA_SLOT", options)};
  EXPECT_EQ(second.wait(), 0) << second.err();
  EXPECT_EQ(second.out(), "");
}

TEST_F(CliSlot, TheCommandIsToldItsKeyItsNumberAndItsAttempt) {
  const std::string print = "echo $SIMBA_SLOT $SIMBA_RUN_NUMBER $SIMBA_ATTEMPT; exit 3";
  CliProgram first{once(print, repeated)};
  EXPECT_EQ(first.wait(), 3);
  EXPECT_EQ(first.out(), "a 1 1\n");
  CliProgram second{once(print, repeated)};
  EXPECT_EQ(second.wait(), 3);
  EXPECT_EQ(second.out(), "a 1 2\n");
  CliProgram third{script(print, {"--slot", "b"})};
  EXPECT_EQ(third.wait(), 3);
  EXPECT_EQ(third.out(), "b 2 1\n");
}

TEST_F(CliSlot, AHolderThatIsKilledIsTakenOverWhereThatWasPromised) {
  CliProgram first{once(forever, repeated)};
  const pid_t command = first.number("cmd");
  CliProgram second{once("echo attempt $SIMBA_ATTEMPT", repeated)};
  first.signal(SIGKILL);
  EXPECT_EQ(second.wait(), 0) << second.err();
  EXPECT_EQ(second.out(), "attempt 2\n");
  EXPECT_FALSE(support::is_alive(command));
}

TEST_F(CliSlot, AHolderThatIsKilledIsReportedAndNotRepeatedUnlessThatWasPromised) {
  CliProgram first{once(forever, {"--id", "first"})};
  first.number("cmd");
  first.signal(SIGKILL);
  CliProgram second{once("echo again")};
  EXPECT_EQ(second.wait(), 81);
  EXPECT_EQ(second.out(), "") << support::safety_violation << "a key was begun twice";
  EXPECT_THAT(second.err(),
              HasSubstr("slot \"a\" of \"m\" was lost: no outcome is recorded of the run "
                        "begun by first at "));
  EXPECT_THAT(second.err(), HasSubstr("; not repeated: it runs at most once (--promise)"));
}

TEST_F(CliSlot, AFailureIsRepeatedUpToTheAttemptsThatWereAsked) {
  const Words twice{"--promise", "at-least-once", "--max-attempts", "2"};
  EXPECT_EQ(CliProgram{once("exit 3", twice)}.wait(), 3);
  EXPECT_EQ(CliProgram{once("exit 4", twice)}.wait(), 4);
  CliProgram third{once("echo again", twice)};
  EXPECT_EQ(third.wait(), 81);
  EXPECT_THAT(third.err(), HasSubstr("failed with exit code 4; it was run by "));
  EXPECT_THAT(third.err(), HasSubstr("; not repeated after attempt 2 (--max-attempts)"));
}

TEST_F(CliSlot, AHostMayWaitForTheRunOfAnotherOrLeaveItAlone) {
  CliProgram first{once(
      "echo cmd $$; while ! test -e " + (folder.path() / "go").string() + "; do sleep 0.01; done",
      {"--id", "first"})};
  first.number("cmd");
  CliProgram leaves{once("echo again", {"--if-running", "exit"})};
  EXPECT_EQ(leaves.wait(), 0) << leaves.err();
  EXPECT_THAT(leaves.err(), HasSubstr("was begun by first at "));
  EXPECT_THAT(leaves.err(), HasSubstr(" and is still running; nothing to do"));
  CliProgram other{script("echo b", {"--slot", "b", "--if-running", "exit", "--timeout", "0"})};
  EXPECT_EQ(other.wait(), 75) << "another key is no reason to leave";
  CliProgram waits{once("echo again", {"--json"})};
  ASSERT_TRUE(waits.notes("waiting"));
  std::ofstream{folder.path() / "go"};
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(waits.wait(), 0) << waits.err();
  EXPECT_EQ(waits.out() + leaves.out(), "");
}

TEST_F(CliSlot, ARunThatIsToldToEndIsNotTakenForDone) {
  CliProgram first{once("trap 'exit 0' TERM; " + forever)};
  first.number("cmd");
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 0);
  ASSERT_EQ(runs().size(), 1U);
  EXPECT_EQ(runs()[0].at("outcome"), "cancelled");
  CliProgram second{once("echo again", repeated)};
  EXPECT_EQ(second.wait(), 0) << second.err();
  EXPECT_EQ(second.out(), "again\n");
}

TEST_F(CliSlot, ACommandThatCannotBeExecutedLeavesItsKeyToAHostThatCan) {
  CliProgram first{line("run", {"--slot", "a", "--", "/no/such/program"})};
  EXPECT_EQ(first.wait(), 127);
  EXPECT_TRUE(runs().empty());
  CliProgram second{once("echo $SIMBA_ATTEMPT")};
  EXPECT_EQ(second.wait(), 0) << second.err();
  EXPECT_EQ(second.out(), "1\n");
}

TEST_F(CliSlot, ARunWhoseMutexIsLostIsRecordedByTheNextOneAsLost) {
  CliProgram first{once(forever, with_short_lease({"--id", "first"}))};
  first.number("cmd");
  evict();
  EXPECT_EQ(first.wait(), 76) << first.err();
  EXPECT_EQ(CliProgram{once("echo again")}.wait(), 81);
  ASSERT_EQ(runs().size(), 1U);
  EXPECT_EQ(runs()[0].at("outcome"), "lost");
}

TEST_F(CliSlot, ARecordOfANewerVersionIsLeftAlone) {
  constexpr auto text = R"({"format":1000,"news":true})";
  const auto records = sqlite::make_sqlite_factory({.path = database})->records();
  ASSERT_TRUE(records);
  std::promise<RecordResult> written;
  records->write({.mutex = "m", .text = text, .replaces = 0, .owner = {}, .not_before = {}},
                 [&](RecordResult result) { written.set_value(std::move(result)); });
  ASSERT_TRUE(std::holds_alternative<RecordAnswer>(written.get_future().get()));
  for (const Words& words : {once("echo run"), line("runs", {})}) {
    CliProgram program{words};
    EXPECT_EQ(program.wait(), 78) << program.err();
    EXPECT_EQ(program.out(), "");
    EXPECT_THAT(program.err(), HasSubstr("was written by a newer version of Simba (format 1000"));
  }
  EXPECT_EQ(owner(), "");
  std::promise<RecordResult> found;
  records->read("m", [&](RecordResult result) { found.set_value(std::move(result)); });
  EXPECT_EQ(std::get<RecordAnswer>(found.get_future().get()).record.text, text);
}

TEST_F(CliSlot, HoldAtLeastKeepsTheMutexFromThoseThatComeALittleLater) {
  CliProgram first{script("echo done", {"--json", "--hold-at-least", "60s"})};
  ASSERT_TRUE(first.notes("\"event\":\"ended\""));
  EXPECT_EQ(CliProgram{script("echo again", {"--timeout", "0"})}.wait(), 75);
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 0) << first.err();
  CliProgram next{script("echo again", {"--timeout", "0"})};
  EXPECT_EQ(next.wait(), 0) << next.err();
}

TEST_F(CliSlot, HoldAtLeastEndsWithTheMutex) {
  CliProgram first{script("exit 3", with_short_lease({"--json", "--hold-at-least", "1h"}))};
  ASSERT_TRUE(first.notes("\"event\":\"ended\""));
  evict();
  EXPECT_EQ(first.wait(), 3) << first.err();
}

TEST_F(CliSlot, TheEndOfTheOutputOfAFailedRunIsKeptIfThatIsWanted) {
  // More than a pipe takes.
  const std::string text = "yes 0123456789 | head -n 20000; echo last; echo wrong >&2; exit ";
  CliProgram failed{once(text + "3", {"--keep-output"})};
  EXPECT_EQ(failed.wait(), 3);
  EXPECT_EQ(failed.out().size(), 20'000U * 11 + 5);
  EXPECT_EQ(failed.err(), "wrong\n");
  EXPECT_EQ(CliProgram{script(text + "0", {"--slot", "b", "--keep-output"})}.wait(), 0);
  EXPECT_EQ(CliProgram{script("echo private; exit 3", {"--slot", "c"})}.wait(), 3);
  const auto objects = runs();
  ASSERT_EQ(objects.size(), 3U);
  const std::string kept = objects[0].at("output");
  EXPECT_LE(kept.size(), 2'000U);
  EXPECT_GT(kept.size(), 1'900U);
  EXPECT_THAT(kept, HasSubstr("9\nlast\n"));
  EXPECT_THAT(kept, HasSubstr("wrong\n"));
  EXPECT_FALSE(objects[1].contains("output"));
  EXPECT_FALSE(objects[2].contains("output"));
}

TEST_F(CliSlot, ACommandWhoseOutputIsKeptHearsThatNobodyReadsItAnyMore) {
  std::string command = SIMBA_TEST_COMMAND;
  for (const std::string& word : line("run", {"--slot", "a", "--keep-output", "--", "yes"})) {
    command += " " + word;
  }
  CliProgram program{CliProgram::Any::program, "sh", {"-c", command + " | head -n 1"}};
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(program.out(), "y\n");
  ASSERT_EQ(runs().size(), 1U);
  EXPECT_EQ(runs()[0].at("exit_code"), 128 + SIGPIPE);
}

TEST_F(CliSlot, RunsShowsWhenWhereAndHow) {
  CliProgram none{line("runs", {})};
  EXPECT_EQ(none.wait(), 78) << "there is no such file yet";
  EXPECT_EQ(CliProgram{once("exit 3", {"--id", "ann"})}.wait(), 3);
  EXPECT_EQ(CliProgram{script("true", {"--slot", "b", "--id", "bob"})}.wait(), 0);
  const auto objects = runs();
  ASSERT_EQ(objects.size(), 2U);
  EXPECT_EQ(objects[0].at("slot"), "a");
  EXPECT_EQ(objects[0].at("contender_id"), "ann");
  EXPECT_EQ(objects[0].at("outcome"), "failed");
  EXPECT_EQ(objects[0].at("exit_code"), 3);
  EXPECT_EQ(objects[0].at("message"), "exited with code 3");
  EXPECT_GE(objects[0].at("duration_ms"), 0);
  EXPECT_EQ(objects[1].at("number"), 2);
  EXPECT_EQ(objects[1].at("outcome"), "succeeded");
  CliProgram table{line("runs", {})};
  EXPECT_EQ(table.wait(), 0);
  EXPECT_THAT(table.out(), testing::StartsWith("BEGUN "));
  EXPECT_THAT(table.out(),
              testing::ContainsRegex(" a +1 +1 +failed +3 .* ann +exited with code 3"));
  EXPECT_THAT(table.out(), testing::ContainsRegex(" b +2 +1 +succeeded +0 .* bob +-\n"));
  CliProgram empty{{"runs", "-b", "sqlite:" + database.string(), "-m", "other"}};
  EXPECT_EQ(empty.wait(), 0);
  EXPECT_EQ(empty.err(), "simba: no runs of \"other\" yet\n");
}

}  // namespace
}  // namespace simba
