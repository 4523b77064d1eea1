// What the admin of a MySQL store finds wrong.
#include <algorithm>
#include <ostream>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/admin_checks.hpp"
#include "process/mysql/console.hpp"
#include "process/mysql/jvm_contender.hpp"
#include "simba/mysql/mysql_admin.hpp"
#include "support/servers.hpp"

namespace simba::admin_test {
namespace {

using mysql::make_mysql_admin;
using mysql::MySqlOptions;
using mysql::test::Console;
using mysql::test::own_user;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

struct MySqlAdmin : testing::Test {
  engine::StoreReport examine(const MySqlOptions& options) {
    return make_mysql_admin(options, quiet_runtime())->examine();
  }

  void init() { make_mysql_admin(own, quiet_runtime())->init(); }

  const MySqlOptions own = mysql::test::own_database();
  Console console{own};
};

TEST_F(MySqlAdmin, TellsVersionAndTime) {
  init();
  const auto report = examine(own);
  EXPECT_THAT(report.server, testing::StartsWith("MariaDB 1"));
  EXPECT_THAT(report.server, testing::Not(HasSubstr("-")));
  EXPECT_LT(offset_of(report), support::scaled(5s));
  EXPECT_THAT(problems(report), IsEmpty());
}

TEST_F(MySqlAdmin, TellsThatTheTableIsMissing) {
  EXPECT_THAT(problems(examine(own)),
              ElementsAre(testing::AllOf(HasSubstr(own.database), HasSubstr("run simba init"))));
}

TEST_F(MySqlAdmin, ATableOfRecordsThatIsMissingOrWrongIsNotedAndInitMakesOne) {
  init();
  const auto admin = make_mysql_admin(own, quiet_runtime());
  console.run("DROP TABLE simba_record");
  const auto report = examine(own);
  EXPECT_THAT(problems(report), IsEmpty());
  EXPECT_THAT(notes(report), Contains(HasSubstr("simba_record")));
  EXPECT_EQ(admin->init(), "created table simba_record");
  EXPECT_EQ(admin->init(), "table simba_mutex already exists");
  EXPECT_THAT(notes(examine(own)), testing::Not(Contains(HasSubstr("simba_record"))));

  console.run("DROP TABLE simba_record");
  console.run("CREATE TABLE simba_record (mutex int PRIMARY KEY)");
  EXPECT_THAT(notes(examine(own)), Contains(HasSubstr("simba_record")));
  EXPECT_THAT(problems(examine(own)), IsEmpty());
}

TEST_F(MySqlAdmin, WarnsOfAVersionThatTheJvmLibraryWillNotReadForLong) {
  init();
  const auto version = [&](const std::string& value) {
    console.run("REPLACE INTO simba_mutex VALUES ('m',0,0,0,''," + value + ")");
    return warnings(examine(own));
  };
  EXPECT_THAT(version("1073741823"), testing::Not(Contains(HasSubstr("JVM library"))));
  EXPECT_THAT(version("1073741824"), Contains(HasSubstr("in 12427 days")));
  EXPECT_THAT(version("2147483648"), Contains(HasSubstr("can no longer read this one")));
}

/// A waiter of the JVM library changes nothing: its UPDATE finds the row owned, and locks it.
void expect_waiter_between_update_and_commit_is_named(engine::StoreAdmin& admin,
                                                      const MySqlOptions& own) {
  Console{own}.run("INSERT INTO simba_mutex VALUES ('m',0,4102444800000,4102444800000,'owner',1)");
  EXPECT_THAT(warnings(admin.examine()), testing::Not(Contains(HasSubstr("row locks"))));
  mysql::test::JvmContender stopped{own, "0:1@10.0.0.1"};
  ASSERT_FALSE(stopped.begin_acquire("m"));
  const std::string number = stopped.session();
  EXPECT_TRUE(support::eventually([&] {
    // InnoDB answers with what it found last where it was asked less than 100 ms ago.
    std::this_thread::sleep_for(200ms);
    const auto found = warnings(admin.examine());
    return std::any_of(found.begin(), found.end(), [&](const std::string& text) {
      return text.find("KILL " + number) != std::string::npos;
    });
  }));
}

TEST_F(MySqlAdmin, NamesASessionThatKeepsARowLocked) {
  init();
  expect_waiter_between_update_and_commit_is_named(*make_mysql_admin(own, quiet_runtime()), own);
}

TEST_F(MySqlAdmin, NamesTheRightsThatAreMissing) {
  init();
  const auto reader = own_user(own, "SELECT ON " + own.database + ".simba_mutex");
  EXPECT_THAT(problems(examine(reader)),
              ElementsAre(HasSubstr("INSERT command denied"), HasSubstr("UPDATE command denied")));
  const auto admin = make_mysql_admin(reader, quiet_runtime());
  EXPECT_THAT(admin->list(), IsEmpty());
  const auto factory = mysql::make_mysql_factory(own);
  const Member owner{*factory, "held", "owner-1"};
  ASSERT_TRUE(owner.contender.wait_for_acquisitions(1, patience));
  EXPECT_EQ(error_of([&] { admin->evict("held"); }).kind(), ErrorKind::permission);
  const auto writer = own_user(own, "SELECT, INSERT, UPDATE ON " + own.database + ".simba_mutex");
  EXPECT_THAT(problems(examine(writer)), IsEmpty());
  const auto other = own_user(own, "INSERT, UPDATE ON " + own.database + ".simba_mutex");
  EXPECT_THAT(problems(examine(other)), Contains(HasSubstr("SELECT command denied")));
  EXPECT_EQ(error_of([&] { make_mysql_admin(other, quiet_runtime())->list(); }).kind(),
            ErrorKind::permission);
}

TEST_F(MySqlAdmin, WhoMayNotMakeTheTableIsTold) {
  const auto user = own_user(own, "SELECT, INSERT, UPDATE ON " + own.database + ".*");
  EXPECT_EQ(error_of([&] { make_mysql_admin(user, quiet_runtime())->init(); }).kind(),
            ErrorKind::permission);
}

TEST_F(MySqlAdmin, FindsColumnsThatAreMissingOrTooNarrow) {
  console.run(
      "CREATE TABLE simba_mutex (mutex varchar(20) PRIMARY KEY, ttl_at int, transition_at bigint, "
      "owner_id varchar(128), version smallint) ENGINE=MyISAM COLLATE utf8mb4_bin");
  const auto report = examine(own);
  EXPECT_THAT(problems(report), Contains(HasSubstr("lacks column acquired_at")));
  EXPECT_THAT(problems(report), Contains(HasSubstr("column ttl_at")));
  EXPECT_THAT(warnings(report), Contains(HasSubstr("varchar(20)")));
  EXPECT_THAT(warnings(report), Contains(HasSubstr("column version")));
  EXPECT_THAT(warnings(report), Contains(HasSubstr("engine MyISAM")));
}

TEST_F(MySqlAdmin, FindsThatThereIsNoPrimaryKey) {
  init();
  console.run("ALTER TABLE simba_mutex DROP PRIMARY KEY");
  EXPECT_THAT(problems(examine(own)), ElementsAre(HasSubstr("ADD PRIMARY KEY (mutex)")));
}

TEST_F(MySqlAdmin, WarnsOfACollationThatTakesNamesForEachOther) {
  mysql::test::make_jvm_table(console);
  const auto report = examine(own);
  EXPECT_THAT(problems(report), IsEmpty());
  EXPECT_THAT(warnings(report), Contains(HasSubstr("collation utf8mb4_general_ci")));
}

TEST_F(MySqlAdmin, WarnsOfACharacterSetThatIsTooSmall) {
  init();
  console.run("ALTER TABLE simba_mutex CONVERT TO CHARACTER SET latin1 COLLATE latin1_bin");
  EXPECT_THAT(warnings(examine(own)), Contains(HasSubstr("character set latin1")));
}

TEST_F(MySqlAdmin, ARowThatMakesNoSenseHidesNoOtherMutexes) {
  const auto log = std::make_shared<testkit::CapturingLogger>();
  const auto listing = make_mysql_admin(own, runtime_with(log));
  listing->init();
  console.run("ALTER TABLE simba_mutex MODIFY ttl_at bigint unsigned NULL");
  console.run(
      "INSERT INTO simba_mutex (mutex, ttl_at, version) VALUES ('good', 0, 1), ('bad', NULL, 1)");
  expect_unreadable_is_left_out(*listing, *log, "good", "bad");
}

TEST_F(MySqlAdmin, AWrongPasswordIsRefusedAndNotShown) {
  auto options = own;
  options.password = Secret{"wrong-password-4711"};
  const auto error = error_of([&] { examine(options); });
  EXPECT_EQ(error.kind(), ErrorKind::authentication);
  EXPECT_THAT(error.what(), testing::Not(HasSubstr("4711")));
}

TEST(MySqlAdminOutage, IsToldInTimeAndOverWhenTheServerIsBack) {
  support::MariaDbServer server{
      support::Tls::off,
      {"--innodb-flush-log-at-trx-commit=2", "--log-bin=binlog", "--sync-binlog=0"}};
  const auto options = mysql::test::options_of(server.location());
  const auto admin = make_mysql_admin(options, quiet_runtime());
  admin->init();
  EXPECT_THAT(admin->list(), IsEmpty());
  EXPECT_THAT(
      warnings(admin->examine()),
      ElementsAre(HasSubstr("innodb_flush_log_at_trx_commit is 2"), HasSubstr("sync_binlog is 0")));
  server.stop();
  expect_outage_is_told(*admin, 10s, server.location().password);
  server.start();
  EXPECT_THAT(admin->list(), IsEmpty());
  expect_silence_is_told(*admin, 15s, server);
}

TEST(MySqlAdminReadOnly, IsAProblem) {
  support::MariaDbServer server;
  const auto options = mysql::test::options_of(server.location());
  make_mysql_admin(options, quiet_runtime())->init();
  Console{options}.run("SET GLOBAL read_only=1");
  const auto user = own_user(options, "SELECT, INSERT, UPDATE ON " + options.database + ".*");
  EXPECT_THAT(problems(make_mysql_admin(user, quiet_runtime())->examine()),
              ElementsAre(HasSubstr("read-only")));
}

TEST(MySqlAdminVersions, OneThatWasNotTestedIsNoted) {
  const support::MariaDbServer server{support::Tls::off, {"--version=12.9.1-MariaDB"}};
  const auto report =
      make_mysql_admin(mysql::test::options_of(server.location()), quiet_runtime())->examine();
  EXPECT_EQ(report.server, "MariaDB 12.9.1");
  EXPECT_THAT(notes(report), Contains(HasSubstr("MariaDB 12.9 is newer than the versions")));
}

TEST(MySqlAdminVersions, ADatabaseThatOnlySpeaksTheProtocolIsWarnedOf) {
  const support::MariaDbServer server{support::Tls::off, {"--version=8.0.11-TiDB-v7.5.0"}};
  const auto report =
      make_mysql_admin(mysql::test::options_of(server.location()), quiet_runtime())->examine();
  EXPECT_THAT(report.server, testing::StartsWith("TiDB"));
  EXPECT_THAT(warnings(report), Contains(HasSubstr("this is TiDB")));
}

/// A server of MySQL itself, of several versions.
struct MySqlRelease {
  std::string name;
  std::string (*missing)();
  support::Location (*location)();
  std::string version;

