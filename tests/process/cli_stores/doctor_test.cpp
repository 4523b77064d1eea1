// simba doctor on real stores, healthy and not.
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/cli/stores.hpp"
#include "process/postgresql/console.hpp"
#include "support/redis/redis_console.hpp"

namespace {

using namespace simba::support;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

/// The objects of one kind that a command has printed.
std::vector<json> objects(const std::string& out, const std::string& event) {
  std::vector<json> found;
  std::istringstream lines{out};
  for (std::string line; std::getline(lines, line);) {
    if (auto object = json::parse(line); object.at("event") == event) found.push_back(object);
  }
  return found;
}

class CliDoctor : public testing::TestWithParam<CliStore> {
 protected:
  std::string url() const { return GetParam().url(folder_.path(), {}); }

 private:
  const TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Stores, CliDoctor, testing::ValuesIn(cli_stores()),
                         [](const auto& store) { return cli_store_name(store.param); });

TEST_P(CliDoctor, FindsNothingWrongWithAHealthyStore) {
  ASSERT_EQ(run_cli({"init", "-b", url()}).code, 0);
  const auto end = run_cli({"doctor", "-b", url()});
  EXPECT_EQ(end.code, 0) << end.out << end.err;
  EXPECT_THAT(end.out, HasSubstr("option --backend"));
  EXPECT_THAT(end.out, HasSubstr("take-over"));
  EXPECT_THAT(end.out, HasSubstr("no problems"));
  EXPECT_EQ(contains(end.out, "the store's"), GetParam().has_wall_clock) << end.out;
}

TEST_P(CliDoctor, TellsProgramsTheSame) {
  ASSERT_EQ(run_cli({"init", "-b", url()}).code, 0);
  const auto end = run_cli({"doctor", "-b", url(), "--json"});
  EXPECT_EQ(end.code, 0) << end.out << end.err;
  EXPECT_EQ(objects(end.out, "configuration").size(), 1U);
  EXPECT_EQ(objects(end.out, "server").size(), 1U);
  EXPECT_EQ(objects(end.out, "verdict").at(0).at("problems"), 0);
  EXPECT_GT(objects(end.out, "worst_cases").at(0).at("take_over_ms"), 0);
  const auto clock = objects(end.out, "clock");
  ASSERT_EQ(clock.size(), GetParam().has_wall_clock ? 1U : 0U);
  if (!clock.empty()) {  // the server is on this host
    const auto error = clock[0].at("error_ms").get<int>();
    EXPECT_LE(std::abs(clock[0].at("offset_ms").get<int>()), error) << clock[0];
  }
}

TEST_P(CliDoctor, SaysThatAStoreIsNotThere) {
  if (GetParam().nowhere.empty()) GTEST_SKIP() << "it has no server";
  const auto end = run_cli({"doctor", "-b", GetParam().nowhere});
  EXPECT_EQ(end.code, 69) << end.out << end.err;
  EXPECT_THAT(end.out, HasSubstr("problem:"));
  EXPECT_THAT(end.out, HasSubstr("1 problem,"));
}

TEST_P(CliDoctor, SaysThatAPasswordIsWrongWithoutShowingIt) {
  if (!GetParam().has_password) GTEST_SKIP() << "it has no password";
  const TemporaryFolder folder;
  const auto end = run_cli({"doctor", "-b", GetParam().url(folder.path(), "s3cret-but-wrong")});
  EXPECT_EQ(end.code, 77) << end.out << end.err;
  EXPECT_THAT(end.out, HasSubstr("password"));
  EXPECT_THAT(end.out + end.err, Not(HasSubstr("s3cret")));
}

// ---- where the configuration comes from --------------------------------------------------------

TEST(CliDoctorOrigin, NamesTheDefault) {
  const auto end = run_cli({"doctor"});
  EXPECT_EQ(end.code, 0) << end.out << end.err;
  EXPECT_THAT(end.out, HasSubstr("default, because no store is configured"));
}

TEST(CliDoctorOrigin, SaysWhereEachSettingIsFromAndWhatDoesNotCount) {
  const TemporaryFolder folder;
  const std::string mine = folder.path().string() + "/mine";
  const CliProgram::Variables variables{{"SIMBA_BACKEND", "sqlite:" + mine},
                                        {"SIMBA_SQLITE_PATH", folder.path().string() + "/other"},
                                        {"SIMBA_SQLITE_TRANSITION", "3s"},
                                        {"SIMBA_SQLITE_TTL", "7s"}};
  const auto end = run_cli({"doctor", "--transition", "4s"}, variables);
  EXPECT_EQ(end.code, 0) << end.out << end.err;
  EXPECT_THAT(end.out, HasSubstr("named by   variable SIMBA_BACKEND"));
  EXPECT_THAT(end.out, HasSubstr("path = " + mine + ", from variable SIMBA_BACKEND\n"));
  EXPECT_THAT(end.out, HasSubstr("ttl = 7s, from variable SIMBA_SQLITE_TTL\n"));
  EXPECT_THAT(end.out, HasSubstr("transition = 4s, from --transition\n"));
  EXPECT_THAT(
      end.out,
      HasSubstr("other, from variable SIMBA_SQLITE_PATH: overridden by variable SIMBA_BACKEND"));
  EXPECT_THAT(end.out, HasSubstr("7 s ttl + 4 s transition"));
  const auto told = run_cli({"doctor", "--json"}, variables);
  const auto configuration = objects(told.out, "configuration").at(0);
  EXPECT_EQ(configuration.at("settings").at(0).at("key"), "path");
  EXPECT_EQ(configuration.at("unused").at(0).at("origin"), "variable SIMBA_SQLITE_PATH");
}

TEST(CliDoctorOrigin, ShowsNoPassword) {
  const auto end = run_cli({"doctor", "-b", "redis://:s3cret@127.0.0.1:1"},
                           {{"SIMBA_REDIS_SENTINEL_PASSWORD", "s3cret"}});
  EXPECT_THAT(end.out, HasSubstr("password = ***, from --backend"));
  EXPECT_THAT(end.out, HasSubstr("sentinel-password = ***, from variable"));
  EXPECT_THAT(end.out + end.err, Not(HasSubstr("s3cret")));
}

TEST(CliDoctorOrigin, NamesTheVariablesThatEnableAStore) {
  const TemporaryFolder folder;
  const auto end =
      run_cli({"doctor"}, {{"SIMBA_SQLITE_URL", "sqlite:" + folder.path().string() + "/a"}});
  EXPECT_EQ(end.code, 0) << end.out << end.err;
  EXPECT_THAT(end.out, HasSubstr("store      sqlite:" + folder.path().string() + "/a\n"));
  EXPECT_THAT(end.out, HasSubstr("named by   environment variables"));
}

TEST(CliDoctorOrigin, AVariableGoesBeforeTheDefault) {
  const TemporaryFolder folder;
  const std::string mine = folder.path().string() + "/mine";
  const auto end = run_cli({"doctor"}, {{"SIMBA_SQLITE_PATH", mine}, {"HOME", ""}});
  EXPECT_EQ(end.code, 0) << end.out << end.err;
  EXPECT_THAT(end.out, HasSubstr("path = " + mine + ", from variable SIMBA_SQLITE_PATH"));
}

TEST(CliDoctorOrigin, AnOptionPicksOneOfSeveralStoresOfAFile) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "simba.yaml";
  std::ofstream{file} << "simba:\n  redis:\n    hosts: 127.0.0.1:1\n  sqlite:\n    path: "
                      << (folder.path() / "simba.db").string() << "\n";
  const auto unclear = run_cli({"doctor", "--config", file.string()});
  EXPECT_EQ(unclear.code, 78);
  EXPECT_THAT(unclear.err, HasSubstr("--store NAME"));
  const auto end = run_cli({"doctor", "--config", file.string(), "--store", "sqlite"},
                           {{"SIMBA_BACKEND", "redis://127.0.0.1:1"}});
  EXPECT_EQ(end.code, 0) << end.out << end.err;
  EXPECT_THAT(end.out, HasSubstr("option --store, in file " + file.string()));
  EXPECT_THAT(end.err, Not(HasSubstr("SIMBA_BACKEND")));
  const auto wrong = run_cli({"doctor", "--config", file.string(), "--store", "sqlit"});
  EXPECT_EQ(wrong.code, 78);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean \"sqlite\"?"));
}

