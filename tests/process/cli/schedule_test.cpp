// simba schedule: a command that only the leader runs, again and again.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <sstream>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/cli/fixture.hpp"
#include "support/location.hpp"
#include "support/safety.hpp"

namespace simba {
namespace {

using support::CliProgram;
using support::eventually;
using testing::HasSubstr;

struct CliSchedule : support::CliTest {
  Words schedule(const std::string& text, Words options = {}) const {
    options.insert(options.end(), {"--every", "10ms", "--", "sh", "-c", text});
    return line("schedule", options);
  }

  /// A lease that is over after 6 s: a machine that is busy does not lose it so soon.
  static Words with_lease(Words options) {
    options.insert(options.end(), {"--ttl", "4s", "--transition", "2s"});
    return options;
  }

  static bool has_run(const CliProgram& program, long times) {
    return eventually([&] {
      const std::string text = program.out();
      return std::count(text.begin(), text.end(), '\n') >= times;
    });
  }
};

TEST_F(CliSchedule, RunsItsCommandUntilItIsToldToEnd) {
  for (const Words& options : {Words{}, Words{"--per-leader"}, Words{"--per-leader", "--rate"}}) {
    CliProgram program{schedule("echo $SIMBA_MUTEX $SIMBA_FENCING_TOKEN", options)};
    EXPECT_TRUE(has_run(program, 3));
    program.signal(SIGTERM);
    EXPECT_EQ(program.wait(), 0) << program.err();
    EXPECT_THAT(program.out(), testing::StartsWith("m "));
    EXPECT_EQ(program.err(), "");
    EXPECT_EQ(owner(), "");
  }
}

TEST_F(CliSchedule, ShowsItsNextStartsAndNeedsNoStoreForThat) {
  CliProgram program{
      {"schedule", "--cron", "30 3 * * mon", "--zone", "Asia/Kathmandu", "--dry-run"}};
  EXPECT_EQ(program.wait(), 0) << program.err();
  const std::string starts = program.out();
  EXPECT_EQ(std::count(starts.begin(), starts.end(), '\n'), 10) << starts;
  EXPECT_THAT(starts, testing::ContainsRegex("^20[0-9-]+T03:30:00\\+05:45\n"));
}

TEST_F(CliSchedule, WaitsForTheTimeOfItsExpression) {
  // Once in four years, on a day that is far away: it leads, and does not run.
  CliProgram program{
      line("schedule", {"--json", "--cron", "0 0 29 2 *", "--", "sh", "-c", "echo run"})};
  ASSERT_TRUE(program.notes("leading"));
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 0) << program.err();
  EXPECT_EQ(program.out(), "");
}

TEST_F(CliSchedule, TheFirstRunOfALeaderWaitsForTheInitialDelay) {
  const auto begun = support::now();
  CliProgram program{schedule("echo run", {"--per-leader", "--initial-delay", "1500ms"})};
  EXPECT_TRUE(has_run(program, 1));
  EXPECT_GE(support::now() - begun, std::chrono::milliseconds{1500});
}

TEST_F(CliSchedule, ThePeriodIsFromEndToStartOrWithRateFromStartToStart) {
  // Seconds since the boot, in hundredths.
  const Words command{"--every", "400ms", "--",
                      "sh",      "-c",    "cut -d ' ' -f 1 /proc/uptime; sleep 0.3"};
  const auto shortest_gap = [](const std::string& starts) {
    std::istringstream lines{starts};
    double shortest = 1e9;
    double before = -1e9;
    for (double start = 0; lines >> start; before = start) {
      shortest = std::min(shortest, start - before);
    }
    return shortest;
  };
  for (const bool rate : {false, true}) {
    Words options{"--per-leader"};
    if (rate) options.emplace_back("--rate");
    options.insert(options.end(), command.begin(), command.end());
    CliProgram program{line("schedule", options)};
    if (rate) {
      EXPECT_TRUE(eventually([&] { return shortest_gap(program.out()) < 0.6; })) << program.out();
    } else {
      EXPECT_TRUE(has_run(program, 4));
      EXPECT_GT(shortest_gap(program.out()), 0.65) << program.out();
    }
  }
}

TEST_F(CliSchedule, AnotherTakesOverWhenTheLeaderEnds) {
  CliProgram first{schedule("echo run", {"--id", "first"})};
  ASSERT_TRUE(has_run(first, 1));
  CliProgram second{schedule("echo run", {"--id", "second", "--json"})};
  ASSERT_TRUE(second.notes("following"));
  EXPECT_EQ(second.out(), "");
  first.signal(SIGINT);
  EXPECT_EQ(first.wait(), 0);
  EXPECT_TRUE(has_run(second, 1));
  EXPECT_TRUE(second.notes("leading"));
}

TEST_F(CliSchedule, AnotherTakesOverWhenTheLeaderIsKilledAndItsCommandIsGone) {
  CliProgram first{schedule("trap '' TERM; echo cmd $$; while :; do sleep 0.01; done")};
  const pid_t command = first.number("cmd");
  ASSERT_GT(command, 0);
  CliProgram second{
      schedule("test -d /proc/" + std::to_string(command) + " && echo there || echo gone")};
  first.signal(SIGKILL);
  ASSERT_TRUE(has_run(second, 1));
  EXPECT_THAT(second.out(), testing::StartsWith("gone\n"))
      << (second.out().starts_with("there") ? support::safety_violation : "")
      << "CMD beside the next owner";
}

TEST_F(CliSchedule, GoesOnWhenTheCommandFails) {
  for (const Words& options : {Words{}, Words{"--per-leader"}}) {
    CliProgram program{schedule("echo run; exit 3", options)};
    EXPECT_TRUE(has_run(program, 3));
    EXPECT_TRUE(program.notes(options.empty() ? ": exited with code 3\n"
                                              : "simba: CMD exited with code 3\n"))
        << program.err();
    program.signal(SIGTERM);
    EXPECT_EQ(program.wait(), 0);
  }
}

TEST_F(CliSchedule, GoesOnWhenTheCommandCannotBeRun) {
  for (Words options : {Words{}, Words{"--per-leader"}}) {
    options.insert(options.end(), {"--every", "10ms", "--", "/no/such/program"});
    CliProgram program{line("schedule", options)};
    EXPECT_TRUE(program.notes("No such file or directory\nsimba: "));
    program.signal(SIGTERM);
    EXPECT_EQ(program.wait(), 0);
  }
}

TEST_F(CliSchedule, LetsTheCommandTidyUpBeforeItEnds) {
  CliProgram program{
      schedule("trap 'sleep 0.5; echo tidy; exit 0' TERM; echo ready; "
               "while :; do sleep 0.01; done")};
  ASSERT_TRUE(program.says("ready"));
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(program.out(), "ready\ntidy\n");
  EXPECT_EQ(owner(), "");
}

TEST_F(CliSchedule, TheCommandMayTakeLongerThanTheLeaseToTidyUpAndNobodyElseRunsItMeanwhile) {
  const std::string diary = (folder.path() / "diary").string();
  CliProgram first{schedule("trap 'sleep 5; echo tidy >>" + diary +
                                "; exit' TERM; echo cmd $$; while :; do sleep 0.01; done",
                            with_short_lease())};
  ASSERT_GT(first.number("cmd"), 0);
  CliProgram second{schedule("echo next >>" + diary, with_short_lease())};
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 0) << first.err();
  ASSERT_TRUE(support::eventually(
      [&] { return support::content_of(diary).find("next") != std::string::npos; }));
  EXPECT_THAT(support::content_of(diary), testing::StartsWith("tidy\nnext\n"))
      << (HasFailure() ? "" : support::safety_violation)
      << "the next one ran before the last had ended; " << first.err();
}

