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
      {{}, 64, "missing command"},
      {{"frob"}, 64, "unknown command \"frob\" (see \"simba --help\")"},
      {{"stauts"}, 64, "unknown command \"stauts\"; did you mean status?"},
      {{"help"}, 64, "unknown command \"help\"; did you mean --help?"},
      {{"help", "run"}, 64, "unexpected argument \"help\"; did you mean --help?"},
      {{"list"}, 64, "unknown command \"list\"; did you mean status?"},
      {{"lock", "-m", "m", "--", "true"}, 64, "unknown command \"lock\"; did you mean run?"},
      {{"run", "-m", "m", "--timout", "1s", "--", "true"}, 64, "did you mean --timeout?"},
      {{"run", "-m", "m", "true"},
       64,
       "unexpected argument \"true\"; put \"--\" before CMD: simba run -m NAME -- true"},
      {{"run", "x", "--", "true"}, 64, "unexpected argument \"x\"; did you mean -m x?"},
      {{"status", "x"}, 64, "unexpected argument \"x\"; did you mean -m x?"},
      {{"init", "x"}, 64, "unexpected argument \"x\" (see \"simba init --help\")"},
      {{"status", "-m", "a", "-m", "b"}, 64, "--mutex given more than once"},
      {{"status", "-m", ""}, 64, "mutex name after -m must not be blank"},
      {{"run", "--", "true"}, 64, "missing -m NAME (see \"simba run --help\")"},
      {{"run", "-m", "m"}, 64, "missing CMD; put it after \"--\": simba run -m m -- CMD"},
      {{"run", "-m", "m", "--frob", "--", "true"}, 64, "unknown option --frob"},
      {{"run", "-m"}, 64, "--mutex needs a value"},
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
       "--on-loss must be one of terminate, continue (got \"panic\")"},
      {{"run", "-m", "m", "--max-hold", "0", "--", "true"},
       64,
       "--max-hold must be more than 0 (got 0)"},
      {{"run", "-m", "m", "--max-hold", "1h", "--on-loss", "continue", "--", "true"},
       64,
       "--max-hold terminates CMD, so it excludes --on-loss continue"},
      {{"run", "-m", "m", "--drain", "5s", "--", "true"}, 64, "--drain requires --max-hold"},
      {{"elect", "-m", "m", "--max-hold", "5"}, 64, "did you mean 5s or 5ms?"},
      {{"run", "-m", "m", "--slot", "", "--", "true"}, 64, "a key must not be empty"},
      {{"run", "-m", "m", "--slot", std::string(201, 'k'), "--", "true"},
       64,
       "a key must not be longer than 200 bytes (got 201"},
      {{"run", "-m", "m", "--slot", "a\nb", "--", "true"}, 64, "a key must be printable"},
      {{"run", "-m", "m", "--slot", "a", "--once-per", "24h", "--", "true"},
       64,
       "--slot excludes --once-per; use only one of them"},
      {{"run", "-m", "m", "--once-per", "0", "--", "true"}, 64, "--once-per must be more than 0"},
      {{"run", "-m", "m", "--once-per", "7m", "--", "true"},
       64,
       "for example 15m, 6h, 24h or 168h"},
      {{"run", "-m", "m", "--once-per", "24h", "--zone", "Europe/Berln", "--", "true"},
       64,
       "unknown time zone \"Europe/Berln\"; did you mean Europe/Berlin?"},
      {{"run", "-m", "m", "--slot", "a", "--zone", "UTC", "--", "true"},
       64,
       "--zone requires --once-per"},
      {{"run", "-m", "m", "--promise", "at-least-once", "--", "true"},
       64,
       "--promise requires --slot or --once-per"},
      {{"run", "-m", "m", "--if-running", "exit", "--", "true"},
       64,
       "--if-running requires --slot or --once-per"},
      {{"run", "-m", "m", "--slot", "a", "--promise", "always", "--", "true"},
       64,
       "--promise must be one of at-most-once, at-least-once (got \"always\")"},
      {{"run", "-m", "m", "--slot", "a", "--max-attempts", "5", "--", "true"},
       64,
       "--max-attempts requires --promise at-least-once"},
      {{"run", "-m", "m", "--slot", "a", "--promise", "at-least-once", "--max-attempts", "0", "--",
        "true"},
       64,
       "--max-attempts must be a number from 1 to 1000 (got 0)"},
      {{"run", "-m", "m", "--max-hold", "1m", "--hold-at-least", "2m", "--", "true"},
       64,
       "--hold-at-least must not be longer than --max-hold"},
      {{"runs"}, 64, "missing -m NAME"},
      {{"run", "-m", " ", "--", "true"}, 64, "blank"},
      {{"run", "-m", std::string(67, 'm'), "--", "true"}, 64, "66"},
      {{"run", "-b", "memory:", "--config", "x", "-m", "m", "--", "true"},
       64,
       "--backend excludes --config; use only one of them"},
      {{"status", "--store", "redis"}, 64, "--store requires --config"},
      {{"schedule", "-m", "m", "--", "true"}, 64, "missing --every TIME or --cron FIELDS"},
      {{"schedule", "-m", "m", "--cron", "61 * * * *", "--", "true"},
       64,
       "invalid minute \"61\": must be between 0 and 59"},
      {{"schedule", "-m", "m", "--cron", "@daily", "--zone", "Europe/Berln", "--", "true"},
       64,
       "unknown time zone \"Europe/Berln\"; did you mean Europe/Berlin?"},
      {{"schedule", "-m", "m", "--cron", "@daily", "--every", "1s", "--", "true"},
       64,
       "--every excludes --cron; use only one of them"},
      {{"schedule", "-m", "m", "true"},
       64,
       "unexpected argument \"true\"; put \"--\" before CMD: simba schedule -m NAME -- true"},
      {{"schedule", "cleanup", "--every", "1s", "--", "true"},
       64,
       "unexpected argument \"cleanup\"; did you mean -m cleanup?"},
      {{"schedule", "puase", "-m", "m"}, 64, "unexpected argument \"puase\"; did you mean pause?"},
      {{"schedule", "pause"}, 64, "missing -m NAME (see \"simba schedule --help\")"},
      {{"schedule", "pause", "-m", "m", "--", "true"}, 64, "pause takes no arguments after \"--\""},
      {{"schedule", "-m", "m", "--every", "1s", "--missed", "some", "--", "true"},
       64,
       "--missed must be one of skip, latest, all (got \"some\")"},
      {{"schedule", "-m", "m", "--every", "1s", "--while-busy", "wait", "--", "true"},
       64,
       "--while-busy must be one of skip, queue-one, cancel-running (got \"wait\")"},
      {{"schedule", "-m", "m", "--every", "1s", "--per-leader", "--missed", "all", "--", "true"},
       64,
       "use only one of them"},
      {{"schedule", "-m", "m", "--every", "1s", "--jitter", "5", "--", "true"},
       64,
       "--jitter: \"5\" has no unit: did you mean 5s or 5ms?"},
      {{"schedule", "-m", "m", "--every", "1s", "--retry-pause", "5s", "--", "true"},
       64,
       "--retry-pause requires --promise at-least-once"},
      {{"schedule", "-m", "m", "--every", "1s", "--history", "51", "--", "true"},
       64,
       "--history must be a number from 1 to 50 (got 51)"},
      {{"schedule", "--at", "02:00"}, 64, "unknown option --at (see \"simba schedule --help\")"},
      {{"schedule", "--at", "02:00", "-m", "m", "--", "true"}, 64, "unknown option --at"},
      {{"schedule", "-m", "m", "--every", "0", "--", "true"},
       64,
       "--every must be more than 0 (got 0)"},
      {{"schedule", "-m", "m", "--every", "1s"}, 64, "missing CMD; put it after \"--\""},
      {{"elect"}, 64, "missing -m NAME"},
      {{"elect", "-m", "m", "--", "true"}, 64, "elect takes no arguments after \"--\""},
  };
  for (const auto& mistake : mistakes) {
    CliProgram program{mistake.words};
    EXPECT_EQ(program.wait(), mistake.code) << testing::PrintToString(mistake.words);
    EXPECT_THAT(program.err(), HasSubstr(mistake.message));
    EXPECT_THAT(program.err(), testing::StartsWith("simba: "));
    EXPECT_EQ(program.out(), "");
  }
}

