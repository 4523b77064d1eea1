// Wrong command lines and settings, each with its exit code and its words.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/cli_fixture.hpp"

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
      {{}, 64, "subcommand is required"},
      {{"frob"}, 64, "there is no command frob"},
      {{"run", "--", "true"}, 64, "which mutex? name it by -m NAME"},
      {{"run", "-m", "m"}, 64, "there is no CMD to run; it comes after \"--\""},
      {{"run", "-m", "m", "--frob", "--", "true"}, 64, "--frob"},
      {{"run", "-m"}, 64, "--mutex"},
      {{"run", "-m", "m", "--timeout", "5x", "--", "true"}, 64, "--timeout is \"5x\""},
      {{"run", "-m", "m", "--timeout", "-5", "--", "true"}, 64, "--timeout"},
      {{"run", "-m", "m", "--on-loss", "panic", "--", "true"}, 64, "panic not in"},
      {{"run", "-m", " ", "--", "true"}, 64, "blank"},
      {{"run", "-m", std::string(67, 'm'), "--", "true"}, 64, "66"},
      {{"run", "-b", "memory:", "--config", "x", "-m", "m", "--", "true"}, 64, "excludes"},
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
      {{"--config", "/no/such/simba.yaml"}, 78, "/no/such/simba.yaml"},
      {{}, 78, "SIMBA_BACKEND", {{"SIMBA_BACKEND", "redsi://host"}}},
      {{"-b", "memory:"}, 78, "simba.enabled", {{"SIMBA_ENABLED", "false"}}},
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

TEST(CliUsage, PrintsErrorsAsObjectsWhenAsked) {
  CliProgram program{{"--json", "run", "-m", "m"}};
  EXPECT_EQ(program.wait(), 64);
  EXPECT_THAT(program.err(), HasSubstr(R"({"event":"error","message":"there is no CMD)"));
  EXPECT_THAT(program.err(), HasSubstr(R"("exit_code":64})"));
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
}

}  // namespace
}  // namespace simba