TEST_F(CliSchedule, WhenTheCommandHasToBeKilledAnotherRunsItOnlyOnceTheLeaseHasRunOut) {
  CliProgram first{schedule("trap '' TERM; echo cmd $$; while :; do sleep 0.01; done",
                            with_lease({"--id", "first", "--drain", "100ms"}))};
  const pid_t command = first.number("cmd");
  CliProgram second{schedule("echo run", with_lease({"--json"}))};
  ASSERT_TRUE(second.notes("following"));
  first.signal(SIGTERM);
  ASSERT_TRUE(
      first.notes("simba: mutex \"m\" not released: CMD had not ended 100 ms after SIGTERM and was "
                  "killed; its lease expires in "))
      << first.err();
  EXPECT_FALSE(support::is_alive(command));
  EXPECT_EQ(owner(), "first");
  EXPECT_EQ(first.wait(), 79) << first.err();
  EXPECT_TRUE(has_run(second, 1));
}

TEST_F(CliSchedule, AKilledCommandIsToldAsAnObjectToo) {
  CliProgram program{schedule("trap '' TERM; echo cmd $$; while :; do sleep 0.01; done",
                              with_short_lease({"--json", "--drain", "100ms"}))};
  program.number("cmd");
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 79) << program.err();
  EXPECT_THAT(program.err(), HasSubstr("\"killed\":true"));
  EXPECT_THAT(program.err(), HasSubstr("\"event\":\"not_released\",\"mutex\":\"m\""));
}

TEST_F(CliSchedule, AMutexThatIsLostBeforeTheCommandHasEndedIsNoSuccess) {
  CliProgram program{
      schedule("trap '' TERM; echo cmd $$; while :; do sleep 0.01; done", with_short_lease())};
  const pid_t command = program.number("cmd");
  program.signal(SIGTERM);
  evict();
  EXPECT_EQ(program.wait(), 79) << program.err();
  EXPECT_FALSE(support::is_alive(command));
  EXPECT_THAT(program.err(), HasSubstr("mutex \"m\" lost: its lease expired before CMD"));
}

TEST_F(CliSchedule, AGuardianThatIsStoppedDoesNotSaveTheCommandFromALossWhileItEnds) {
  CliProgram program{
      schedule("trap '' TERM; echo cmd $$; while :; do sleep 0.01; done", with_short_lease())};
  const pid_t command = program.number("cmd");
  ::kill(support::children_of(program.process()).at(0), SIGSTOP);
  program.signal(SIGTERM);
  evict();
  EXPECT_EQ(program.wait(), 79) << program.err();
  EXPECT_FALSE(support::is_alive(command));
}

