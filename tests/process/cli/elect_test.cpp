// simba elect: a candidate with hooks.
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/cli/fixture.hpp"
#include "support/safety.hpp"

namespace simba {
namespace {

using support::CliProgram;
using testing::HasSubstr;

struct CliElect : support::CliTest {
  /// Both hooks write to `diary`.
  Words candidate(const std::string& id, Words options = {}) const {
    const std::string write =
        "echo $SIMBA_EVENT $SIMBA_CONTENDER_ID $SIMBA_FENCING_TOKEN >>" + diary.string();
    options.insert(options.end(),
                   {"--id", id, "--on-acquired", write, "--on-released", "sleep 0.2; " + write});
    return line("elect", options);
  }

  /// Waits until a hook has written this. What the command prints comes before its hook runs.
  bool has_written(const std::string& text) const {
    return support::eventually(
        [&] { return support::content_of(diary).find(text) != std::string::npos; });
  }

  /// Whether it has been late with a renewal: then another may lead while its hook runs.
  static bool was_lost(const CliProgram& program) {
    return program.out().find("lost: mutex") != std::string::npos;
  }

  /// What a hook does to write to the diary.
  std::string write(const std::string& text) const {
    return "echo " + text + " >>" + diary.string();
  }

  /// Long enough for a hook to run.
  const std::string a_moment =
      std::to_string(support::scaled(std::chrono::milliseconds{2'000}).count()) + "ms";

  const std::filesystem::path diary = folder.path() / "diary";
};

TEST_F(CliElect, CallsItsHooksAndTheLastOneBeforeItGivesTheMutexBack) {
  CliProgram first{candidate("first")};
  ASSERT_TRUE(first.says("leading: mutex \"m\", fencing token 1"));
  ASSERT_TRUE(has_written("acquired first"));
  CliProgram second{candidate("second")};
  ASSERT_TRUE(second.says("following: mutex \"m\" is owned by first"));
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 0) << first.err();
  EXPECT_TRUE(first.says("released: mutex \"m\""));
  ASSERT_TRUE(has_written("acquired second"));
  second.signal(SIGTERM);
  EXPECT_EQ(second.wait(), 0) << second.err();
  EXPECT_THAT(support::content_of(diary),
              testing::MatchesRegex("acquired first 1\nreleased first 1\n"
                                    "acquired second [2-9]\nreleased second [2-9]\n"));
}

TEST_F(CliElect, PrintsChangesAsObjectsWhenAsked) {
  CliProgram program{line("elect", {"--json", "--id", "me"})};
  ASSERT_TRUE(program.says("acquired"));
  const auto object = nlohmann::json::parse(program.out());
  EXPECT_EQ(object["event"], "acquired");
  EXPECT_EQ(object["mutex"], "m");
  EXPECT_EQ(object["contender_id"], "me");
  EXPECT_EQ(object["fencing_token"], 1);
  program.signal(SIGINT);
  EXPECT_EQ(program.wait(), 0);
}

TEST_F(CliElect, TellsItsHookOfALossAndContendsAgain) {
  CliProgram program{candidate("me", with_short_lease())};
  ASSERT_TRUE(program.says("fencing token 1"));
  ASSERT_TRUE(has_written("acquired"));
  evict();
  ASSERT_TRUE(program.says("lost: mutex \"m\""));
  ASSERT_TRUE(program.says("lost: mutex \"m\"\nleading"));
  EXPECT_THAT(support::content_of(diary), testing::StartsWith("acquired me 1\nlost me 1\n"));
}

TEST_F(CliElect, TellsItsHookOfALossAlsoWhenItIsToldToEndAtTheSameTime) {
  CliProgram program{candidate("me", with_short_lease())};
  ASSERT_TRUE(program.says("fencing token 1"));
  ASSERT_TRUE(has_written("acquired"));
  program.signal(SIGSTOP);
  const auto over = support::now() + std::chrono::milliseconds{2'500};
  ASSERT_TRUE(support::eventually([&] { return support::now() > over; }));
  program.signal(SIGTERM);
  program.signal(SIGCONT);
  EXPECT_EQ(program.wait(), 0) << program.err();
  // It may have led again for a moment.
  EXPECT_THAT(support::content_of(diary),
              testing::MatchesRegex("acquired me 1\nlost me 1\n(acquired me [2-9]\n)?"
                                    "(released me [2-9]\n)?"))
      << program.err();
  EXPECT_EQ(program.err().find("before \"sh\" could be started"), std::string::npos);
}

TEST_F(CliElect, SaysThatItEndsWhatAHookLeavesBehind) {
  CliProgram program{line("elect", {"--on-acquired", "sleep 600 & echo left $!"})};
  const pid_t left = program.number("left");
  EXPECT_TRUE(program.notes("the \"acquired\" hook left processes running in its group"));
  EXPECT_FALSE(support::is_alive(left));
}

TEST_F(CliElect, ReapsWhatItsHooksHaveStartedAndKept) {
  CliProgram program{
      line("elect", {"--on-acquired", "setsid sh -c 'echo kept $$; sleep 0.2' & sleep 0.1"})};
  const pid_t kept = program.number("kept");
  EXPECT_TRUE(support::eventually([&] { return support::state_of(kept) == '\0'; }));
  EXPECT_TRUE(support::is_alive(program.process()));
}

TEST_F(CliElect, WhatOthersCallThemselvesDoesNotSteerTheTerminal) {
  CliProgram first{line("elect", {"--id", "\x1b[31mfirst"})};
  ASSERT_TRUE(first.says("leading"));
  CliProgram second{line("elect", {})};
  EXPECT_TRUE(second.says("following: mutex \"m\" is owned by \\x1b[31mfirst")) << second.out();
}

TEST_F(CliElect, AHookThatHangsIsEndedWhenTheMutexIsLost) {
  CliProgram program{line("elect", with_short_lease({"--on-acquired",
                                                     "trap '' TERM; echo hook $$; "
                                                     "while :; do sleep 0.01; done"}))};
  const pid_t hook = program.number("hook");
  ASSERT_GT(hook, 0);
  evict();
  ASSERT_TRUE(program.says("lost"));
  EXPECT_FALSE(support::is_alive(hook));
  EXPECT_THAT(program.err(), HasSubstr("the \"acquired\" hook took too long and was terminated"));
}

TEST_F(CliElect, TheLastHookMayTakeLongerThanTheLeaseAndNobodyLeadsMeanwhile) {
  CliProgram first{line("elect", with_short_lease({"--id", "first", "--on-released",
                                                   "sleep 5; " + write("stopped")}))};
  ASSERT_TRUE(first.says("leading"));
  CliProgram second{
      line("elect", with_short_lease({"--id", "second", "--on-acquired", write("started")}))};
  ASSERT_TRUE(second.says("following: mutex \"m\" is owned by first"));
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 0) << first.err();
  ASSERT_TRUE(has_written("started"));
  EXPECT_EQ(support::content_of(diary), "stopped\nstarted\n")
      << (HasFailure() ? "" : support::safety_violation)
      << "the next one led before the last hook ended; " << first.err();
}

TEST_F(CliElect, WhenTheLastHookFailsTheMutexIsNotGivenBack) {
  CliProgram program{line("elect", {"--id", "me", "--on-released", "exit 3"})};
  ASSERT_TRUE(program.says("leading"));
  program.signal(SIGTERM);
  ASSERT_TRUE(program.notes("simba: mutex \"m\" not released: the \"released\" hook failed"));
  EXPECT_EQ(owner(), "me");
  EXPECT_TRUE(support::is_alive(program.process())) << "its end would free the mutex";
  EXPECT_EQ(program.out().find("released"), std::string::npos) << program.out();
}

TEST_F(CliElect, WhenTheLastHookFailsAnotherLeadsOnceTheLeaseHasRunOut) {
  CliProgram first{line("elect", with_short_lease({"--on-released", "exit 3"}))};
  ASSERT_TRUE(first.says("leading"));
  CliProgram second{line("elect", with_short_lease())};
  ASSERT_TRUE(second.says("following"));
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 79) << first.err();
  EXPECT_THAT(first.err(), HasSubstr("the \"released\" hook exited with code 3"));
  EXPECT_THAT(first.err(), HasSubstr("its lease expires in "));
  EXPECT_TRUE(second.says("leading"));
}

TEST_F(CliElect, ALastHookThatTakesLongerThanItMayIsEndedAndTheMutexRunsOut) {
  CliProgram program{line("elect", with_short_lease({"--drain", "3s", "--on-released",
                                                     "echo hook $$; exec sleep 600"}))};
  ASSERT_TRUE(program.says("leading"));
  program.signal(SIGTERM);
  const pid_t hook = program.number("hook");
  EXPECT_EQ(program.wait(), 79);
  EXPECT_FALSE(support::is_alive(hook));
  EXPECT_THAT(program.err(), HasSubstr("the \"released\" hook took too long and was terminated"));
  EXPECT_THAT(program.err(), HasSubstr("mutex \"m\" not released"));
}

TEST_F(CliElect, LeadsOnAfterAHookThatFailsWhereItIsToKeepTheMutex) {
  CliProgram program{line("elect", {"--on-failure", "keep", "--on-acquired", "exit 3"})};
  ASSERT_TRUE(program.notes("simba: the \"acquired\" hook exited with code 3"));
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(program.err().find("stepping down"), std::string::npos) << program.err();
}

TEST_F(CliElect, StepsDownWhenItsFirstHookFailsSoThatAnotherCanLead) {
  CliProgram first{line("elect", {"--id", "first", "--on-acquired",
                                  "until test -e " + (folder.path() / "go").string() +
                                      "; do sleep 0.01; done; exit 3",
                                  "--on-released", write("cleared")})};
  ASSERT_TRUE(first.says("leading"));
  CliProgram second{line("elect", {"--id", "second", "--on-acquired", write("started")})};
  ASSERT_TRUE(second.says("following: mutex \"m\" is owned by first"));
  std::ofstream{folder.path() / "go"} << "";
  EXPECT_TRUE(second.says("leading"));
  EXPECT_TRUE(has_written("started"));
  EXPECT_EQ(support::content_of(diary), "cleared\nstarted\n")
      << (was_lost(first) ? "" : support::safety_violation)
      << "the next one led before the last hook ended";
  EXPECT_THAT(first.err(), HasSubstr("simba: stepping down; contending again in 16 s"));
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 0) << first.err();
}

TEST_F(CliElect, ContendsAgainALeaseAfterItHasSteppedDown) {
  const std::string mark = (folder.path() / "mark").string();
  CliProgram program{
      line("elect", with_short_lease({"--on-acquired",
                                      "test -e " + mark + " || { touch " + mark + "; exit 3; }"}))};
  ASSERT_TRUE(program.notes("stepping down; contending again in 2 s"));
  ASSERT_TRUE(program.says("released: mutex \"m\"\nleading"));
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 0);
}

TEST_F(CliElect, StepsDownWhenItHasLedForLongEnoughSoThatAnotherCanLead) {
  CliProgram first{candidate("first", {"--max-hold", a_moment})};
  ASSERT_TRUE(has_written("acquired first"));
  CliProgram second{candidate("second")};
  ASSERT_TRUE(has_written("acquired second"));
  EXPECT_THAT(support::content_of(diary),
              testing::MatchesRegex("acquired first 1\nreleased first 1\nacquired second [2-9]\n"))
      << (was_lost(first) ? "" : support::safety_violation) << "two leaders, or the same token";
  EXPECT_THAT(first.err(), HasSubstr("simba: led for "));
  EXPECT_THAT(first.err(), HasSubstr("(--max-hold); stepping down; contending again in 16 s"));
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 0) << first.err();
}

