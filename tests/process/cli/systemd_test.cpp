// The unit files in examples/systemd.
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/cli/fixture.hpp"
#include "simba/config/duration.hpp"
#include "simba/engine/contention_options.hpp"

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

  /// The settings by section. What is neither a section, a setting nor a comment is a failure.
  using Settings = std::map<std::string, std::map<std::string, std::string>>;
  static Settings settings_of(const std::string& unit) {
    Settings settings;
    std::string section;
    std::istringstream lines{unit};
    for (std::string line; std::getline(lines, line);) {
      const auto equals = line.find('=');
      if (line.empty() || line.starts_with('#')) continue;
      if (line.starts_with('[') && line.ends_with(']')) {
        section = line.substr(1, line.size() - 2);
      } else if (equals == std::string::npos || line.ends_with('\\') ||
                 !settings[section]
                      .emplace(line.substr(0, equals), line.substr(equals + 1))
                      .second) {
        ADD_FAILURE() << line;
      }
    }
    return settings;
  }

  static std::string service_value(const std::string& key, const std::string& unit) {
    return settings_of(unit)["Service"][key];
  }

  /// What ExecStart says, on a store of the test. A shell reads it as systemd does.
  Words start_of(const std::string& name) const {
    return {"-c", "exec " + service_value("ExecStart", unit(name))};
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
  ASSERT_TRUE(program.says("leading: mutex \"leader\"")) << program.err();
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait(), 0) << program.err();
  EXPECT_THAT(program.out(), HasSubstr("released"));
}

TEST_F(CliSystemd, OnlyTheCommandIsSignalledAndTheLeaderCleansUpAfterAKill) {
  for (const char* name : {"app.service", "leader.service"}) {
    EXPECT_EQ(service_value("KillMode", unit(name)), "mixed");
    EXPECT_EQ(service_value("Restart", unit(name)), "always");
    EXPECT_EQ(service_value("RestartPreventExitStatus", unit(name)), "64 77 78");
    EXPECT_NE(service_value("TimeoutStopSec", unit(name)), "");
  }
  EXPECT_THAT(
      service_value("ExecStart", unit("leader.service")),
      HasSubstr("--on-released '" + service_value("ExecStopPost", unit("leader.service")) + "'"));
}

TEST_F(CliSystemd, TheLeaderHasTimeForItsLastHookAndForALeaseThatRunsOut) {
  std::istringstream words{service_value("ExecStart", unit("leader.service"))};
  std::string word;
  while (word != "--drain") ASSERT_TRUE(words >> word);
  words >> word;
  const auto drain = config::parse_duration(word);
  const auto limit =
      config::parse_duration(service_value("TimeoutStopSec", unit("leader.service")));
  const ContentionOptions options;  // as they are by default
  EXPECT_GT(limit, drain + options.ttl + options.transition);
}

/// A typing error in a name, or the wrong section, would be a setting that does nothing.
TEST_F(CliSystemd, EverySettingIsOneThatSystemdHasInItsSection) {
  const std::map<std::string, std::set<std::string>> known{
      {"Unit", {"Description", "Wants", "After"}},
      {"Service",
       {"Type", "Environment", "ExecStart", "ExecStopPost", "KillMode", "TimeoutStopSec", "Restart",
        "RestartSec", "RestartPreventExitStatus", "WatchdogSec"}},
      {"Install", {"WantedBy"}}};
  for (const char* name : {"app.service", "leader.service"}) {
    for (const auto& [section, values] : settings_of(unit(name))) {
      ASSERT_TRUE(known.contains(section)) << name << ": " << section;
      for (const auto& [key, value] : values) {
        EXPECT_TRUE(known.at(section).contains(key)) << name << ": " << key;
        EXPECT_NE(value, "") << name << ": " << key;
      }
    }
  }
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