TEST(CliUsage, SaysThatALineForAShellIsNotAProgram) {
  const support::TemporaryFolder folder;
  const std::string store = "sqlite:" + (folder.path() / "a.db").string();
  CliProgram program{{"run", "-b", store, "-m", "m", "--", "echo hi"}};
  EXPECT_EQ(program.wait(), 127);
  EXPECT_THAT(program.err(), HasSubstr("; \"echo hi\" is one word; use sh -c 'echo hi'\n"));
  CliProgram quotes{{"run", "-b", store, "-m", "m", "--", "echo 'hi'"}};
  EXPECT_EQ(quotes.wait(), 127);
  EXPECT_THAT(quotes.err(), HasSubstr(R"(use sh -c 'echo '\''hi'\''')"));
  CliProgram absent{{"run", "-b", store, "-m", "m", "--", "no-such-program", "echo hi"}};
  EXPECT_EQ(absent.wait(), 127);
  EXPECT_THAT(absent.err(), testing::Not(HasSubstr("one word")));
}

TEST(CliUsage, SaysWhatIsWrongWithTheConfiguration) {
  const std::vector<Mistake> mistakes{
      {{"-b", "rediss:"}, 78, "rediss:"},
      {{"-b", "127.0.0.1:6379"}, 78, "no scheme; for example redis://127.0.0.1:6379"},
      {{"-b", "redsi://host"}, 78, "did you mean"},
      {{"-b", "memory:?tll=5s"}, 78, "did you mean"},
      {{"-b", "memory:", "--ttl", "soon"}, 78, "--ttl"},
      {{"--ttl", "5"}, 78, "--ttl: \"5\" has no unit: did you mean 5s or 5ms?"},
      {{"-b", "redis://h?ttl=5"}, 78, "did you mean 5s or 5ms?"},
      {{"--config", "/no/such/simba.yaml"}, 78, "/no/such/simba.yaml"},
      {{"--config", "/no/such/simba.yaml"}, 78, "no such file; check the path given to --config"},
      {{"-b", "sqlite:"}, 78, "--backend: sqlite: missing path"},
      {{"-b", "memory:"}, 78, "variable SIMBA_TTL", {{"SIMBA_TTL", "5s"}}},
      {{"-b", "redis://h?password-env=x"}, 78, "the environment variable that it names is not set"},
      {{}, 78, "SIMBA_BACKEND", {{"SIMBA_BACKEND", "redsi://host"}}},
      {{"-b", "memory:"},
       78,
       "disabled by the environment variable SIMBA_ENABLED",
       {{"SIMBA_ENABLED", "false"}}},
      {{}, 78, "HOME is not set", {{"HOME", ""}}},
      {{}, 78, "set SIMBA_REDIS_ENABLED=true too", {{"SIMBA_REDIS_HOSTS", "redis"}}},
      {{},
       78,
       "variable SIMBA_REDIS_HOSTS",
       {{"SIMBA_REDIS_HOSTS", "redis"}, {"SIMBA_SQLITE_PATH", "/a"}}},
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
    EXPECT_THAT(program.err(), HasSubstr("margin must be at least 50 ms (got 0 ms)"));
  }
  CliProgram derived{
      {"run", "-b", store, "--ttl", "500ms", "--transition", "480ms", "-m", "m", "--", "true"}};
  EXPECT_EQ(derived.wait(), 78);
  EXPECT_THAT(derived.err(), HasSubstr("margin must be at least 50 ms (got 49 ms)"));
  EXPECT_THAT(derived.err(), HasSubstr("ttl + transition at least 1000 ms"));
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

TEST(CliUsage, SaysWhomTheDefaultStoreExcludes) {
  constexpr auto note =
      "simba: no store named: excludes only processes of this user on this host; use -b URL to "
      "share a store between hosts\n";
  CliProgram run{{"run", "-m", "m", "--", "true"}};
  EXPECT_EQ(run.wait(), 0);
  EXPECT_EQ(run.err(), note);
  CliProgram elect{{"elect", "-m", "m"}};
  EXPECT_TRUE(elect.notes(note));
  CliProgram schedule{{"schedule", "-m", "m", "--every", "1h", "--", "true"}};
  EXPECT_TRUE(schedule.notes(note));
  const support::TemporaryFolder folder;
  const std::string file = (folder.path() / "simba.db").string();
  CliProgram named{{"run", "-m", "m", "--", "true"}, {{"SIMBA_SQLITE_PATH", file}}};
  EXPECT_EQ(named.wait(), 0);
  EXPECT_EQ(named.err(), "");
}

TEST(CliUsage, WarnsOfAPasswordFileThatEveryoneCanRead) {
  const support::TemporaryFolder folder;
  const auto file = folder.path() / "password";
  std::ofstream{file} << "secret";
  std::filesystem::permissions(file, std::filesystem::perms{0644});
  const std::string store = "redis://127.0.0.1:1?password-file=" + file.string();
  CliProgram run{{"run", "-b", store, "-m", "m", "--timeout", "0", "--", "true"}};
  EXPECT_EQ(run.wait(), 69);
  EXPECT_THAT(run.err(), HasSubstr("every user of this host can read the file (mode 0644)"));
  CliProgram doctor{{"doctor", "-b", store}};
  EXPECT_EQ(doctor.wait(), 69);
  EXPECT_THAT(doctor.out(), HasSubstr("every user of this host can read the file (mode 0644)"));
}

TEST(CliUsage, PrintsErrorsAsObjectsWhenAsked) {
  CliProgram program{{"--json", "run", "-m", "m"}};
  EXPECT_EQ(program.wait(), 64);
  EXPECT_THAT(program.err(), HasSubstr(R"({"event":"error","message":"missing CMD)"));
  EXPECT_THAT(program.err(), HasSubstr(R"("exit_code":64})"));
}

TEST(CliUsage, SaysWhichFileSwitchesItOff) {
  const support::TemporaryFolder folder;
  const std::string file = (folder.path() / "simba.yaml").string();
  std::ofstream{file} << "simba:\n  enabled: false\n";
  CliProgram program{{"status", "--config", file}};
  EXPECT_EQ(program.wait(), 78);
  EXPECT_THAT(program.err(), HasSubstr("disabled by simba.enabled in " + file));
}

TEST(CliUsage, AFileThatMayNotBeReadIsExitCode77) {
  const support::TemporaryFolder folder;
  const auto file = folder.path() / "simba.yaml";
  std::ofstream{file} << "simba:\n";
  std::filesystem::permissions(file, std::filesystem::perms::none);
  CliProgram program = support::as_ordinary_user({"status", "--config", file.string()});
  EXPECT_EQ(program.wait(), 77);
  EXPECT_THAT(program.err(), HasSubstr("permission denied"));
}

TEST(CliUsage, NotesThatAVariableOverridesAFile) {
  const support::TemporaryFolder folder;
  const std::string file = (folder.path() / "simba.yaml").string();
  std::ofstream{file} << "simba:\n  redis:\n    hosts: 127.0.0.1:1\n";
  CliProgram program{{"init", "--config", file},
                     {{"SIMBA_BACKEND", "sqlite:" + (folder.path() / "a.db").string()}}};
  EXPECT_EQ(program.wait(), 0) << program.err();
  EXPECT_THAT(program.err(), HasSubstr("SIMBA_BACKEND is set and overrides the stores in " + file));
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