TEST_F(CliElect, CountsEveryLeadershipOnItsOwn) {
  const CliProgram program{candidate("me", with_short_lease({"--max-hold", a_moment}))};
  ASSERT_TRUE(has_written("released me 1\nacquired me"));
  const std::string last = "acquired me 1\nreleased me 1\nacquired me";
  EXPECT_TRUE(support::eventually([&] {
    return support::content_of(diary).find("released me", last.size()) != std::string::npos;
  })) << program.err();
}

TEST_F(CliElect, WhenTheLastHookOutlastsTheMaximumHoldAndTheDrainTheMutexRunsOut) {
  CliProgram program{line("elect", with_short_lease({"--max-hold", "300ms", "--drain", "300ms",
                                                     "--on-released", "exec sleep 600"}))};
  EXPECT_EQ(program.wait(), 79) << program.err();
  EXPECT_THAT(program.err(), HasSubstr("the \"released\" hook took too long and was terminated"));
  EXPECT_THAT(program.err(), HasSubstr("mutex \"m\" not released"));
}

TEST_F(CliElect, KilledItsGuardianCallsTheLastHookAtOnce) {
  CliProgram program{candidate("me")};
  ASSERT_TRUE(program.says("leading"));
  ASSERT_TRUE(has_written("acquired me 1"));
  program.signal(SIGKILL);
  program.wait();
  EXPECT_TRUE(has_written("released me 1"));
  EXPECT_TRUE(program.notes("simba was killed; its guardian ran the \"released\" hook"));
  EXPECT_EQ(program.err().find("may still be running"), std::string::npos) << program.err();
}