  friend void PrintTo(const MySqlRelease& release, std::ostream* out) { *out << release.name; }
};

struct MySqlAdminOnMySql : testing::TestWithParam<MySqlRelease> {
  void SetUp() override {
    if (const auto why = GetParam().missing(); !why.empty()) GTEST_SKIP() << why;
    const auto location = GetParam().location();
    own =
        mysql::test::own_database(support::verifying(mysql::test::options_of(location), location));
    admin = make_mysql_admin(own, quiet_runtime());
    admin->init();
  }

  MySqlOptions own;
  std::unique_ptr<engine::StoreAdmin> admin;
};

TEST_P(MySqlAdminOnMySql, TellsVersionAndEvicts) {
  const auto report = admin->examine();
  EXPECT_THAT(report.server, testing::StartsWith("MySQL " + GetParam().version));
  EXPECT_THAT(problems(report), IsEmpty());
  EXPECT_THAT(warnings(report), IsEmpty());
  EXPECT_THAT(notes(report), testing::Not(Contains(HasSubstr("tested"))));
  const auto factory = mysql::make_mysql_factory(own);
  expect_owner_is_seen(*admin, *factory, true);
}

TEST_P(MySqlAdminOnMySql, NamesASessionThatKeepsARowLocked) {
  expect_waiter_between_update_and_commit_is_named(*admin, own);
}

TEST_P(MySqlAdminOnMySql, NamesTheRightsThatAreMissing) {
  const auto reader = own_user(own, "SELECT ON " + own.database + ".simba_mutex");
  const auto report = make_mysql_admin(reader, quiet_runtime())->examine();
  EXPECT_THAT(problems(report),
              ElementsAre(HasSubstr("INSERT command denied"), HasSubstr("UPDATE command denied")));
  EXPECT_THAT(notes(report), Contains(HasSubstr("grant PROCESS")));
}

INSTANTIATE_TEST_SUITE_P(Releases, MySqlAdminOnMySql,
                         testing::Values(MySqlRelease{"MySql57", support::MySqlServer::missing,
                                                      support::mysql_location, "5.7"},
                                         MySqlRelease{"MySql97", support::MySql97Server::missing,
                                                      support::mysql97_location, "9.7"}),
                         [](const auto& context) { return context.param.name; });

}  // namespace
}  // namespace simba::admin_test
