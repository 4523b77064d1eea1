// simba run when something is killed, stopped, or lost.
#include <csignal>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/cli_fixture.hpp"
#include "support/location.hpp"

namespace simba {
namespace {

using support::CliProgram;
using support::eventually;
using support::is_alive;
using testing::HasSubstr;

/// Two processes that do not care for TERM.
const std::string stubborn =
    "trap '' TERM; sh -c 'echo inner $$; while :; do sleep 0.01; done' & "
    "echo outer $$; while :; do sleep 0.01; done";

struct CliRunFaults : support::CliTest {
  /// What the next owner sees of a process when it has the mutex.
  std::string seen_by_the_next_owner(pid_t process) const {
    const std::string number = std::to_string(process);
    CliProgram next{script("kill -0 " + number + " 2>/dev/null && grep -v '^State:.*Z' /proc/" +
                           number + "/status | grep -q State && echo alive || echo gone")};
    EXPECT_EQ(next.wait(), 0) << next.err();
    return next.out();
  }
};

TEST_F(CliRunFaults, KilledItTakesAllOfItsCommandWithIt) {
  CliProgram program{script(stubborn)};
  const pid_t outer = program.number("outer");
  const pid_t inner = program.number("inner");
  ASSERT_GT(outer, 0);
  ASSERT_GT(inner, 0);
  program.signal(SIGKILL);
  EXPECT_EQ(seen_by_the_next_owner(inner), "gone\n");
  EXPECT_FALSE(is_alive(outer));
  EXPECT_FALSE(is_alive(inner));
  EXPECT_EQ(program.wait(), -SIGKILL);
}

TEST_F(CliRunFaults, ItsCommandDoesNotOutliveTheGuardian) {
  CliProgram program{script(stubborn)};
  const pid_t outer = program.number("outer");
  const pid_t inner = program.number("inner");
  const auto guardians = support::children_of(program.process());
  ASSERT_EQ(guardians.size(), 1U);
  ::kill(guardians.front(), SIGKILL);
  EXPECT_EQ(program.wait(), 128 + SIGKILL);
  EXPECT_FALSE(is_alive(outer));
  EXPECT_FALSE(is_alive(inner));
  EXPECT_THAT(program.err(), HasSubstr("the guardian process was killed"));
  EXPECT_EQ(owner(), "");
}

TEST_F(CliRunFaults, TheGuardianHeedsNoOtherSignal) {
  CliProgram busy{line("run", {"--id", "busy", "--", "sleep", "600"})};
  ASSERT_TRUE(eventually([&] { return owner() == "busy"; }));
  const auto guardians = support::children_of(busy.process());
  ASSERT_EQ(guardians.size(), 1U);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) ::kill(guardians.front(), number);
  busy.signal(SIGTERM);
  EXPECT_EQ(busy.wait(), 128 + SIGTERM);
  EXPECT_EQ(busy.err(), "");
}

TEST_F(CliRunFaults, AGuardianThatIsStoppedDoesNotSaveTheCommandFromALoss) {
  CliProgram program{script(stubborn, with_short_lease())};
  const pid_t outer = program.number("outer");
  const pid_t inner = program.number("inner");
  const auto guardians = support::children_of(program.process());
  ASSERT_EQ(guardians.size(), 1U);
  ::kill(guardians.front(), SIGSTOP);
  evict();
  EXPECT_EQ(program.wait(), 76);
  EXPECT_FALSE(is_alive(outer));
  EXPECT_FALSE(is_alive(inner));
}

TEST_F(CliRunFaults, AKilledCommandIsReportedAsKilled) {
  CliProgram program{script("echo cmd $$; exec sleep 600")};
  ::kill(program.number("cmd"), SIGKILL);
  EXPECT_EQ(program.wait(), 128 + SIGKILL);
}

TEST_F(CliRunFaults, WhenItsMutexIsTakenAwayItEndsAllOfItsCommand) {
  CliProgram program{script(stubborn, with_short_lease())};
  const pid_t outer = program.number("outer");
  const pid_t inner = program.number("inner");
  evict();
  EXPECT_EQ(program.wait(), 76);
  EXPECT_FALSE(is_alive(outer));
  EXPECT_FALSE(is_alive(inner));
  EXPECT_EQ(program.err(), "simba: mutex \"m\" is lost; CMD is ended\n");
}

TEST_F(CliRunFaults, ACommandThatHeedsTheTermOfALossHasTimeToTidyUp) {
  CliProgram program{
      script("trap 'echo tidy; exit 0' TERM; echo ready; "
             "while :; do sleep 0.01; done",
             with_short_lease())};
  ASSERT_TRUE(program.says("ready"));
  evict();
  EXPECT_EQ(program.wait(), 76);
  EXPECT_TRUE(program.says("tidy"));
}

TEST_F(CliRunFaults, WhenItIsPausedPastItsLeaseItsCommandIsEndedAllTheSame) {
  CliProgram program{script(stubborn, with_short_lease())};
  const pid_t outer = program.number("outer");
  const pid_t inner = program.number("inner");
  program.signal(SIGSTOP);
  EXPECT_EQ(seen_by_the_next_owner(inner), "gone\n");
  EXPECT_FALSE(is_alive(outer));
  program.signal(SIGCONT);
  EXPECT_EQ(program.wait(), 76);
  EXPECT_THAT(program.err(), HasSubstr("mutex \"m\" is lost"));
}

TEST_F(CliRunFaults, ACommandThatWasStoppedPastTheLeaseDoesNotGoOn) {
  CliProgram program{script("echo outer $$; exec sleep 600", with_short_lease())};
  const pid_t outer = program.number("outer");
  program.signal(SIGTSTP);
  ASSERT_TRUE(eventually([&] { return support::state_of(program.process()) == 'T'; }));
  ASSERT_TRUE(eventually([&] { return !is_alive(outer); }));
  program.signal(SIGCONT);
  EXPECT_EQ(program.wait(), 76);
}

TEST_F(CliRunFaults, ALossIsOnlyToldWhenTheCommandMayGoOn) {
  CliProgram program{script("while ! test -e " + (folder.path() / "go").string() +
                                "; do sleep 0.01; done; echo done; exit 6",
                            with_short_lease({"--on-loss", "continue"}))};
  ASSERT_TRUE(eventually([&] { return !owner().empty(); }));
  evict();
  ASSERT_TRUE(program.notes("mutex \"m\" is lost; CMD runs on without it"));
  std::ofstream{folder.path() / "go"} << "go";
  EXPECT_EQ(program.wait(), 6);
  EXPECT_EQ(program.out(), "done\n");
}

TEST_F(CliRunFaults, ItRenewsItsLeaseWhileTheCommandRuns) {
  CliProgram program{script("sleep 4; exit 7", with_short_lease())};
  EXPECT_EQ(program.wait(), 7);
  EXPECT_EQ(program.err(), "");
}

// ---- the same on Redis -----------------------------------------------------------------------

struct CliRunOnRedis : testing::Test {
  std::vector<std::string> script(const std::string& text, std::vector<std::string> options = {}) {
    std::vector<std::string> words{"run", "-b", url(location.password), "-m", mutex};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--ttl", "1s", "--transition", "1s", "--", "sh", "-c", text});
    return words;
  }