TEST_F(CliElect, ALastHookThatIsNotOverWhenTheLeaseOfAKilledOneIsIsKilledAndTold) {
  CliProgram program{line("elect", with_short_lease({"--on-released",
                                                     "trap '' TERM; echo hook $$; "
                                                     "while :; do sleep 0.01; done"}))};
  ASSERT_TRUE(program.says("leading"));
  program.signal(SIGKILL);
  program.wait();
  const pid_t hook = program.number("hook");
  EXPECT_TRUE(program.notes("was killed because the lease expired"));
  EXPECT_FALSE(support::is_alive(hook));
}

TEST_F(CliElect, AFailureOfTheLastHookIsToldAlsoWhenNobodyElseCanTellIt) {
  CliProgram program{line("elect", {"--json", "--on-released", "exit 3"})};
  ASSERT_TRUE(program.says("acquired"));
  program.signal(SIGKILL);
  program.wait();
  ASSERT_TRUE(program.notes("\n"));
  const auto object = nlohmann::json::parse(program.err());
  EXPECT_EQ(object["event"], "guardian");
  EXPECT_EQ(object["fate"], "failed");
}

TEST_F(CliElect, KilledTheFirstHookHasEndedWhenTheLastOneBegins) {
  const std::string file = (folder.path() / "number").string();
  CliProgram program{line(
      "elect", {"--on-acquired",
                "trap '' TERM; echo $$ >" + file + "; echo hook $$; while :; do sleep 0.01; done",
                "--on-released",
                "kill -0 $(cat " + file + ") && " + write("early") + " || " + write("after")})};
  ASSERT_GT(program.number("hook"), 0);
  program.signal(SIGKILL);
  EXPECT_TRUE(has_written("r"));
  EXPECT_EQ(support::content_of(diary), "after\n")
      << (support::content_of(diary) == "early\n" ? support::safety_violation : "")
      << "the last hook beside the first";
}

