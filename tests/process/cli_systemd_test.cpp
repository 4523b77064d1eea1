// The unit files in examples/systemd.
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/cli_fixture.hpp"

namespace simba {
namespace {

using support::CliProgram;
using testing::HasSubstr;

struct CliSystemd : support::CliTest {
  /// The unit file as it is, but with the command under test and for all other programs `true`.
  static std::string unit(const std::string& name) {
    std::string text =
        support::content_of(std::filesystem::path{SIMBA_TEST_SOURCES} / "examples/systemd" / name);
    const std::vector<std::pair<std::string, std::string>> programs{
        {"/usr/bin/simba", SIMBA_TEST_COMMAND},
        {"/usr/local/bin/app --foreground", "/bin/true"},
        {"/usr/local/bin/vip", "/bin/true"}};
    for (const auto& [from, to] : programs) {
      for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
        text.replace(at, from.size(), to);
        at += to.size();
      }
    }
    return text;
  }

  static std::string value_of(const std::string& key, const std::string& unit) {
    std::istringstream lines{unit};
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(key + "=")) return line.substr(key.size() + 1);
    }
    return "";
  }

  /// What ExecStart says, on a store of the test. A shell reads it as systemd does.
  Words start_of(const std::string& name) const {
    return {"-c", "exec " + value_of("ExecStart", unit(name))};
  }
  CliProgram::Variables variables() const {
    return {{"SIMBA_BACKEND", "sqlite:" + database.string()}};
  }
};

TEST_F(CliSystemd, TheServiceStarts) {
  CliProgram program{CliProgram::Any::program, "/bin/sh", start_of("app.service"), variables()};
  EXPECT_EQ(program.wait(), 0) << program.err();
}

TEST_F(CliSystemd, TheLeaderStartsAndStops) {
  CliProgram program{CliProgram::Any::program, "/bin/sh", start_of("leader.service"), variables()};
  ASSERT_TRUE(program.says("leads: mutex \"leader\"")) << program.err();
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 0) << program.err();
  EXPECT_THAT(program.out(), HasSubstr("released"));
}

TEST_F(CliSystemd, OnlyTheCommandIsSignalledAndTheLeaderCleansUpAfterAKill) {
  for (const char* name : {"app.service", "leader.service"}) {
    EXPECT_EQ(value_of("KillMode", unit(name)), "mixed");
    EXPECT_NE(value_of("TimeoutStopSec", unit(name)), "");
  }
  EXPECT_THAT(
      value_of("ExecStart", unit("leader.service")),
      HasSubstr("--on-released '" + value_of("ExecStopPost", unit("leader.service")) + "'"));
}

TEST_F(CliSystemd, SystemdUnderstandsTheUnits) {
  if (std::system("command -v systemd-analyze >/dev/null") != 0) {  // NOLINT(concurrency-mt-unsafe)
    GTEST_SKIP() << "systemd is not installed here";
  }
  for (const char* name : {"app.service", "leader.service"}) {
    const auto file = folder.path() / name;
    std::ofstream{file} << unit(name);
    CliProgram program{CliProgram::Any::program,
                       "systemd-analyze",
                       {"verify", "--recursive-errors=no", file.string()}};
    EXPECT_EQ(program.wait(), 0) << program.err();
    EXPECT_EQ(program.err(), "");
  }
}

}  // namespace
}  // namespace simba
