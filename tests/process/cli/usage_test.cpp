// Wrong command lines and settings, each with its exit code and its words.
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/cli/fixture.hpp"

namespace simba {
namespace {

using support::CliProgram;
using testing::HasSubstr;

struct Mistake {
  std::vector<std::string> words{};
  int code = 64;
  std::string message{};
  CliProgram::Variables variables{};
};

TEST(CliUsage, SaysWhatIsWrongWithTheCommandLine) {
  const std::vector<Mistake> mistakes{
      {{}, 64, "a command is missing"},
      {{"frob"}, 64, "there is no command frob"},
      {{"stauts"}, 64, "there is no command stauts; did you mean status?"},
      {{"run", "-m", "m", "--timout", "1s", "--", "true"}, 64, "did you mean --timeout?"},
      {{"run", "-m", "m", "true"}, 64, "put \"--\" before CMD: simba run -m NAME -- true"},
      {{"status", "-m", "a", "-m", "b"}, 64, "--mutex is given more than once"},
      {{"status", "-m", ""}, 64, "after -m is blank"},
      {{"run", "--", "true"}, 64, "which mutex? name it by -m NAME"},
      {{"run", "-m", "m"}, 64, "there is no CMD to run; it comes after \"--\""},
      {{"run", "-m", "m", "--frob", "--", "true"}, 64, "--frob"},
      {{"run", "-m"}, 64, "--mutex"},
      {{"run", "-m", "m", "--timeout", "5x", "--", "true"},
       64,
       "--timeout: \"5x\" is not a duration"},
      {{"run", "-m", "m", "--timeout", "5", "--", "true"},
       64,
       "--timeout: \"5\" has no unit: did you mean 5s or 5ms?"},
      {{"schedule", "-m", "m", "--every", "30", "--", "true"}, 64, "did you mean 30s or 30ms?"},
      {{"run", "-m", "m", "--timeout", "-5", "--", "true"}, 64, "--timeout"},
      {{"run", "-m", "m", "--on-loss", "panic", "--", "true"},
       64,
       "--on-loss is \"panic\"; allowed: "},
      {{"run", "-m", " ", "--", "true"}, 64, "blank"},
      {{"run", "-m", std::string(67, 'm'), "--", "true"}, 64, "66"},
      {{"run", "-b", "memory:", "--config", "x", "-m", "m", "--", "true"}, 64, "excludes"},
      {{"status", "--store", "redis"}, 64, "--store requires --config"},
      {{"schedule", "-m", "m", "--", "true"}, 64, "--every"},
      {{"schedule", "-m", "m", "--every", "0", "--", "true"}, 64, "more than 0"},
      {{"schedule", "-m", "m", "--every", "1s"}, 64, "there is no CMD to run"},
      {{"elect"}, 64, "which mutex?"},
      {{"elect", "-m", "m", "--", "true"}, 64, "elect takes nothing after \"--\""},
  };
  for (const auto& mistake : mistakes) {
    CliProgram program{mistake.words};
    EXPECT_EQ(program.wait(), mistake.code) << testing::PrintToString(mistake.words);
    EXPECT_THAT(program.err(), HasSubstr(mistake.message));
    EXPECT_THAT(program.err(), testing::StartsWith("simba: "));
    EXPECT_EQ(program.out(), "");
  }
}

TEST(CliUsage, SaysWhatIsWrongWithTheConfiguration) {
  const std::vector<Mistake> mistakes{
      {{"-b", "rediss:"}, 78, "rediss:"},
      {{"-b", "redsi://host"}, 78, "did you mean"},
      {{"-b", "memory:?tll=5s"}, 78, "did you mean"},
      {{"-b", "memory:", "--ttl", "soon"}, 78, "--ttl"},
      {{"--ttl", "5"}, 78, "--ttl: \"5\" has no unit: did you mean 5s or 5ms?"},
      {{"-b", "redis://h?ttl=5"}, 78, "did you mean 5s or 5ms?"},
      {{"--config", "/no/such/simba.yaml"}, 78, "/no/such/simba.yaml"},
      {{"--config", "/no/such/simba.yaml"}, 78, "check the path that --config gives"},
      {{"-b", "sqlite:"}, 78, "--backend: sqlite: missing path"},
      {{"-b", "memory:"}, 78, "variable SIMBA_TTL", {{"SIMBA_TTL", "5s"}}},
      {{"-b", "redis://h?password-env=x"}, 78, "the environment variable that it names is not set"},
      {{}, 78, "SIMBA_BACKEND", {{"SIMBA_BACKEND", "redsi://host"}}},
      {{"-b", "memory:"}, 78, "by the variable SIMBA_ENABLED", {{"SIMBA_ENABLED", "false"}}},
      {{}, 78, "HOME is not set", {{"HOME", ""}}},
      {{"-b", "sqlite:/no/such/folder/simba.db", "--timeout", "0"}, 78, "/no/such/folder"},
  };
  for (auto mistake : mistakes) {
    mistake.words.insert(mistake.words.begin(), "run");
    mistake.words.insert(mistake.words.end(), {"-m", "m", "--", "true"});
    CliProgram program{mistake.words, mistake.variables};
    EXPECT_EQ(program.wait(), mistake.code) << testing::PrintToString(mistake.words);
    EXPECT_THAT(program.err(), HasSubstr(mistake.message));
  }
}

TEST(CliUsage, RefusesStoresThatExcludeNobody) {
  const std::vector<std::vector<std::string>> commands{
      {"run", "-m", "m", "--", "true"},
      {"elect", "-m", "m"},
      {"schedule", "-m", "m", "--every", "1h", "--", "true"},
      {"status"},
      {"watch"},
      {"release", "-m", "m", "--force"},
      {"init"}};
  for (const auto& command : commands) {
    for (const auto* const store : {"memory:", "sqlite::memory:"}) {
      std::vector<std::string> words{"-b", store};
      words.insert(words.end(), command.begin(), command.end());
      CliProgram program{words};
      EXPECT_EQ(program.wait(), 78) << testing::PrintToString(words);
      EXPECT_THAT(program.err(), HasSubstr("inside one process")) << testing::PrintToString(words);
      EXPECT_EQ(program.out(), "");
    }
  }
}

TEST(CliUsage, RefusesAMarginThatIsTooShortToEndCmd) {
  const support::TemporaryFolder folder;
  const std::string store = "sqlite:" + (folder.path() / "a.db").string();
  const std::vector<std::vector<std::string>> commands{
      {"run", "-m", "m", "--", "true"},
      {"elect", "-m", "m"},
      {"schedule", "-m", "m", "--every", "1h", "--", "true"}};
  for (const auto& command : commands) {
    std::vector<std::string> words{"-b", store + "?margin=0"};
    words.insert(words.end(), command.begin(), command.end());
    CliProgram program{words};
    EXPECT_EQ(program.wait(), 78) << testing::PrintToString(words);
    EXPECT_THAT(program.err(), HasSubstr("margin is 0 ms but must be at least 50 ms"));
  }
  CliProgram derived{
      {"run", "-b", store, "--ttl", "500ms", "--transition", "480ms", "-m", "m", "--", "true"}};
  EXPECT_EQ(derived.wait(), 78);
  EXPECT_THAT(derived.err(), HasSubstr("margin is 49 ms but must be at least 50 ms"));
  EXPECT_THAT(derived.err(), HasSubstr("ttl + transition be at least 1000 ms"));
  CliProgram enough{{"run", "-b", store + "?margin=50ms", "-m", "m", "--", "true"}};
  EXPECT_EQ(enough.wait(), 0) << enough.err();
}

TEST(CliUsage, LocksTheFileThatTheOptionNamesWhateverTheEnvironmentSays) {
  const support::TemporaryFolder folder;
  const auto mine = folder.path() / "mine.db";
  const auto other = folder.path() / "other.db";
  CliProgram program{{"run", "-b", "sqlite:" + mine.string(), "-m", "m", "--", "true"},
                     {{"SIMBA_SQLITE_PATH", other.string()},
                      {"SIMBA_BACKEND", "sqlite:" + other.string()},
                      {"SIMBA_SQLITE_URL", "sqlite:" + other.string()},
                      {"SIMBA_ENABLED", "1"}}};
  EXPECT_EQ(program.wait(), 0) << program.err();
  EXPECT_TRUE(std::filesystem::exists(mine));
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST(CliUsage, PrintsErrorsAsObjectsWhenAsked) {
  CliProgram program{{"--json", "run", "-m", "m"}};
  EXPECT_EQ(program.wait(), 64);
  EXPECT_THAT(program.err(), HasSubstr(R"({"event":"error","message":"there is no CMD)"));
  EXPECT_THAT(program.err(), HasSubstr(R"("exit_code":64})"));
}

TEST(CliUsage, SaysWhichFileSwitchesItOff) {
  const support::TemporaryFolder folder;
  const std::string file = (folder.path() / "simba.yaml").string();
  std::ofstream{file} << "simba:\n  enabled: false\n";
  CliProgram program{{"status", "--config", file}};
  EXPECT_EQ(program.wait(), 78);
  EXPECT_THAT(program.err(), HasSubstr("switched off by simba.enabled in " + file));
}

TEST(CliUsage, AFileThatMayNotBeReadIsExitCode77) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const support::TemporaryFolder folder;
  const auto file = folder.path() / "simba.yaml";
  std::ofstream{file} << "simba:\n";
  std::filesystem::permissions(file, std::filesystem::perms::none);
  CliProgram program{{"status", "--config", file.string()}};
  EXPECT_EQ(program.wait(), 77);
  EXPECT_THAT(program.err(), HasSubstr("may not read"));
}

TEST(CliUsage, NotesThatAVariableGoesBeforeAFile) {
  const support::TemporaryFolder folder;
  const std::string file = (folder.path() / "simba.yaml").string();
  std::ofstream{file} << "simba:\n  redis:\n    hosts: 127.0.0.1:1\n";
  CliProgram program{{"init", "--config", file},
                     {{"SIMBA_BACKEND", "sqlite:" + (folder.path() / "a.db").string()}}};
  EXPECT_EQ(program.wait(), 0) << program.err();
  EXPECT_THAT(program.err(), HasSubstr("SIMBA_BACKEND is set, so what " + file + " says"));
}

TEST(CliUsage, PrintsTheLogAsObjectsWhenAsked) {
  const support::TemporaryFolder folder;
  CliProgram program{{"run", "--json", "-vv", "-b", "sqlite:" + (folder.path() / "a").string(),
                      "-m", "m", "--", "true"}};
  EXPECT_EQ(program.wait(), 0) << program.err();
  EXPECT_THAT(program.err(), HasSubstr(R"({"event":"log","level":)"));
  std::istringstream lines{program.err()};
  for (std::string line; std::getline(lines, line);) EXPECT_EQ(line.front(), '{') << line;
}

TEST(CliUsage, TellsThatAResultCouldNotBeWritten) {
  const support::TemporaryFolder folder;
  const std::string store = "-b sqlite:" + (folder.path() / "a.db").string();
  for (const std::string& line :
       {"init " + store, "status -m x " + store, std::string{"--help"}, std::string{"--version"}}) {
    const std::string command = "timeout 20 " SIMBA_TEST_COMMAND " " + line + " >/dev/full 2>" +
                                (folder.path() / "err").string();
    const int status = std::system(command.c_str());
    EXPECT_EQ(WEXITSTATUS(status), 70) << line;
    EXPECT_THAT(support::content_of(folder.path() / "err"), HasSubstr("standard output")) << line;
  }
}

TEST(CliUsage, HelpOfACommandHasWhatAllHaveInCommon) {
  CliProgram run{{"run", "--help"}};
  EXPECT_EQ(run.wait(), 0);
  EXPECT_THAT(run.out(),
              testing::AllOf(HasSubstr("Usage: simba run -m NAME [OPTIONS] -- CMD"),
                             HasSubstr("--mutex"), HasSubstr("--backend"), HasSubstr("--json"),
                             HasSubstr("--on-loss"), testing::Not(HasSubstr("{terminate"))));
  CliProgram demo{{"demo", "--help"}};
  EXPECT_EQ(demo.wait(), 0);
  EXPECT_THAT(demo.out(), testing::Not(HasSubstr("SUBCOMMAND")));
}

TEST(CliUsage, HelpsAndTellsItsVersion) {
  CliProgram help{{"--help"}};
  EXPECT_EQ(help.wait(), 0);
  EXPECT_THAT(help.out(), testing::AllOf(HasSubstr("run"), HasSubstr("schedule"),
                                         HasSubstr("elect"), HasSubstr("Exit codes")));
  CliProgram run{{"run", "--help"}};
  EXPECT_EQ(run.wait(), 0);
  EXPECT_THAT(run.out(), HasSubstr("Examples:"));
  CliProgram version{{"--version"}};
  EXPECT_EQ(version.wait(), 0);
  EXPECT_THAT(version.out(), testing::MatchesRegex("simba [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  CliProgram object{{"--version", "--json"}};
  EXPECT_EQ(object.wait(), 0);
  EXPECT_THAT(object.out(), testing::StartsWith(R"({"version":")"));
}

}  // namespace
}  // namespace simba