TEST(CliDoctorOrigin, NamesTheFile) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "simba.yaml";
  std::ofstream{file} << "simba:\n  sqlite:\n    enabled: true\n    path: "
                      << (folder.path() / "simba.db").string() << "\n";
  const auto end = run_cli({"doctor", "--config", file.string()});
  EXPECT_EQ(end.code, 0) << end.out << end.err;
  EXPECT_THAT(end.out, HasSubstr("file " + file.string()));
}

TEST(CliDoctorOrigin, ASettingThatIsWrongIsExitCode78) {
  const auto end = run_cli({"doctor", "-b", "redis://10.0.0.5?ttl=never"});
  EXPECT_EQ(end.code, 78);
  EXPECT_THAT(end.err, HasSubstr("ttl"));
}

TEST(CliDoctorOrigin, TheMemoryStoreCannotBeExamined) {
  const auto end = run_cli({"doctor", "-b", "memory:"});
  EXPECT_EQ(end.code, 78) << end.out << end.err;
  EXPECT_THAT(end.out, HasSubstr("inside one process"));
}

// ---- what can be expected ----------------------------------------------------------------------

TEST(CliDoctorWorstCases, AreThoseOfTheStore) {
  const TemporaryFolder folder;
  const auto sqlite = run_cli({"doctor", "-b", "sqlite:" + (folder.path() / "a").string()}).out;
  EXPECT_THAT(sqlite, HasSubstr("immediately if the owner's process ends (at most 3.4 s"));
  EXPECT_THAT(sqlite, HasSubstr("at most 19.4 s if it hangs"));
  EXPECT_THAT(sqlite, HasSubstr("one message; if that is lost, at most 3.4 s"));
  const auto mysql = run_cli({"doctor", "-b", "mysql://u@127.0.0.1:1/d"}).out;
  EXPECT_THAT(mysql, HasSubstr("at most 2.5 s; the store sends no notifications"));
  EXPECT_THAT(mysql, HasSubstr("a process polls every 100 ms, at most 250 mutexes per 100 "
                               "ms (every 800 ms if it waits for 2000)"));
  EXPECT_THAT(mysql, Not(HasSubstr("one message")));
  EXPECT_THAT(mysql, HasSubstr("at most 19.4 s after the owner crashes"));
  const auto zookeeper =
      run_cli(
          {"doctor", "-b", "zookeeper://127.0.0.1:1?session-timeout=9s&connection-timeout=200ms"})
          .out;
  EXPECT_THAT(zookeeper, HasSubstr("at most 12.3 s after the owner crashes"))
      << "session, tick, request";
}