TEST_F(CliElect, KilledWhileTheLastHookRunsItRunsOn) {
  const std::string go = (folder.path() / "go").string();
  CliProgram program{
      line("elect", {"--on-released", "echo hook $$; until test -e " + go +
                                          "; do sleep 0.01; done; " + write("stopped")})};
  ASSERT_TRUE(program.says("leading"));
  program.signal(SIGTERM);
  ASSERT_GT(program.number("hook"), 0);
  program.signal(SIGKILL);
  program.wait();
  std::ofstream{go} << "";
  EXPECT_TRUE(has_written("stopped"));
}

TEST_F(CliElect, StoppedPastItsLeaseItsGuardianCallsTheLastHookOnce) {
  CliProgram program{candidate("me", with_short_lease())};
  ASSERT_TRUE(has_written("acquired me 1"));
  program.signal(SIGSTOP);
  EXPECT_TRUE(has_written("lost me 1"));
  program.signal(SIGCONT);
  EXPECT_TRUE(program.says("lost: mutex \"m\"\nleading"));
  EXPECT_THAT(support::content_of(diary), testing::StartsWith("acquired me 1\nlost me 1\n"));
  EXPECT_EQ(support::content_of(diary).find("lost me 1", std::string{"acquired me 1\nlost"}.size()),
            std::string::npos);
}

TEST_F(CliElect, CallsTheLastHookAlsoWhenItsGuardianWasKilled) {
  CliProgram program{candidate("me")};
  ASSERT_TRUE(has_written("acquired me 1"));
  ASSERT_TRUE(
      support::eventually([&] { return support::children_of(program.process()).size() == 1; }));
  ::kill(support::children_of(program.process()).front(), SIGKILL);
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 0) << program.err();
  EXPECT_EQ(support::content_of(diary), "acquired me 1\nreleased me 1\n");
}

TEST_F(CliElect, AStuckStandardOutputHoldsUpNoHookAndNoRelease) {
  support::OutputPipe pipe{folder.path() / "pipe"};
  pipe.fill();
  CliProgram program{pipe.run(candidate("me", with_short_lease()))};
  ASSERT_TRUE(has_written("acquired me 1"));
  evict();
  ASSERT_TRUE(has_written("lost me 1"));
  ASSERT_TRUE(has_written("lost me 1\nacquired me"));
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 70) << program.err();  // the results are missing
  EXPECT_TRUE(has_written("released me"));
  EXPECT_EQ(owner(), "");
  EXPECT_THAT(program.err(),
              HasSubstr("standard output was blocked, so some results were not written"));
}

TEST_F(CliElect, WhatAStuckStandardOutputDidNotTakeComesLaterAndInOrder) {
  support::OutputPipe pipe{folder.path() / "pipe"};
  pipe.fill();
  CliProgram program{pipe.run(candidate("me", with_short_lease()))};
  ASSERT_TRUE(has_written("acquired me 1"));
  evict();
  ASSERT_TRUE(has_written("lost me 1\nacquired me"));
  ASSERT_TRUE(pipe.has("lost: mutex \"m\"\nleading"));
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 0) << program.err();
  ASSERT_TRUE(pipe.has("released"));
  EXPECT_THAT(pipe.read(), testing::MatchesRegex("leading: [^\n]*\nlost: [^\n]*\nleading: [^\n]*\n"
                                                 "released: [^\n]*\n"));
}

TEST_F(CliElect, KilledItTakesItsHookWithIt) {
  CliProgram program{line("elect", {"--on-acquired", "echo hook $$; exec sleep 600"})};
  const pid_t hook = program.number("hook");
  program.signal(SIGKILL);
  EXPECT_TRUE(support::eventually([&] { return !support::is_alive(hook); }));
}

}  // namespace
}  // namespace simba