TEST_F(CliSchedule, AGuardianThatIsKilledWhileTheCommandEndsIsSaidToBeTheReason) {
  CliProgram program{schedule("trap 'echo told' TERM; echo cmd $$; while :; do sleep 0.01; done",
                              {"--drain", "60s"})};
  const pid_t command = program.number("cmd");
  program.signal(SIGTERM);
  ASSERT_TRUE(program.says("told"));
  ::kill(support::children_of(program.process()).at(0), SIGKILL);
  EXPECT_EQ(program.wait(), 79) << program.err();
  EXPECT_FALSE(support::is_alive(command));
  EXPECT_THAT(program.err(), HasSubstr("mutex \"m\" not released: CMD was killed because its "
                                       "guardian process was killed; its lease expires in "));
}

TEST_F(CliSchedule, AManagerThatSignalsAllOfItsProcessesEndsTheCommandWithOneSignal) {
  CliProgram program{schedule("trap 'echo term' TERM; echo cmd $$; while :; do sleep 0.01; done",
                              with_short_lease({"--drain", "1s"})),
                     {{"MANAGERPID", std::to_string(::getpid())}}};
  const pid_t command = program.number("cmd");
  const pid_t guardian = support::children_of(program.process()).at(0);
  ::kill(command, SIGTERM);
  ::kill(guardian, SIGTERM);
  ASSERT_TRUE(program.says("term"));
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 79) << program.err();  // CMD was killed, long after a second TERM
  EXPECT_EQ(program.out(), "cmd " + std::to_string(command) + "\nterm\n");
}

TEST_F(CliSchedule, EndsTheCommandWhenTheMutexIsLostAndContendsAgain) {
  CliProgram program{
      schedule("trap '' TERM; echo cmd $$; while :; do sleep 0.01; done", with_short_lease())};
  const pid_t command = program.number("cmd");
  evict();
  ASSERT_TRUE(program.notes("mutex lost; CMD was terminated"));
  EXPECT_FALSE(support::is_alive(command));
  EXPECT_TRUE(has_run(program, 2));
}

TEST_F(CliSchedule, EndsWhenTheStoreRefusesIt) {
  const auto location = support::redis_location();
  CliProgram program{{"schedule", "-b",
                      "redis://nobody:wr0ng@" + location.host + ":" + std::to_string(location.port),
                      "-m", "m", "--every", "1s", "--", "true"}};
  EXPECT_EQ(program.wait(), 77) << program.err();
}

/// A simba that may start processes of another user, but not signal them.
struct CliScheduleAndAnotherUser : CliSchedule {
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root may become another user";
  }
  ~CliScheduleAndAnotherUser() override {
    if (theirs > 0) ::kill(theirs, SIGKILL);
  }

  /// `text` runs the process of another user by `they`; it prints its number after "theirs".
  Words limited(const std::string& text, Words options) const {
    options = with_lease(options);
    options.insert(options.end(), {"--every", "1h", "--", "sh", "-c",
                                   "they() { exec setpriv --reuid=65534 --clear-groups sh -c "
                                   "'echo theirs $$; exec sleep 600'; }; " +
                                       text});
    Words words{"--bounding-set=-kill", "--inh-caps=-kill", SIMBA_TEST_COMMAND};
    for (const auto& word : line("schedule", options)) words.push_back(word);
    return words;
  }

  pid_t theirs = 0;
};

TEST_F(CliScheduleAndAnotherUser, WhatCannotBeKilledKeepsTheMutexFromBeingGivenBack) {
  CliProgram program{CliProgram::Any::program, "setpriv",
                     limited("they", {"--id", "first", "--drain", "100ms"})};
  theirs = program.number("theirs");
  program.signal(SIGTERM);
  ASSERT_TRUE(
      program.notes("mutex \"m\" not released: processes of CMD that belong to another "
                    "user are still running; its lease expires in "))
      << program.err();
  EXPECT_EQ(owner(), "first");
  EXPECT_EQ(program.wait(), 79) << program.err();
  EXPECT_TRUE(support::is_alive(theirs));
}

TEST_F(CliScheduleAndAnotherUser, WhatAnEarlierRunHasLeftKeepsItTooWhileItIsThere) {
  for (const bool ends : {false, true}) {
    CliProgram program{CliProgram::Any::program, "setpriv", limited("they &", {"--per-leader"})};
    theirs = program.number("theirs");
    ASSERT_TRUE(program.notes("CMD has processes that belong to another user"));
    if (ends) {
      ::kill(theirs, SIGKILL);
      ASSERT_TRUE(support::eventually([&] { return !support::is_alive(theirs); }));
    }
    program.signal(SIGTERM);
    EXPECT_EQ(program.wait(), ends ? 0 : 79) << program.err();
    ::kill(theirs, SIGKILL);
  }
}

}  // namespace
}  // namespace simba