TEST(CliDoctorWorstCases, TellProgramsHowOftenWaitersLookWhereThereAreNoNotifications) {
  const auto looks = [](const std::string& url) {
    const auto out = run_cli({"doctor", "--json", "-b", url}).out;
    return objects(out, "worst_cases").at(0).at("looks");
  };
  const json rate{{"interval_ms", 100}, {"mutexes", 250}, {"per_ms", 100}};
  EXPECT_EQ(looks("mysql://u@127.0.0.1:1/d"), rate);
  EXPECT_EQ(looks("postgresql://127.0.0.1:1/d?listen=no"), rate);
  EXPECT_TRUE(looks("postgresql://127.0.0.1:1/d").is_null());
}

// ---- what is wrong -----------------------------------------------------------------------------

TEST(CliDoctorFinds, AMissingTableAndSaysWhatToDo) {
  const TemporaryFolder folder;
  const auto url = "sqlite:" + (folder.path() / "simba.db").string() + "?schema=expect";
  const auto end = run_cli({"doctor", "-b", url});
  EXPECT_EQ(end.code, 78) << end.out << end.err;
  EXPECT_THAT(end.out, HasSubstr("simba init"));
  ASSERT_EQ(run_cli({"init", "-b", url}).code, 0);
  EXPECT_EQ(run_cli({"doctor", "-b", url}).code, 0);
}

