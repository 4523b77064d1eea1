// simba run when something is killed, stopped, or lost.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/cli/fixture.hpp"
#include "support/location.hpp"
#include "support/processes/process_state.hpp"
#include "support/safety.hpp"

namespace simba {
namespace {

using support::CliProgram;
using support::eventually;
using support::is_alive;
using testing::AnyOf;
using testing::HasSubstr;

/// Two processes that do not care for TERM.
const std::string stubborn =
    "trap '' TERM; sh -c 'echo inner $$; while :; do sleep 0.01; done' & "
    "echo outer $$; while :; do sleep 0.01; done";

/// A program whose execution takes as long as this exists, as from a file system that hangs: we
/// have a lease on its file, and do not give it up.
class HangingProgram {
 public:
  explicit HangingProgram(const std::filesystem::path& path) : path_{path} {
    std::ofstream{path} << "#!/bin/sh\necho ran\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ::fcntl(file_, F_SETSIG, SIGURG);  // nobody minds this one
    held_ = ::fcntl(file_, F_SETLEASE, F_WRLCK) == 0;
  }
  ~HangingProgram() { let_go(); }
  HangingProgram(const HangingProgram&) = delete;
  HangingProgram& operator=(const HangingProgram&) = delete;

  bool held() const noexcept { return held_; }
  std::string path() const { return path_.string(); }
  void let_go() {
    if (file_ >= 0) ::close(file_);
    file_ = -1;
  }

 private:
  const std::filesystem::path path_;
  int file_ = -1;
  bool held_ = false;
};

struct CliRunFaults : support::CliTest {
  Words with_command(Words options, const Words& command) const {
    options.emplace_back("--");
    options.insert(options.end(), command.begin(), command.end());
    return line("run", options);
  }

  /// The process that is to become CMD.
  static pid_t command_of(const CliProgram& program) {
    pid_t command = 0;
    eventually([&] {
      for (const pid_t guardian : support::children_of(program.process())) {
        for (const pid_t child : support::children_of(guardian)) command = child;
      }
      return command != 0;
    });
    return command;
  }

  /// With a lease that is over after 2 s, and a margin that leaves a busy machine time to end CMD.
  static Words with_wide_margin(Words words) {
    words.at(2) += "?ttl=1s&transition=5s&margin=4s";
    return words;
  }

