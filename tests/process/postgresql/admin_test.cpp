// What the admin of a PostgreSQL store finds wrong.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/admin_checks.hpp"
#include "process/postgresql/console.hpp"
#include "simba/postgresql/postgresql_admin.hpp"
#include "support/servers.hpp"

namespace simba::admin_test {
namespace {

using postgresql::make_postgresql_admin;
using postgresql::PostgreSqlOptions;
using postgresql::test::Console;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

/// A new user without any right, in the database of `options`.
PostgreSqlOptions own_user(PostgreSqlOptions options) {
  const std::string name = postgresql::test::unique("admin");
  Console{options}.run("CREATE USER " + name + " PASSWORD 'own-password-77'");
  options.user = name;
  options.password = Secret{"own-password-77"};
  return options;
}

struct PostgreSqlAdmin : testing::Test {
  engine::StoreReport examine(const PostgreSqlOptions& options) {
    return make_postgresql_admin(options, quiet_runtime())->examine();
  }

  void init() { make_postgresql_admin(own, quiet_runtime())->init(); }

  const PostgreSqlOptions own = postgresql::test::own_database();
  Console console{own};
};

TEST_F(PostgreSqlAdmin, TellsVersionAndTime) {
  init();
  const auto report = examine(own);
  EXPECT_THAT(report.server, testing::StartsWith("PostgreSQL 1"));
  EXPECT_THAT(report.server, testing::Not(HasSubstr("Debian")));
  EXPECT_LT(offset_of(report), support::scaled(5s));
  EXPECT_THAT(problems(report), IsEmpty());
}

TEST_F(PostgreSqlAdmin, TellsThatTheTableIsMissing) {
  EXPECT_THAT(problems(examine(own)),
              ElementsAre(testing::AllOf(HasSubstr(own.database), HasSubstr("run simba init"))));
  EXPECT_THAT(problems(examine(own_user(own))), ElementsAre(HasSubstr("the CREATE privilege")));
}

TEST_F(PostgreSqlAdmin, NamesTheRightsThatAreMissing) {
  init();
  const auto user = own_user(own);
  EXPECT_THAT(problems(examine(user)),
              ElementsAre(HasSubstr("the SELECT privilege"), HasSubstr("the INSERT privilege"),
                          HasSubstr("the UPDATE privilege")));
  console.run("GRANT SELECT, INSERT ON simba_mutex TO " + user.user);
  EXPECT_THAT(problems(examine(user)), ElementsAre(HasSubstr("GRANT UPDATE ON simba_mutex")));
  const auto admin = make_postgresql_admin(user, quiet_runtime());
  EXPECT_THAT(admin->list(), IsEmpty());
  const auto factory = postgresql::make_postgresql_factory(own);
  const Member owner{*factory, "held", "owner-1"};
  ASSERT_TRUE(owner.contender.wait_for_acquisitions(1, patience));
  EXPECT_EQ(error_of([&] { admin->evict("held"); }).kind(), ErrorKind::permission);
  console.run("GRANT UPDATE ON simba_mutex TO " + user.user);
  EXPECT_THAT(problems(examine(user)), IsEmpty());
}

TEST_F(PostgreSqlAdmin, ATableOfRecordsThatIsMissingOrWrongIsNotedAndInitMakesOne) {
  init();
  const auto admin = make_postgresql_admin(own, quiet_runtime());
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

TEST_F(PostgreSqlAdmin, WhoMayNotMakeTheTableIsTold) {
  const auto admin = make_postgresql_admin(own_user(own), quiet_runtime());
  EXPECT_EQ(error_of([&] { admin->init(); }).kind(), ErrorKind::permission);
}

TEST_F(PostgreSqlAdmin, FindsColumnsThatAreMissingOrTooNarrow) {
  console.run(
      "CREATE TABLE simba_mutex (mutex varchar(20) PRIMARY KEY, ttl_at integer, transition_at "
      "bigint, owner_id text, version integer)");
  const auto report = examine(own);
  EXPECT_THAT(problems(report),
              ElementsAre(HasSubstr("lacks column acquired_at"), HasSubstr("column ttl_at")));
  EXPECT_THAT(warnings(report), Contains(HasSubstr("character varying(20)")));
  EXPECT_THAT(warnings(report), Contains(HasSubstr("column version")));
}

TEST_F(PostgreSqlAdmin, FindsThatNamesAreNotUnique) {
  init();
  console.run("ALTER TABLE simba_mutex DROP CONSTRAINT simba_mutex_pkey");
  EXPECT_THAT(problems(examine(own)), ElementsAre(HasSubstr("ADD PRIMARY KEY (mutex)")));
}

TEST_F(PostgreSqlAdmin, FindsACollationThatTakesNamesForEachOther) {
  init();
  console.run(
      "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)");
  console.run("ALTER TABLE simba_mutex ALTER COLUMN mutex TYPE varchar(66) COLLATE blind");
  EXPECT_THAT(problems(examine(own)), ElementsAre(HasSubstr("collation of column mutex")));
}

TEST_F(PostgreSqlAdmin, ARowThatMakesNoSenseHidesNoOtherMutexes) {
  const auto log = std::make_shared<testkit::CapturingLogger>();
  const auto listing = make_postgresql_admin(own, runtime_with(log));
  listing->init();
  console.run("INSERT INTO simba_mutex (mutex, version) VALUES ('good', 1), ('bad', -1)");
  expect_unreadable_is_left_out(*listing, *log, "good", "bad");
}

TEST_F(PostgreSqlAdmin, ATableWithoutAColumnIsAnErrorAndNoEmptyListing) {
  init();
  console.run("INSERT INTO simba_mutex (mutex, version) VALUES ('one', 1), ('other', 1)");
  console.run("ALTER TABLE simba_mutex DROP COLUMN ttl_at");
  const auto log = std::make_shared<testkit::CapturingLogger>();
  const auto admin = make_postgresql_admin(own, runtime_with(log));
  const auto error = error_of([&] { admin->list(); });
  EXPECT_EQ(error.kind(), ErrorKind::configuration);
  EXPECT_THAT(error.what(), HasSubstr("ttl_at"));
  EXPECT_EQ(log->count("cannot read mutex"), 0U) << log->text();
}

TEST_F(PostgreSqlAdmin, AWrongPasswordIsRefusedAndNotShown) {
  auto options = own;
  options.password = Secret{"wrong-password-4711"};
  const auto error = error_of([&] { examine(options); });
  EXPECT_EQ(error.kind(), ErrorKind::authentication);
  EXPECT_THAT(error.what(), testing::Not(HasSubstr("4711")));
}

TEST(PostgreSqlAdminOutage, IsToldInTimeAndOverWhenTheServerIsBack) {
  support::PostgreSqlServer server{support::Tls::off, {"-c", "fsync=off"}};
  const auto options = postgresql::test::options_of(server.location());
  const auto admin = make_postgresql_admin(options, quiet_runtime());
  admin->init();
  EXPECT_THAT(admin->list(), IsEmpty());
  EXPECT_THAT(warnings(admin->examine()), ElementsAre(HasSubstr("fsync is off")));
  server.stop();
  expect_outage_is_told(*admin, 10s, server.location().password);
  server.start();
  EXPECT_THAT(admin->list(), IsEmpty());
  expect_silence_is_told(*admin, 15s, server);
}

}  // namespace
}  // namespace simba::admin_test
