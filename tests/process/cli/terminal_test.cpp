// simba run on a terminal: who may read from it, and whom its keys reach.
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <string>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <gtest/gtest.h>

#include "process/cli/fixture.hpp"

namespace simba {
namespace {

using support::eventually;

/// The command on a terminal of its own, in its foreground.
class OnTerminal {
 public:
  /// Where `program` is another, it is the one in the foreground.
  explicit OnTerminal(std::vector<std::string> words,
                      const std::string& program = SIMBA_TEST_COMMAND) {
    words.insert(words.begin(), program);
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    process_ = ::forkpty(&terminal_, nullptr, nullptr, nullptr);
    // Signals to the process -1 would reach every process.
    if (process_ < 0) throw std::system_error{errno, std::generic_category(), "forkpty"};
    if (process_ == 0) {
      ::setenv("TERM", "xterm", 1);  // NOLINT(concurrency-mt-unsafe): one thread
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::fcntl(terminal_, F_SETFL, O_NONBLOCK);
  }
  ~OnTerminal() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
    }
    ::close(terminal_);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  void type(const std::string& keys) const {
    EXPECT_EQ(::write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }

  bool shows(const std::string& text) {
    return eventually([&] {
      char buffer[1000];
      const auto size = ::read(terminal_, buffer, sizeof buffer);
      if (size > 0) screen_.append(buffer, static_cast<std::size_t>(size));
      return screen_.find(text) != std::string::npos;
    });
  }

  int wait() {
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  pid_t process() const noexcept { return process_; }
  pid_t foreground() const { return ::tcgetpgrp(terminal_); }
  const std::string& screen() const noexcept { return screen_; }

 private:
  pid_t process_ = -1;
  int terminal_ = -1;
  std::string screen_;
};

struct CliTerminal : support::CliTest {
  /// As a shell wants it.
  static std::string in_shell(const Words& words) {
    std::string text = SIMBA_TEST_COMMAND;
    for (const auto& word : words) text += " '" + word + "'";
    return text;
  }
};

TEST_F(CliTerminal, TheCommandReadsFromIt) {
  OnTerminal program{script("echo ready; read line; echo got $line; exit 3")};
  ASSERT_TRUE(program.shows("ready"));
  EXPECT_NE(program.foreground(), program.process());
  program.type("hello\n");
  EXPECT_TRUE(program.shows("got hello")) << program.screen();
  EXPECT_EQ(program.wait(), 3);
}

TEST_F(CliTerminal, ItsInterruptKeyReachesTheCommandOnly) {
  OnTerminal program{
      script("trap 'echo int; exit 5' INT; echo ready; while :; do sleep 0.01; done")};
  ASSERT_TRUE(program.shows("ready"));
  program.type("\x03");
  EXPECT_TRUE(program.shows("int"));
  EXPECT_EQ(program.wait(), 5);
}

TEST_F(CliTerminal, ItsStopKeyStopsBothAndTheTerminalChangesHands) {
  OnTerminal program{script("echo ready; read line; echo got $line; exit 0")};
  ASSERT_TRUE(program.shows("ready"));
  const pid_t command = program.foreground();
  program.type("\x1a");
  ASSERT_TRUE(eventually([&] { return support::state_of(program.process()) == 'T'; }));
  EXPECT_EQ(support::state_of(command), 'T');
  EXPECT_EQ(program.foreground(), program.process());
  ::kill(program.process(), SIGCONT);
  ASSERT_TRUE(eventually([&] { return program.foreground() == command; }));
  program.type("hello\n");
  EXPECT_TRUE(program.shows("got hello")) << program.screen();
  EXPECT_EQ(program.wait(), 0);
}

TEST_F(CliTerminal, ItsStopSignalStopsBothAndTheyGoOnTogether) {
  OnTerminal program{script("echo ready; exec sleep 600")};
  ASSERT_TRUE(program.shows("ready"));
  const pid_t command = program.foreground();
  ::kill(program.process(), SIGTSTP);
  EXPECT_TRUE(eventually([&] { return support::state_of(command) == 'T'; }));
  EXPECT_TRUE(eventually([&] { return support::state_of(program.process()) == 'T'; }));
  ::kill(program.process(), SIGCONT);
  EXPECT_TRUE(eventually([&] { return support::state_of(command) != 'T'; }));
  ::kill(program.process(), SIGTERM);
  EXPECT_EQ(program.wait(), 128 + SIGTERM);
}

TEST_F(CliTerminal, ACommandThatWasStoppedPastTheLeaseDoesNotGoOn) {
  OnTerminal program{script("echo ready; exec sleep 600", with_short_lease())};
  ASSERT_TRUE(program.shows("ready"));
  const pid_t command = program.foreground();
  ::kill(program.process(), SIGTSTP);
  ASSERT_TRUE(eventually([&] { return support::state_of(program.process()) == 'T'; }));
  ASSERT_TRUE(eventually([&] { return !support::is_alive(command); }));
  ::kill(program.process(), SIGCONT);
  EXPECT_EQ(program.wait(), 76);
}

TEST_F(CliTerminal, TheCommandGetsItAlsoWhenInputComesFromElsewhere) {
  OnTerminal program{{"-c", in_shell(script("read line </dev/tty; echo got $line; exit 3")) +
                                " </dev/null; echo code $?"},
                     "/bin/sh"};
  program.type("hello\n");
  EXPECT_TRUE(program.shows("got hello")) << program.screen();
  EXPECT_TRUE(program.shows("code 3")) << program.screen();
}

TEST_F(CliTerminal, ItsStopKeyStopsAlsoTheScriptThatRunsIt) {
  OnTerminal program{{"-c", in_shell(script("echo ready; read line; echo got $line")) + "; :"},
                     "/bin/sh"};
  ASSERT_TRUE(program.shows("ready"));
  program.type("\x1a");
  EXPECT_TRUE(eventually([&] { return support::state_of(program.process()) == 'T'; }));
  ::kill(-program.process(), SIGCONT);
  ASSERT_TRUE(eventually([&] { return program.foreground() != program.process(); }));
  program.type("hello\n");
  EXPECT_TRUE(program.shows("got hello")) << program.screen();
  EXPECT_EQ(program.wait(), 0);
}

TEST_F(CliTerminal, AScheduledCommandThatAsksForItIsEndedAndTold) {
  OnTerminal program{
      line("schedule", {"--every", "10ms", "--", "sh", "-c", "read line </dev/tty"})};
  EXPECT_TRUE(program.shows("CMD was terminated: it tried to use the terminal"))
      << program.screen();
  ::kill(program.process(), SIGTERM);
  EXPECT_EQ(program.wait(), 0);
}

TEST_F(CliTerminal, ACommandThatCannotBeRunGivesItBack) {
  OnTerminal program{
      {"-c", in_shell(line("run", {"--", "/no/such/program"})) + "; read line; echo got $line"},
      "/bin/sh"};
  ASSERT_TRUE(program.shows("No such file"));
  program.type("hello\n");
  EXPECT_TRUE(program.shows("got hello")) << program.screen();
}

TEST_F(CliTerminal, NoColourIsUsedWhereTheVariableSaysSo) {
  support::CliProgram holder{script("echo held; exec sleep 600", {"--id", "holder"})};
  ASSERT_TRUE(holder.says("held"));
  for (const std::string value : {"", "1"}) {  // empty counts as not set
    OnTerminal program{
        {"NO_COLOR=" + value, SIMBA_TEST_COMMAND, "status", "-b", "sqlite:" + database.string()},
        "/usr/bin/env"};
    EXPECT_TRUE(program.shows("holder")) << program.screen();
    EXPECT_EQ(program.wait(), 0);
    EXPECT_EQ(program.screen().find("\033[3") == std::string::npos, !value.empty())
        << program.screen();
  }
}

TEST_F(CliTerminal, AWaitIsShownOnALineThatIsReplaced) {
  support::CliProgram holder{script("echo held; exec sleep 600", {"--id", "holder"})};
  ASSERT_TRUE(holder.says("held"));
  OnTerminal program{script("echo ran")};
  EXPECT_TRUE(program.shows("owned by holder, 1"));
  EXPECT_TRUE(program.shows("\r\033[Ksimba: waiting for mutex \"m\", owned by holder, "))
      << program.screen();
  program.type("\x03");
  EXPECT_EQ(program.wait(), 128 + SIGINT);
}

}  // namespace
}  // namespace simba
