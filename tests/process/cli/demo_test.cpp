// simba demo: plain, as objects, on a terminal, and when it is interrupted or killed.
#include <array>
#include <nlohmann/json.hpp>
#include <pty.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/cli/program.hpp"

namespace {

using namespace simba::support;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

std::vector<json> objects(const std::string& out) {
  std::vector<json> found;
  std::istringstream lines{out};
  for (std::string line; std::getline(lines, line) && !lines.eof();) {
    found.push_back(json::parse(line));
  }
  return found;
}

/// The processes of the candidates that it has told of.
std::vector<pid_t> candidates(const std::string& out) {
  std::vector<pid_t> found;
  for (const auto& object : objects(out)) {
    if (object.at("event") == "started") found.push_back(object.at("pid"));
  }
  return found;
}

bool are_gone(const std::vector<pid_t>& processes) {
  return eventually([&] {
    return std::none_of(processes.begin(), processes.end(),
                        [](pid_t one) { return is_alive(one); });
  });
}

struct Demo {
  explicit Demo(const std::vector<std::string>& words, CliProgram::Variables variables = {})
      : program{words, [&] {
                  variables["TMPDIR"] = folder.path().string();
                  return variables;
                }()} {}

  bool has_left_nothing() const { return std::filesystem::is_empty(folder.path()); }

  TemporaryFolder folder{};
  CliProgram program;
};

TEST(CliDemo, PlaysToItsEndWithoutATerminal) {
  Demo demo{{"demo"}};
  EXPECT_EQ(demo.program.wait(), 0) << demo.program.err();
  const std::string out = demo.program.out();
  EXPECT_THAT(out, HasSubstr("is told to stop"));
  EXPECT_THAT(out, HasSubstr("kill -9"));
  EXPECT_THAT(out, HasSubstr("never two at a time"));
  EXPECT_THAT(out, Not(HasSubstr("\033")));
  EXPECT_EQ(demo.program.err(), "");
  EXPECT_TRUE(demo.has_left_nothing());
}

TEST(CliDemo, TellsProgramsWhatItTimed) {
  Demo demo{{"demo", "--json"}};
  EXPECT_EQ(demo.program.wait(), 0) << demo.program.err();
  const auto all = objects(demo.program.out());
  ASSERT_FALSE(all.empty());
  const auto& summary = all.back();
  EXPECT_EQ(summary.at("event"), "summary");
  EXPECT_GE(summary.at("leaders"), 4);
  EXPECT_EQ(summary.at("faults"), json::array());
  EXPECT_GT(summary.at("kill_take_over_ms"), 0);
  EXPECT_TRUE(are_gone(candidates(demo.program.out())));
}

TEST(CliDemo, IgnoresTheSettingsOfOtherStores) {
  Demo demo{{"demo", "--json"},
            {{"SIMBA_BACKEND", "redis://127.0.0.1:1"},
             {"SIMBA_ENABLED", "false"},
             {"SIMBA_SQLITE_PATH", "/proc/simba.db"}}};
  EXPECT_TRUE(demo.program.says("\"acquired\"")) << demo.program.err();
}

TEST(CliDemo, EndsWithTheErrorOfACandidate) {
  Demo demo{{"demo", "--ttl", "300ms", "--transition", "300ms"}};
  EXPECT_EQ(demo.program.wait(), 78);
  EXPECT_THAT(demo.program.err(), HasSubstr("margin must be at least"));
  EXPECT_TRUE(demo.has_left_nothing());
}

TEST(CliDemo, EndsItsCandidatesWhenItIsInterrupted) {
  Demo demo{{"demo", "--json"}};
  ASSERT_TRUE(demo.program.says("\"acquired\""));
  const auto processes = candidates(demo.program.out());
  demo.program.signal(SIGINT);
  EXPECT_EQ(demo.program.wait(), 128 + SIGINT);
  EXPECT_TRUE(are_gone(processes));
  EXPECT_TRUE(demo.has_left_nothing());
}

TEST(CliDemo, LeavesNoCandidateWhenItIsKilled) {
  Demo demo{{"demo", "--json"}};
  ASSERT_TRUE(demo.program.says("\"acquired\""));
  const auto processes = candidates(demo.program.out());
  EXPECT_EQ(processes.size(), 4U);
  demo.program.signal(SIGKILL);
  EXPECT_EQ(demo.program.wait(), -SIGKILL);
  EXPECT_TRUE(are_gone(processes));
}

TEST(CliDemo, DrawsOnATerminal) {
  winsize size{.ws_row = 30, .ws_col = 90, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const pid_t process = ::forkpty(&terminal, nullptr, nullptr, &size);
  ASSERT_GE(process, 0);
  if (process == 0) {
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("NO_COLOR");
    ::execl(SIMBA_TEST_COMMAND, "simba", "demo", nullptr);
    ::_exit(127);
  }
  std::string shown;
  std::array<char, 4096> piece{};
  for (;;) {  // until the other end is closed
    const auto count = ::read(terminal, piece.data(), piece.size());
    if (count <= 0) break;
    shown.append(piece.data(), static_cast<std::size_t>(count));
  }
  int status = 0;
  ::waitpid(process, &status, 0);
  ::close(terminal);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(shown, HasSubstr("LEADER"));
  EXPECT_THAT(shown, HasSubstr("\033[32m"));
  EXPECT_THAT(shown, HasSubstr("A\033[J"));
}

TEST(CliDemo, CannotMakeItsFolder) {
  CliProgram program{{"demo"}, {{"TMPDIR", "/proc"}}};
  EXPECT_EQ(program.wait(), 77);
  EXPECT_THAT(program.err(), HasSubstr("TMPDIR"));
}

}  // namespace