  std::string url(const std::string& password) const {
    const std::string user = password.empty() ? "" : location.user + ":" + password + "@";
    return "redis://" + user + location.host + ":" + std::to_string(location.port);
  }

  const support::Location location = support::redis_location();
  const std::string mutex = "cli-" + std::to_string(::getpid());
};

TEST_F(CliRunOnRedis, RunsACommandAndGivesTheMutexBack) {
  CliProgram first{script("echo $SIMBA_MUTEX; exit 3")};
  EXPECT_EQ(first.wait(), 3) << first.err();
  EXPECT_EQ(first.out(), mutex + "\n");
  CliProgram second{script("exit 0", {"--timeout", "0"})};
  EXPECT_EQ(second.wait(), 0) << second.err();
}

TEST_F(CliRunOnRedis, KilledItTakesItsCommandWithItBeforeTheNextOwnerComes) {
  CliProgram program{script(stubborn)};
  const pid_t inner = program.number("inner");
  program.signal(SIGKILL);
  CliProgram next{script("test -d /proc/" + std::to_string(inner) + " && echo there || echo gone")};
  EXPECT_EQ(next.wait(), 0) << next.err();
  EXPECT_EQ(next.out(), "gone\n");
}

TEST_F(CliRunOnRedis, AServerThatIsNotThereIsUnavailable) {
  for (const std::string timeout : {"0", "300ms"}) {
    CliProgram program{
        {"run", "-b", "redis://127.0.0.1:1", "-m", "m", "--timeout", timeout, "--", "true"}};
    EXPECT_EQ(program.wait(), 69);
    EXPECT_THAT(program.err(), HasSubstr("is the store running"));
  }
}

TEST_F(CliRunOnRedis, AWrongPasswordIsRefusedAndNeverShown) {
  CliProgram program{
      {"run", "-b",
       "redis://nobody:wr0ng-pw@" + location.host + ":" + std::to_string(location.port), "-m", "m",
       "--", "true"}};
  EXPECT_EQ(program.wait(), 77) << program.err();
  EXPECT_THAT(program.err(), testing::Not(HasSubstr("wr0ng-pw")));
}

}  // namespace
}  // namespace simba