  /// The next owner looks for the process when it has the mutex.
  void expect_gone_for_the_next_owner(pid_t process) const {
    const std::string number = std::to_string(process);
    CliProgram next{script("kill -0 " + number + " 2>/dev/null && grep -v '^State:.*Z' /proc/" +
                           number + "/status | grep -q State && echo alive || echo gone")};
    EXPECT_EQ(next.wait(), 0) << next.err();
    EXPECT_EQ(next.out(), "gone\n") << (next.out() == "alive\n" ? support::safety_violation : "")
                                    << "CMD beside the next owner";
  }
};

TEST_F(CliRunFaults, KilledItTakesAllOfItsCommandWithIt) {
  CliProgram program{script(stubborn)};
  const pid_t outer = program.number("outer");
  const pid_t inner = program.number("inner");
  ASSERT_GT(outer, 0);
  ASSERT_GT(inner, 0);
  program.signal(SIGKILL);
  expect_gone_for_the_next_owner(inner);
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

// Nobody is left to stop what CMD has started. It keeps the mutex from being free before the lease
// is over, as it would be otherwise.
TEST_F(CliRunFaults,
       KilledWithItsGuardianTheMutexIsNotFreeAtOnceWhileWhatItsCommandHasStartedLives) {
  CliProgram program{script(stubborn, {"--ttl", "1h"})};
  const pid_t outer = program.number("outer");
  const pid_t inner = program.number("inner");
  const auto guardians = support::children_of(program.process());
  ASSERT_EQ(guardians.size(), 1U);
  // So that neither sees the end of the other.
  for (const pid_t one : {program.process(), guardians.front()}) {
    ::kill(one, SIGSTOP);
    ASSERT_TRUE(eventually([&] { return support::is_stopped(one); }));
  }
  for (const pid_t one : {program.process(), guardians.front()}) ::kill(one, SIGKILL);
  EXPECT_EQ(program.wait(), -SIGKILL);
  EXPECT_TRUE(eventually([&] { return !is_alive(outer); })) << "the kernel ends CMD itself";
  ASSERT_TRUE(is_alive(inner));
  CliProgram early{script("echo ran", {"--timeout", "0"})};
  EXPECT_EQ(early.wait(), 75) << early.err();
  EXPECT_EQ(early.out(), "") << support::safety_violation << "CMD beside the next owner";
  ::kill(inner, SIGKILL);
  expect_gone_for_the_next_owner(inner);
}

// Its first act: the guardian may not have come to anything since it has forked.
TEST_F(CliRunFaults, ACommandThatKillsItsGuardianAtOnceIsEndedWithAllThatItHasStarted) {
  const auto mark = folder.path().string() + "/inner";
  for (int round = 0; round < 20; ++round) {
    CliProgram program{
        script("sh -c 'while :; do sleep 0.01; done' " + mark + " & kill -KILL $PPID; sleep 600")};
    EXPECT_EQ(program.wait(), 128 + SIGKILL);
    EXPECT_THAT(support::processes_about(mark), testing::IsEmpty());
    EXPECT_THAT(program.err(), HasSubstr("the guardian process was killed"));
  }
}

TEST_F(CliRunFaults, TheGuardianHeedsNoOtherSignal) {
  CliProgram busy{line("run", {"--id", "busy", "--", "sleep", "600"})};
  ASSERT_GT(command_of(busy), 0);
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
  EXPECT_THAT(program.err(), HasSubstr("mutex \"m\" lost"));
}

TEST_F(CliRunFaults, ACommandThatHeedsTheTermOfALossHasTimeToTidyUp) {
  // KILL comes 6 s after TERM: the shell may have to wait for its turn.
  CliProgram program{{"run", "-b",
                      "sqlite:" + database.string() + "?ttl=1s&transition=59s&margin=10s", "-m",
                      "m", "--", "sh", "-c",
                      "trap 'echo tidy; exit 0' TERM; echo ready; while :; do sleep 0.01; done"}};
  ASSERT_TRUE(program.says("ready"));
  evict();
  EXPECT_EQ(program.wait(), 76);
  EXPECT_TRUE(program.says("tidy"));
}

TEST_F(CliRunFaults, WhenItIsPausedPastItsLeaseItsCommandIsEndedAllTheSame) {
  CliProgram program{with_wide_margin(script(stubborn))};
  const pid_t outer = program.number("outer");
  const pid_t inner = program.number("inner");
  program.signal(SIGSTOP);
  expect_gone_for_the_next_owner(inner);
  EXPECT_FALSE(is_alive(outer));
  program.signal(SIGCONT);
  EXPECT_EQ(program.wait(), 76);
  EXPECT_THAT(program.err(), HasSubstr("mutex \"m\" lost"));
}

TEST_F(CliRunFaults, ALossIsOnlyToldWhenTheCommandMayGoOn) {
  CliProgram program{script("echo ready; while ! test -e " + (folder.path() / "go").string() +
                                "; do sleep 0.01; done; echo done; exit 6",
                            with_short_lease({"--on-loss", "continue"}))};
  ASSERT_TRUE(program.says("ready"));
  evict();
  ASSERT_TRUE(program.notes("mutex \"m\" lost; CMD keeps running without it"));
  std::ofstream{folder.path() / "go"} << "go";
  EXPECT_EQ(program.wait(), 6);
  EXPECT_EQ(program.out(), "ready\ndone\n");
}

TEST_F(CliRunFaults, ACommandThatIsSlowToStartDoesNotRunOnceTheMutexIsLost) {
  for (const std::string on_loss : {"terminate", "continue"}) {
    HangingProgram hanging{folder.path() / on_loss};
    if (!hanging.held()) GTEST_SKIP() << "this file system has no leases";
    CliProgram program{with_command(with_short_lease({"--on-loss", on_loss}), {hanging.path()})};
    ASSERT_GT(command_of(program), 0);
    evict();
    EXPECT_EQ(program.wait(), 76);
    hanging.let_go();
    EXPECT_EQ(program.out(), "");
    // The second where the guardian was too slow, and had to be killed.
    EXPECT_THAT(program.err(), AnyOf(HasSubstr("mutex lost before"),
                                     HasSubstr("CMD was terminated while starting")));
  }
}

TEST_F(CliRunFaults, ACommandThatIsSlowToStartDoesNotRunWhenItIsPausedPastItsLease) {
  HangingProgram hanging{folder.path() / "hanging"};
  if (!hanging.held()) GTEST_SKIP() << "this file system has no leases";
  CliProgram program{with_wide_margin(with_command({"--on-loss", "continue"}, {hanging.path()}))};
  const pid_t command = command_of(program);
  ASSERT_GT(command, 0);
  program.signal(SIGSTOP);
  expect_gone_for_the_next_owner(command);
  hanging.let_go();
  program.signal(SIGCONT);
  EXPECT_EQ(program.wait(), 76);
  EXPECT_EQ(program.out(), "");
}

TEST_F(CliRunFaults, ASignalEndsItWhileTheCommandIsSlowToStart) {
  HangingProgram hanging{folder.path() / "hanging"};
  if (!hanging.held()) GTEST_SKIP() << "this file system has no leases";
  CliProgram program{line("run", {"--", hanging.path()})};
  ASSERT_GT(command_of(program), 0);
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 128 + SIGTERM);
  EXPECT_EQ(program.out(), "");
}

TEST_F(CliRunFaults, SignalsThatComeTooLateDoNotChangeItsExitCode) {
  for (int round = 0; round < 20; ++round) {
    CliProgram program{script("trap '' TERM; echo ready; sleep 0.02; exit 7")};
    ASSERT_TRUE(program.says("ready"));
    EXPECT_TRUE(eventually([&] {
      program.signal(SIGTERM);
      return !is_alive(program.process());
    }));
    EXPECT_EQ(program.wait(), 7);
  }
}

TEST_F(CliRunFaults, AZombieThatNobodyReapsDoesNotKeepTheMutex) {
  // The parent of the zombie leaves the group, and sleeps instead of waiting for it.
  CliProgram program{
      script("perl -e 'use POSIX; if (fork() == 0) { if (fork() == 0) { exit 0 } "
             "POSIX::setsid(); $| = 1; print \"left $$\\n\"; sleep 600 } "
             "sleep 1'; exit 5")};
  const pid_t left = program.number("left");
  ASSERT_GT(left, 0);
  const auto begun = support::now();
  EXPECT_EQ(program.wait(), 5);
  EXPECT_LT(support::now() - begun, support::scaled(std::chrono::seconds{5}));
  EXPECT_TRUE(is_alive(left)) << "it has a session of its own";
  EXPECT_EQ(program.err(), "");
  ::kill(left, SIGKILL);
}

/// CMD leaves a job behind, in a group of its own. When CMD is gone a stranger gets its number, and
/// a group of that number, before the job is ended.
const std::string with_stranger = R"(
set -m
"$0" "$@" >said &
run=$!
until n=$(sed -n 's/^cmd //p' said 2>/dev/null) && test -n "$n" && ! test -d "/proc/$n"; do :; done
for try in 1 2 3 4 5; do
  echo $((n - 1)) >/proc/sys/kernel/ns_last_pid || exit 77
  sleep 600 &
  stranger=$!
  test "$stranger" = "$n" && break
  kill -9 "$stranger"
done
test "$stranger" = "$n" || exit 77
wait "$run"
echo "run $?"
kill -0 "$stranger" && echo alive || echo gone
)";

TEST_F(CliRunFaults, AStrangerThatHasGotTheNumberOfItsGroupIsLeftAlone) {
  Words words{"--pid",
              "--fork",
              "--mount-proc",
              "--kill-child",
              "bash",
              "-c",
              "cd " + folder.path().string() + "; " + with_stranger,
              SIMBA_TEST_COMMAND};
  const Words run = line("run", {"--", "bash", "-c", "set -m; sleep 600 & echo cmd $$"});
  words.insert(words.end(), run.begin(), run.end());
  CliProgram container{CliProgram::Any::program, "unshare", words};
  container.wait();
  if (container.out().empty()) {
    GTEST_SKIP() << "a number cannot be given again here: " << container.err();
  }
  EXPECT_EQ(container.out(), "run 0\nalive\n") << container.err();
}

TEST_F(CliRunFaults, WhatANestedOneGuardsDoesNotOutliveTheOuterOne) {
  const std::string inner =
      std::string{SIMBA_TEST_COMMAND} + " run -b sqlite:" + database.string() +
      " -m other -- sh -c 'trap \"\" TERM; " + "echo inner $$; while :; do sleep 0.01; done'";
  CliProgram program{script("echo simba $$; exec " + inner)};
  const pid_t command = program.number("inner");
  ASSERT_GT(command, 0);
  ::kill(program.number("simba"), SIGKILL);
  expect_gone_for_the_next_owner(command);
  EXPECT_EQ(program.wait(), 128 + SIGKILL);
}

TEST_F(CliRunFaults, WhenItsMutexIsLostItEndsAlsoWhatHasAGroupOfItsOwn) {
  const std::string jobs =
      "set -m; sh -c 'trap \"\" TERM; echo job $$; while :; do sleep 0.01; done' & wait";
  CliProgram program{with_command(with_short_lease(), {"bash", "-c", jobs})};
  const pid_t job = program.number("job");
  ASSERT_GT(job, 0);
  ASSERT_EQ(::getpgid(job), job);
  evict();
  EXPECT_EQ(program.wait(), 76);
  EXPECT_FALSE(is_alive(job));
}

TEST_F(CliRunFaults, ItRenewsItsLeaseWhileTheCommandRuns) {
  CliProgram program{script("sleep 4; exit 7", with_short_lease())};
  EXPECT_EQ(program.wait(), 7);
  EXPECT_EQ(program.err(), "");
}

// ---- the maximum hold ----------------------------------------------------------------------

struct CliRunMaxHold : CliRunFaults {
  /// Long enough for a shell to set its traps.
  const std::string a_moment =
      std::to_string(support::scaled(std::chrono::milliseconds{1'500}).count()) + "ms";
};

TEST_F(CliRunMaxHold, ACommandThatEndsInTimeIsLeftAlone) {
  CliProgram program{script("exit 7", {"--max-hold", "1h"})};
  EXPECT_EQ(program.wait(), 7);
  EXPECT_EQ(program.err(), "");
}

TEST_F(CliRunMaxHold, AtItsEndTheCommandIsTerminatedAndTheMutexReleased) {
  CliProgram program{
      script("trap 'echo tidy; exit 0' TERM; echo ready; while :; do sleep 0.01; done",
             {"--max-hold", a_moment})};
  EXPECT_EQ(program.wait(), 80) << program.err();
  EXPECT_EQ(program.out(), "ready\ntidy\n");
  EXPECT_THAT(program.err(), HasSubstr("simba: mutex \"m\" held for "));
  EXPECT_THAT(program.err(), HasSubstr("(--max-hold); terminating CMD, which has 90 s to end; "
                                       "raise --max-hold if it needs longer\n"));
  EXPECT_EQ(owner(), "");
}

TEST_F(CliRunMaxHold, TheMutexIsKeptPastItsLeaseWhileTheCommandTidiesUp) {
  const std::string diary = (folder.path() / "diary").string();
  CliProgram first{script("trap 'echo told; sleep 4; echo tidy >>" + diary +
                              "; exit 0' TERM; echo ready; while :; do sleep 0.01; done",
                          {"--ttl", "2s", "--transition", "1s", "--max-hold", a_moment})};
  ASSERT_TRUE(first.says("told")) << first.err();
  CliProgram second{script("echo next >>" + diary, with_short_lease())};
  EXPECT_EQ(second.wait(), 0) << second.err();
  EXPECT_EQ(first.wait(), 80) << first.err();
  EXPECT_EQ(support::content_of(diary), "tidy\nnext\n")
      << (HasFailure() ? "" : support::safety_violation) << "the next one ran before CMD had ended";
}

TEST_F(CliRunMaxHold, ACommandThatHadToBeKilledLeavesTheMutexToRunOut) {
  // A lease of 4 s: long enough to look at it.
  CliProgram program{script(stubborn, {"--id", "me", "--ttl", "2s", "--transition", "2s",
                                       "--max-hold", a_moment, "--drain", "100ms"})};
  const pid_t outer = program.number("outer");
  const pid_t inner = program.number("inner");
  ASSERT_TRUE(program.notes(
      "simba: mutex \"m\" not released: CMD had not ended 100 ms after SIGTERM and was killed; "
      "its lease expires in "))
      << program.err();
  EXPECT_FALSE(is_alive(outer));
  EXPECT_FALSE(is_alive(inner));
  EXPECT_EQ(owner(), "me");
  EXPECT_EQ(program.wait(), 79) << program.err();
}

TEST_F(CliRunMaxHold, ALossWhileTheCommandEndsStillEndsItAtOnce) {
  CliProgram program{script(stubborn, with_short_lease({"--max-hold", a_moment}))};
  const pid_t inner = program.number("inner");
  ASSERT_TRUE(program.notes("(--max-hold)"));
  evict();
  EXPECT_EQ(program.wait(), 76) << program.err();
  EXPECT_FALSE(is_alive(inner));
  EXPECT_THAT(program.err(), HasSubstr("mutex \"m\" lost; terminating CMD\n"));
}

TEST_F(CliRunMaxHold, AGuardianThatIsStoppedDoesNotSaveTheCommand) {
  CliProgram program{
      script(stubborn, with_short_lease({"--max-hold", a_moment, "--drain", "300ms"}))};
  const pid_t inner = program.number("inner");
  const auto guardians = support::children_of(program.process());
  ASSERT_EQ(guardians.size(), 1U);
  ::kill(guardians.front(), SIGSTOP);
  EXPECT_EQ(program.wait(), 79) << program.err();
  EXPECT_FALSE(is_alive(inner));
  EXPECT_THAT(program.err(), HasSubstr("CMD had not ended 300 ms after SIGTERM and was killed"));
}

TEST_F(CliRunMaxHold, ACommandThatIsSlowToStartDoesNotRunAfterIt) {
  HangingProgram hanging{folder.path() / "hanging"};
  if (!hanging.held()) GTEST_SKIP() << "this file system has no leases";
  CliProgram program{with_command({"--max-hold", a_moment}, {hanging.path()})};
  ASSERT_GT(command_of(program), 0);
  EXPECT_EQ(program.wait(), 80) << program.err();
  hanging.let_go();
  EXPECT_EQ(program.out(), "");
  EXPECT_EQ(owner(), "");
}

TEST_F(CliRunMaxHold, IsToldAsAnObjectToo) {
  CliProgram program{script("sleep 600", {"--json", "--max-hold", "300ms", "--drain", "10s"})};
  EXPECT_EQ(program.wait(), 80) << program.err();
  EXPECT_THAT(program.err(), HasSubstr("\"event\":\"max_hold\",\"mutex\":\"m\""));
  EXPECT_THAT(program.err(), HasSubstr("\"max_hold_ms\":300,\"drain_ms\":10000"));
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
  // One that is dead but that nobody has reaped, as in a container without an init, is gone.
  CliProgram next{script("grep -qs '^State:.[^XZ]' /proc/" + std::to_string(inner) +
                         "/status && echo there || echo gone")};
  EXPECT_EQ(next.wait(), 0) << next.err();
  EXPECT_EQ(next.out(), "gone\n");
}

/// A host, or a container, without /proc.
std::vector<std::string> without_proc(const std::vector<std::string>& command) {
  std::vector<std::string> words{
      "--mount", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh", SIMBA_TEST_COMMAND};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

TEST_F(CliRunOnRedis, WithoutProcItEndsTheGroupOfItsCommandAllTheSame) {
  CliProgram short_one{CliProgram::Any::program, "unshare",
                       without_proc(script("test -e /proc/self && exit 1; exit 3"))};
  const int code = short_one.wait();
  if (short_one.err().starts_with("unshare:") || short_one.err().starts_with("mount:")) {
    GTEST_SKIP() << "/proc cannot be hidden here: " << short_one.err();
  }
  EXPECT_EQ(code, 3) << short_one.err();
  CliProgram program{CliProgram::Any::program, "unshare", without_proc(script(stubborn))};
  const pid_t outer = program.number("outer");
  const pid_t inner = program.number("inner");
  program.signal(SIGKILL);
  EXPECT_EQ(program.wait(), -SIGKILL);
  EXPECT_TRUE(eventually([&] { return !is_alive(outer) && !is_alive(inner); }));
  EXPECT_EQ(CliProgram{script("exit 0")}.wait(), 0);
}

TEST_F(CliRunOnRedis, OfTwoWithTheSameIdTheFirstEndsLoudlyAndTheSecondGoesOn) {
  const std::string work = "echo inner $$; while :; do sleep 0.01; done";
  CliProgram first{script(work, {"--id", "twin"})};
  const pid_t inner = first.number("inner");
  ASSERT_GT(inner, 0);
  CliProgram second{script(work, {"--id", "twin"})};
  EXPECT_EQ(first.wait(), 78) << first.err();
  EXPECT_THAT(first.err(), HasSubstr("contender id [twin] is also used by another process"));
  EXPECT_FALSE(is_alive(inner));
  ASSERT_GT(second.number("inner"), 0);
  second.signal(SIGTERM);
  EXPECT_EQ(second.wait(), 128 + SIGTERM) << second.err();
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

/// The lease is over after 2 s and CMD takes 5 s. Every renewal, and everything that happens, would
/// be written to a pipe that is full and that nobody reads.
TEST_F(CliRunFaults, AStuckStandardErrorStopsNoRenewalAndEndsNoCommand) {
  const auto full = (folder.path() / "full").string();
  const auto proof = (folder.path() / "proof").string();
  const std::string script =
      "mkfifo '" + full + "' && exec 3<>'" + full +
      "' && head -c 65536 /dev/zero >&3 && exec " SIMBA_TEST_COMMAND " run -b 'sqlite:" +
      database.string() + "' -m m --ttl 1s --transition 1s -vv --json -- sh -c 'sleep 5; echo >\"" +
      proof + "\"' 2>&3";
  const int status = std::system(script.c_str());  // NOLINT(concurrency-mt-unsafe,cert-env33-c)
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
  EXPECT_TRUE(std::filesystem::exists(proof));
  EXPECT_EQ(owner(), "") << "given back";
}

}  // namespace
}  // namespace simba