TEST(CliDoctorFinds, AVeryShortTtl) {
  const TemporaryFolder folder;
  const auto url = "sqlite:" + (folder.path() / "simba.db").string();
  const auto end = run_cli({"doctor", "-b", url, "--ttl", "20ms"});
  EXPECT_EQ(end.code, 0) << end.out << end.err;
  EXPECT_THAT(end.out, HasSubstr("warning: ttl is very short (20 ms)"));
  EXPECT_THAT(run_cli({"doctor", "-b", url, "--ttl", "100ms"}).out, Not(HasSubstr("very short")));
}

TEST(CliDoctorFinds, AMarginThatIsTooShortToEndCmd) {
  const TemporaryFolder folder;
  const auto end =
      run_cli({"doctor", "-b", "sqlite:" + (folder.path() / "simba.db").string() + "?margin=49ms"});
  EXPECT_EQ(end.code, 78) << end.out << end.err;
  EXPECT_THAT(end.out, HasSubstr("problem: margin must be at least 50 ms (got 49 ms)"));
}

TEST(CliDoctorFinds, AFolderThatIsMissing) {
  const auto end = run_cli({"doctor", "-b", "sqlite:/nowhere/at/all/simba.db"});
  EXPECT_EQ(end.code, 78) << end.out << end.err;
  EXPECT_THAT(end.out, HasSubstr("/nowhere/at/all"));
}

TEST(CliDoctorFinds, ASqliteFileThatOneMayNotWrite) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "simba.db";
  ASSERT_EQ(run_cli({"init", "-b", "sqlite:" + file.string()}).code, 0);
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  auto program = as_ordinary_user({"doctor", "-b", "sqlite:" + file.string()});
  EXPECT_EQ(program.wait(), 77) << program.out() << program.err();
}

TEST(CliDoctorFinds, ARightThatAPostgreSqlUserLacks) {
  const Location location = postgresql_location();
  const std::string user = "cli_reader_" + std::to_string(::getpid());
  const std::string own = url_with("postgresql", location, {});
  ASSERT_EQ(run_cli({"init", "-b", own}).code, 0);
  simba::postgresql::test::Console console{simba::postgresql::test::options_of(location)};
  console.run("CREATE USER " + user + " PASSWORD 'secret'");
  console.run("GRANT SELECT ON simba_mutex TO " + user);
  Location reader = location;
  reader.user = user;
  const auto end = run_cli({"doctor", "-b", url_with("postgresql", reader, "secret")});
  console.run("REVOKE ALL ON simba_mutex FROM " + user);
  console.run("DROP USER " + user);
  EXPECT_EQ(end.code, 77) << end.out << end.err;
  EXPECT_THAT(end.out, HasSubstr("GRANT UPDATE"));
}

TEST(CliDoctorFinds, ARightThatARedisUserLacks) {
  const Location location = redis_location();
  const std::string user = "cli_reader_" + std::to_string(::getpid());
  RedisConsole console{location};
  console.ask({"ACL", "SETUSER", user, "on", ">secret", "~*", "&*", "+ping", "+get", "+hello"});
  Location reader = location;
  reader.user = user;
  const auto end = run_cli({"doctor", "-b", url_with("redis", reader, "secret")});
  console.ask({"ACL", "DELUSER", user});
  EXPECT_EQ(end.code, 77) << end.out << end.err;
  EXPECT_THAT(end.out, HasSubstr("ACL SETUSER"));
}

}  // namespace
