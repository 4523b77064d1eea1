// simba elect: a candidate with hooks.
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/cli_fixture.hpp"

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

  const std::filesystem::path diary = folder.path() / "diary";
};

TEST_F(CliElect, CallsItsHooksAndTheLastOneBeforeItGivesTheMutexBack) {
  CliProgram first{candidate("first")};
  ASSERT_TRUE(first.says("leads: mutex \"m\", fencing token 1"));
  ASSERT_TRUE(has_written("acquired first"));
  CliProgram second{candidate("second")};
  ASSERT_TRUE(second.says("follows: first owns mutex \"m\""));
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
  ASSERT_TRUE(program.says("lost: mutex \"m\"\nleads"));
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
  EXPECT_EQ(support::content_of(diary), "acquired me 1\nlost me 1\n") << program.err();
  EXPECT_EQ(program.err().find("before \"sh\" could be run"), std::string::npos);
}

TEST_F(CliElect, SaysThatItEndsWhatAHookLeavesBehind) {
  CliProgram program{line("elect", {"--on-acquired", "sleep 600 & echo left $!"})};
  const pid_t left = program.number("left");
  EXPECT_TRUE(program.notes("the hook for \"acquired\" had left processes in its group"));
  EXPECT_FALSE(support::is_alive(left));
}

TEST_F(CliElect, WhatOthersCallThemselvesDoesNotSteerTheTerminal) {
  CliProgram first{line("elect", {"--id", "\x1b[31mfirst"})};
  ASSERT_TRUE(first.says("leads"));
  CliProgram second{line("elect", {})};
  EXPECT_TRUE(second.says("follows: \\x1b[31mfirst owns mutex")) << second.out();
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
  EXPECT_THAT(program.err(), HasSubstr("the hook for \"acquired\" took too long and was ended"));
}

TEST_F(CliElect, AHookThatHangsAtTheEndIsEndedWithTheLease) {
  CliProgram program{line("elect", with_short_lease({"--on-released", "sleep 600"}))};
  ASSERT_TRUE(program.says("leads"));
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 0);
  EXPECT_THAT(program.err(), HasSubstr("the hook for \"released\" took too long and was ended"));
  EXPECT_EQ(owner(), "");
}

TEST_F(CliElect, ReportsAHookThatFailsAndStays) {
  CliProgram program{line("elect", {"--on-acquired", "exit 3"})};
  ASSERT_TRUE(program.notes("simba: the hook for \"acquired\" ended with exit code 3"));
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 0);
}

TEST_F(CliElect, KilledItTakesItsHookWithIt) {
  CliProgram program{line("elect", {"--on-acquired", "echo hook $$; exec sleep 600"})};
  const pid_t hook = program.number("hook");
  program.signal(SIGKILL);
  EXPECT_TRUE(support::eventually([&] { return !support::is_alive(hook); }));
}

}  // namespace
}  // namespace simba
