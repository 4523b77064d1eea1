// simba status, watch, release and init on real stores, and what every command has in common.
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/cli/stores.hpp"
#include "simba/config/make_factory.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/sqlite/sqlite_factory.hpp"
#include "support/redis/redis_console.hpp"
#include "support/redis/redis_servers.hpp"

namespace {

using namespace simba::support;
using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class CliLook : public testing::TestWithParam<CliStore> {
 protected:
  /// Holds the mutex from this process.
  struct Holder {
    explicit Holder(const std::string& url, const std::string& mutex, const std::string& id)
        : factory{simba::make_factory(url)}, locker{mutex, *factory, id} {
      locker.acquire(30s);
    }
    std::unique_ptr<simba::MutexServiceFactory> factory;
    simba::SimbaLocker locker;
  };

  std::string url() const { return GetParam().url(folder_.path(), {}); }

  CliEnd simba(std::vector<std::string> words) const {
    words.insert(words.end(), {"-b", url()});
    return run_cli(std::move(words));
  }

  json status_of(const std::string& mutex) const {
    const auto end = simba({"status", "-m", mutex, "--json"});
    EXPECT_EQ(end.code, 0) << end.err;
    return json::parse(end.out);
  }

 private:
  const TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Stores, CliLook, testing::ValuesIn(cli_stores()),
                         [](const auto& store) { return cli_store_name(store.param); });

TEST(CliRunWithAPassword, KeepsTheVariableThatNamesItFromTheCommandUnlessToldToShareIt) {
  const Location location = redis_location();
  const std::string url = fmt::format("redis://{}@{}:{}/0?password-env=OUR_KEY", location.user,
                                      location.host, location.port);
  const std::string password = "OUR_KEY=" + location.password + '\n';
  for (const bool shares : {false, true}) {
    std::vector<std::string> words{"run", "-b", url, "-m", own_mutex("env"), "--", "env"};
    if (shares) words.insert(words.begin() + 1, "--share-passwords");
    CliProgram program{words, {{"OUR_KEY", location.password}, {"OUR_KEYS", "another"}}};
    ASSERT_EQ(program.wait(), 0) << program.err();
    EXPECT_EQ(program.out().find(password) != std::string::npos, shares);
    EXPECT_THAT(program.out(), HasSubstr("OUR_KEYS=another\n"));
  }
}

TEST_P(CliLook, StatusShowsWhoOwnsWhat) {
  const auto mutex = own_mutex("status");
  const Holder holder{url(), mutex, "ann"};
  const auto all = simba({"status"});
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_THAT(all.out, HasSubstr("MUTEX"));
  EXPECT_TRUE(std::regex_search(all.out, std::regex{mutex + " +ann +[0-9-]+ [0-9:]+ "})) << all.out;
  const auto entry = status_of(mutex);
  EXPECT_EQ(entry.at("owner"), "ann");
  EXPECT_EQ(entry.at("token"), holder.locker.fencing_token());
  const bool session = GetParam().name == "ZooKeeper";
  EXPECT_EQ(entry.at("session"), session);
  EXPECT_EQ(entry.at("left_ms").is_null(), session);
}

// The attack: CMD shuts down the connection of its simba, and with it the session.
TEST_P(CliLook, RunGivesItsCommandNoConnectionOfTheStore) {
  ASSERT_EQ(simba({"init"}).code, 0);
  CliProgram program{
      CliProgram::Any::program,
      "bash",  // sh has one more of its own while it redirects
      {"-c", "ls /proc/$$/fd >\"$HOME/before\"; exec \"$@\"", "sh", SIMBA_TEST_COMMAND, "run", "-b",
       url(), "-m", own_mutex("inherits"), "--", "sh", "-c", "ls /proc/$$/fd; true"}};
  EXPECT_EQ(program.wait(), 0) << program.err();
  const std::string before = content_of(program.home() / "before");
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  const int shared_lock = GetParam().name == "Sqlite" ? 1 : 0;
  EXPECT_EQ(lines(program.out()), lines(before) + shared_lock) << program.out() << before;
}

TEST_P(CliLook, StatusShowsAFreeMutexAsFree) {
  const auto mutex = own_mutex("free");
  ASSERT_EQ(simba({"init"}).code, 0);
  const auto end = simba({"status", "-m", mutex});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_TRUE(std::regex_search(end.out, std::regex{mutex + " +free +- +- "})) << end.out;
  EXPECT_TRUE(status_of(mutex).at("owner").is_null());
}

TEST_P(CliLook, ReleaseTakesTheMutexAndTellsWhoOwnedIt) {
  const auto mutex = own_mutex("release");
  const Holder holder{url(), mutex, "ann"};
  const auto lost = holder.locker.lost();
  const auto end = simba({"release", "-m", mutex, "--force"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("which was owned by ann"));
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  const auto again = simba({"release", "-m", mutex, "--force", "--json"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(json::parse(again.out).at("event"), "free");
}

TEST_P(CliLook, WatchShowsEachChangeOfAMutex) {
  const auto mutex = own_mutex("watch");
  ASSERT_EQ(simba({"init"}).code, 0);
  CliProgram watch{{"watch", "-b", url(), "-m", mutex}};
  ASSERT_TRUE(watch.says("is free")) << watch.err();
  {
    const Holder holder{url(), mutex, "ann"};
    EXPECT_TRUE(watch.says("free -> ann")) << watch.out() << watch.err();
  }
  EXPECT_TRUE(watch.says("ann -> free")) << watch.out() << watch.err();
  watch.signal(SIGINT);
  EXPECT_EQ(watch.wait(), 0);
}

TEST_P(CliLook, WatchFindsMutexesThatComeLater) {
  const auto mutex = own_mutex("later");
  ASSERT_EQ(simba({"init"}).code, 0);
  CliProgram watch{{"watch", "-b", url(), "--json"}};
  const Holder holder{url(), mutex, "ann"};
  // It may have come before the first look, or after it.
  ASSERT_TRUE(eventually([&] {
    return contains(watch.out(), "\"mutex\":\"" + mutex + "\",\"owner\":\"ann\"") ||
           contains(watch.out(), "\"before\":null,\"owner\":\"ann\"");
  })) << watch.out()
      << watch.err();
  watch.signal(SIGTERM);
  EXPECT_EQ(watch.wait(), 0);
}

TEST_P(CliLook, InitMayBeRunAgain) {
  EXPECT_EQ(simba({"init"}).code, 0);
  const auto again = simba({"init", "--json"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(json::parse(again.out).at("event"), "init");
}

TEST_P(CliLook, AStoreThatIsNotThereIsExitCode69) {
  const std::string& nowhere = GetParam().nowhere;
  if (nowhere.empty()) GTEST_SKIP() << "it has no server";
  for (const std::vector<std::string>& words : {std::vector<std::string>{"status"},
                                                {"watch"},
                                                {"release", "-m", "x", "--force"},
                                                {"init"}}) {
    if (words.front() == "init" && GetParam().name == "Redis") continue;  // has nothing to make
    auto whole = words;
    whole.insert(whole.end(), {"-b", nowhere});
    const auto end = run_cli(whole);
    EXPECT_EQ(end.code, 69) << words.front() << ": " << end.err;
    EXPECT_THAT(end.err, HasSubstr("simba doctor"));
  }
}

TEST_P(CliLook, AStoreThatIsNotThereIsReportedOnce) {
  const std::string& nowhere = GetParam().nowhere;
  if (nowhere.empty()) GTEST_SKIP() << "it has no server";
  const auto reports = [](const std::string& text) {
    const std::regex reason{"[Cc]onnection refused|Can't connect|cannot connect to ZooKeeper"};
    return std::distance(std::sregex_iterator{text.begin(), text.end(), reason},
                         std::sregex_iterator{});
  };
  // Long enough for a note that it waits.
  const auto run = run_cli({"run", "-b", nowhere, "-m", "m", "--timeout", "2500ms", "--", "true"});
  EXPECT_EQ(run.code, 69) << run.err;
  EXPECT_EQ(reports(run.err), 1) << run.err;
  EXPECT_THAT(run.err, HasSubstr("gave up waiting for mutex \"m\" after"));
  const auto at_once = run_cli({"run", "-b", nowhere, "-m", "m", "--timeout", "0", "--", "true"});
  EXPECT_EQ(reports(at_once.err), 1) << at_once.err;
  CliProgram elect{{"elect", "-b", nowhere, "-m", "m"}};
  EXPECT_TRUE(elect.notes("acquisition failed")) << elect.err();
  elect.signal(SIGTERM);
  elect.wait();
  EXPECT_EQ(reports(elect.err()), 1) << elect.err();
}

TEST_P(CliLook, AWrongPasswordIsExitCode77AndIsNotShown) {
  if (!GetParam().has_password) GTEST_SKIP() << "it has no password";
  const TemporaryFolder folder;
  const auto end = run_cli({"status", "-b", GetParam().url(folder.path(), "s3cret-but-wrong")});
  EXPECT_EQ(end.code, 77) << end.err;
  EXPECT_THAT(end.err, Not(HasSubstr("s3cret")));
}

// ---- without a server ------------------------------------------------------------------------

TEST(CliLookAnyStore, WorksWithoutAnyOptionInTheHomeOfTheUser) {
  const TemporaryFolder state;
  const CliProgram::Variables variables{{"XDG_STATE_HOME", state.path().string()}};
  const auto first = run_cli({"status"}, variables);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("no mutexes in the store yet"));
  EXPECT_EQ(run_cli({"init"}, variables).code, 0);
  EXPECT_TRUE(std::filesystem::exists(state.path() / "simba" / "simba.db"));
}

TEST(CliLookAnyStore, AFileThatDoesNotExistDoesNotLookHealthy) {
  const TemporaryFolder folder;
  const std::vector<std::vector<std::string>> commands{
      {"status"}, {"status", "-m", "m"}, {"watch"}, {"release", "-m", "m", "--force"}};
  for (const std::string& missing :
       {folder.path().string() + "/typo/simba.db", folder.path().string() + "/typo.db"}) {
    for (auto words : commands) {
      const auto by_variable = run_cli(words, {{"SIMBA_SQLITE_PATH", missing}});
      words.insert(words.end(), {"-b", "sqlite:" + missing});
      for (const auto& end : {run_cli(words), by_variable}) {
        EXPECT_EQ(end.code, 78) << testing::PrintToString(words) << end.out << end.err;
        EXPECT_THAT(end.err, HasSubstr("does not exist; check the path"));
        EXPECT_EQ(end.out, "");
      }
    }
    EXPECT_FALSE(std::filesystem::exists(missing));
  }
}

TEST(CliLookAnyStore, ReleaseWantsForceAndSaysWhy) {
  const auto end = run_cli({"release", "-m", "backup"});
  EXPECT_EQ(end.code, 64);
  EXPECT_THAT(end.err, HasSubstr("may result in two owners"));
  EXPECT_THAT(end.err, HasSubstr("--force"));
}

TEST(CliLookAnyStore, AWrongCommandLineIsExitCode64) {
  const std::vector<std::vector<std::string>> lines{
      {},
      {"statsu"},
      {"status", "--nonsense"},
      {"release", "--force"},
      {"watch", "--", "true"},
      {"status", "-b", "memory:", "--config", "simba.yaml"},
      {"demo", "-b", "memory:"}};
  for (const auto& line : lines) {
    const auto end = run_cli(line);
    EXPECT_EQ(end.code, 64) << testing::PrintToString(line) << end.err;
    EXPECT_THAT(end.err, HasSubstr("simba: "));
  }
}

TEST(CliLookAnyStore, AWrongSettingIsExitCode78) {
  const std::vector<std::vector<std::string>> lines{
      {"status", "-b", "rediss:/nowhere:x"},
      {"status", "-b", "oracle://db"},
      {"watch", "-b", "sqlite:/tmp/x.db?tttl=5s"},
      {"init", "--config", "/nowhere/simba.yaml"},
      {"release", "-m", "x", "--force", "--ttl", "soon"},
      {"status", "-b", "memory:"}};
  for (const auto& line : lines) {
    const auto end = run_cli(line);
    EXPECT_EQ(end.code, 78) << testing::PrintToString(line) << end.err;
  }
}

TEST(CliLookAnyStore, ErrorsAreObjectsWithJson) {
  const auto end = run_cli({"status", "--json", "-b", "redis://127.0.0.1:1"});
  EXPECT_EQ(end.code, 69);
  EXPECT_EQ(end.out, "");
  const auto error = json::parse(end.err);
  EXPECT_EQ(error.at("event"), "error");
  EXPECT_EQ(error.at("exit_code"), 69);
}

TEST(CliLookAnyStore, NamesCannotSteerATerminal) {
  const TemporaryFolder folder;
  const auto url = "sqlite:" + (folder.path() / "simba.db").string();
  const auto factory = simba::make_factory(url);
  simba::SimbaLocker locker{"red\033[31m", *factory, "ann\a"};
  locker.acquire(30s);
  const auto end = run_cli({"status", "-b", url});
  EXPECT_THAT(end.out, HasSubstr("red\\x1b[31m"));
  EXPECT_THAT(end.out, HasSubstr("ann\\x07"));
  EXPECT_THAT(end.out, Not(HasSubstr("\033")));
}

TEST(CliLookAnyStore, WatchEndsWhenNobodyReadsIt) {
  const TemporaryFolder folder;
  const auto url = "sqlite:" + (folder.path() / "simba.db").string();
  ASSERT_EQ(run_cli({"init", "-b", url}).code, 0);
  const std::string line =
      std::string{SIMBA_TEST_COMMAND} + " watch -m x -b " + url + " | head -n 1 | grep -q free";
  EXPECT_EQ(std::system(("timeout 60 sh -c '" + line + "'").c_str()), 0);
}

TEST(CliLookAnyStore, WatchShowsAReleaseBetweenItsFirstLookAndItsWatch) {
  const TemporaryFolder folder;
  const auto url = "sqlite:" + (folder.path() / "simba.db").string();
  const auto factory = simba::make_factory(url);
  simba::SimbaLocker locker{"m", *factory, "ann"};
  locker.acquire(30s);
  // It prints what it has seen at first before it watches. That does not fit into the pipe.
  const auto repository =
      simba::sqlite::make_sqlite_repository({.path = folder.path() / "simba.db"});
  for (int i = 0; i < 300; ++i) repository->ensure_owner("n" + std::to_string(i));
  OutputPipe pipe{folder.path() / "pipe"};
  pipe.fill();
  pipe.make_room();
  const int filling = pipe.size();
  CliProgram watch{pipe.run({"watch", "-b", url})};
  ASSERT_TRUE(eventually([&] { return pipe.size() > filling; })) << watch.err();
  locker.close();
  EXPECT_TRUE(pipe.has("is owned by ann"));
  EXPECT_TRUE(pipe.has("ann -> free")) << pipe.read() << watch.err();
  watch.signal(SIGTERM);
  EXPECT_EQ(watch.wait(), 0);
}

// The attack: somebody who may write to the store leaves a name there that we do not accept.
TEST(CliLookAnyStore, ABadNameInTheStoreDoesNotEndWatch) {
  RedisServer server;
  Location location = server.location();
  location.user = "admin";  // who may list keys
  const auto url = url_with("redis", location, {});
  RedisConsole{server.location()}.ask({"SET", "simba:{ }", "mallory", "PX", "600000"});
  const auto factory = simba::make_factory(url);
  simba::SimbaLocker locker{"m", *factory, "ann"};
  locker.acquire(30s);
  CliProgram watch{{"watch", "-b", url}};
  EXPECT_TRUE(watch.says("is owned by ann")) << watch.err();
  EXPECT_TRUE(watch.notes("cannot watch mutex \" \": ")) << watch.err();
  locker.close();
  EXPECT_TRUE(watch.says("ann -> free")) << watch.err();
  watch.signal(SIGTERM);
  EXPECT_EQ(watch.wait(), 0) << watch.err();
}

TEST(CliLookOutage, WatchGoesOnWhileTheStoreIsAway) {
  RedisServer server;
  CliProgram watch{{"watch", "-m", "x", "-b", url_with("redis", server.location(), {})}};
  ASSERT_TRUE(watch.says("is free")) << watch.err();
  server.stop();
  EXPECT_TRUE(watch.notes("cannot see changes at present")) << watch.err();
  server.start();
  EXPECT_TRUE(watch.notes("the store answers again")) << watch.err();
  watch.signal(SIGTERM);
  EXPECT_EQ(watch.wait(), 0);
}

// ---- completion and manual ---------------------------------------------------------------------

std::vector<std::string> matches(const std::string& text, const char* pattern) {
  const std::regex form{pattern};
  std::vector<std::string> found;
  for (std::sregex_iterator at{text.begin(), text.end(), form}, end; at != end; ++at) {
    found.push_back((*at)[1]);
  }
  return found;
}

std::vector<std::string> commands() {
  const std::string help = run_cli({"--help"}).out;
  const auto begin = help.find("Subcommands:");
  return matches(help.substr(begin, help.find("Examples:") - begin), R"(\n  ([a-z]+) )");
}

TEST(CliDocuments, CompletionAndManualKnowEveryCommandAndOption) {
  const std::filesystem::path cli = std::filesystem::path{SIMBA_TEST_SOURCES} / "cli";
  const std::string manual = content_of(cli / "man" / "simba.1");
  ASSERT_GE(commands().size(), 6U);
  for (const auto& command : commands()) {
    EXPECT_THAT(manual, HasSubstr("\n.B " + command + "\n"));
    const std::string help = run_cli({command, "--help"}).out;
    for (const auto& option :
         matches(help + run_cli({"--help"}).out, R"(\n  (?:-[a-zA-Z],)?(--[a-z-]+))")) {
      EXPECT_THAT(content_of(cli / "completion" / "simba.bash"), HasSubstr(option)) << command;
      EXPECT_THAT(content_of(cli / "completion" / "_simba"), HasSubstr(option)) << command;
      EXPECT_THAT(manual, HasSubstr(std::regex_replace(option, std::regex{"-"}, "\\-")));
    }
  }
}

/// What bash, started in `folder`, offers after this line, the last word of which is being typed.
std::string completed(const std::string& line, const TemporaryFolder& folder = {}) {
  const auto script = folder.path() / "script";
  std::ofstream{script} << "source " SIMBA_TEST_SOURCES "/cli/completion/simba.bash\n"
                        << "timeout() { shift; \"$@\"; }\n"  // on a busy machine a second is short
                        << "COMP_LINE='" << line << "'; COMP_POINT=${#COMP_LINE}\n"
                        << "IFS=' ' read -ra COMP_WORDS <<<\"$COMP_LINE\"\n"
                        << "[[ $COMP_LINE == *' ' ]] && COMP_WORDS+=('')\n"
                        << "COMP_WORDS[0]=" SIMBA_TEST_COMMAND "\n"
                        << "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
                        << "_simba; printf '%s\\n' \"${COMPREPLY[@]}\" >" << folder.path() / "said"
                        << "\n";
  EXPECT_EQ(std::system(fmt::format("cd '{}' && bash script", folder.path().string()).c_str()), 0);
  return "\n" + content_of(folder.path() / "said");
}

TEST(CliDocuments, BashCompletesCommandsOptionsAndMutexes) {
  for (const auto& command : commands()) {
    EXPECT_THAT(completed("simba "), HasSubstr("\n" + command + "\n"));
  }
  EXPECT_EQ(completed("simba st"), "\nstatus\n");
  EXPECT_EQ(completed("simba release --fo"), "\n--force\n");
  EXPECT_EQ(completed("simba -b sqli"), "\nsqlite:\n");

  const TemporaryFolder folder;
  const auto url = "sqlite:" + (folder.path() / "simba.db").string();
  const auto factory = simba::make_factory(url);
  simba::SimbaLocker locker{"nightly-backup", *factory};
  locker.acquire(30s);
  EXPECT_EQ(completed("simba status -b " + url + " -m nig"), "\nnightly-backup\n");
}

// The attack: whoever may acquire a mutex chooses its name.
TEST(CliDocuments, BashRunsNothingThatTheNameOfAMutexSays) {
  for (const std::string name :
       {"n$(touch ran)", "n`touch ran`", "n;touch ran", "n'&& touch ran"}) {
    const TemporaryFolder folder;
    const auto url = "sqlite:" + (folder.path() / "simba.db").string();
    const auto factory = simba::make_factory(url);
    simba::SimbaLocker locker{name, *factory};
    locker.acquire(30s);
    const std::string offered = completed("simba status -b " + url + " -m n", folder);
    EXPECT_FALSE(exists(folder.path() / "ran")) << "while it was completed: " << name;
    // The shell reads what it has completed as the user's own words.
    std::ofstream{folder.path() / "script"} << "printf %s " << offered.substr(1);
    const auto bash = fmt::format("cd '{}' && bash script >read", folder.path().string());
    EXPECT_EQ(std::system(bash.c_str()), 0);
    EXPECT_FALSE(exists(folder.path() / "ran")) << "when the line was run: " << name;
    EXPECT_EQ(content_of(folder.path() / "read"), name);
  }
}

}  // namespace
