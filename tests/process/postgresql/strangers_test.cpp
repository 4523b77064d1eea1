// What other users of the database can do to us.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "console.hpp"
#include "simba/postgresql/postgresql_admin.hpp"
#include "simba/testkit/capturing_logger.hpp"
#include "sql/admin/sql_admin.hpp"

namespace simba::postgresql::test {
namespace {

using sql::Change;
using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;

/// Two users that may create in schema public; what runs as someone else ends up in table `ran`.
struct PostgreSqlStrangers : testing::Test {
  PostgreSqlStrangers() {
    console.run("GRANT CREATE ON SCHEMA public TO PUBLIC");
    console.run("CREATE TABLE ran (what text)");
    console.run("GRANT INSERT ON ran TO PUBLIC");
  }

  PostgreSqlOptions new_user() const {
    PostgreSqlOptions options = owner;
    options.user = unique("stranger");
    options.password = Secret{"of-a-stranger"};
    Console{owner}.run(fmt::format("CREATE ROLE {} LOGIN PASSWORD 'of-a-stranger'", options.user));
    return options;
  }

  static std::string body(const std::string& what, const std::string& result) {
    return fmt::format(
        "LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.ran VALUES ('{} as ' || current_user); "
        "RETURN {}; END $$",
        what, result);
  }

  /// A table as ours, in a schema (with a dot) of another user.
  static void make_table(Console& theirs, const std::string& schema) {
    theirs.run(fmt::format(
        "CREATE TABLE {}simba_mutex (mutex varchar(66) NOT NULL PRIMARY KEY, acquired_at bigint, "
        "ttl_at bigint, transition_at bigint, owner_id varchar(128), version bigint)",
        schema));
    theirs.run(fmt::format("GRANT ALL ON {}simba_mutex TO PUBLIC", schema));
  }

  static void put_trigger(Console& theirs, const std::string& schema) {
    theirs.run(
        fmt::format("CREATE FUNCTION {}spy() RETURNS trigger {}", schema, body("trigger", "NEW")));
    theirs.run(
        fmt::format("CREATE TRIGGER spy BEFORE INSERT OR UPDATE ON {0}simba_mutex FOR EACH ROW "
                    "EXECUTE FUNCTION {0}spy()",
                    schema));
  }

  /// A schema of the name of the victim, which comes first in the search path.
  std::string make_earlier_schema(Console& theirs) {
    console.run(fmt::format("GRANT CREATE ON DATABASE {} TO {}", owner.database, mallory.user));
    theirs.run("CREATE SCHEMA " + victim.user);
    theirs.run(fmt::format("GRANT USAGE ON SCHEMA {} TO PUBLIC", victim.user));
    return victim.user + '.';
  }

  const PostgreSqlOptions owner = own_database();
  Console console{owner};
  const PostgreSqlOptions mallory = new_user();
  const PostgreSqlOptions victim = new_user();
};

TEST_F(PostgreSqlStrangers, FunctionsAndOperatorsThatFitBetterAreNotUsed) {
  Console theirs{mallory};
  for (const auto* const payload : {"varchar", "text"}) {
    theirs.run(fmt::format("CREATE FUNCTION pg_notify(text, {}) RETURNS text {}", payload,
                           body("pg_notify", "''")));
  }
  for (const auto* const left : {"varchar", "bigint"}) {
    const bool is_text = std::string{left} == "varchar";
    for (const auto* const sign : {"=", "<>", "<", "<=", ">=", "+"}) {
      const auto* const right = is_text ? "text" : "bigint";
      const auto name = unique("hijack");
      const auto* const type = std::string{sign} == "+" ? "bigint" : "boolean";
      theirs.run(fmt::format("CREATE FUNCTION {}({}, {}) RETURNS {} {}", name, left, right, type,
                             body(sign, std::string{sign} == "+" ? "1" : "true")));
      theirs.run(
          fmt::format("CREATE OPERATOR public.{} (LEFTARG = {}, RIGHTARG = {}, FUNCTION = {})",
                      sign, left, right, name));
    }
  }
  Client client{victim};
  const auto session = client.connect();
  change(*session, Change::acquire, ask("m", "me"));
  change(*session, Change::guard, ask("m", "me"));
  change(*session, Change::release, ask("m", "me"));
  session->look(std::vector<std::string>{"m"}, soon());
  session->init("free", soon());
  const auto admin = make_postgresql_admin(victim, make_runtime());
  admin->examine();
  admin->list();
  EXPECT_EQ(console.value("SELECT string_agg(DISTINCT what, ', ') FROM ran"), "null");
}

TEST_F(PostgreSqlStrangers, ATableWithATriggerOfAnotherUserIsNotTouched) {
  Console theirs{mallory};
  make_table(theirs, "");
  put_trigger(theirs, "");
  const auto refused = AllOf(HasSubstr(mallory.user), HasSubstr("triggers"));

  const Error error = error_of([&] {
    Client client{victim};
    change(*client.connect(), Change::acquire, ask("m", "me"));
  });
  EXPECT_EQ(error.kind(), ErrorKind::permission);
  EXPECT_THAT(error.what(), refused);
  const auto admin = make_postgresql_admin(victim, make_runtime());
  EXPECT_THAT(error_of([&] { admin->init(); }).what(), refused);
  EXPECT_THAT(admin->examine().findings,
              Contains(AllOf(Field(&engine::Finding::weight, engine::Finding::Weight::problem),
                             Field(&engine::Finding::text, refused))));
  EXPECT_EQ(console.value("SELECT string_agg(DISTINCT what, ', ') FROM ran"), "null");
}

TEST_F(PostgreSqlStrangers, ATableOfRecordsWithATriggerOfAnotherUserIsNotTouched) {
  Client{owner}.connect();
  console.run("GRANT ALL ON simba_mutex TO PUBLIC");
  Console theirs{mallory};
  theirs.run(
      "CREATE TABLE simba_record (mutex varchar(66) PRIMARY KEY, version bigint, content text)");
  theirs.run("GRANT ALL ON simba_record TO PUBLIC");
  theirs.run("CREATE FUNCTION spy() RETURNS trigger " + body("trigger", "NEW"));
  theirs.run(
      "CREATE TRIGGER spy BEFORE INSERT OR UPDATE ON simba_record FOR EACH ROW EXECUTE FUNCTION "
      "spy()");
  Client client{victim};
  const auto session = client.connect();
  const Error error = error_of([&] { session->write_record({.mutex = "m", .text = "x"}, soon()); });
  EXPECT_EQ(error.kind(), ErrorKind::permission);
  EXPECT_THAT(error.what(), AllOf(HasSubstr(mallory.user), HasSubstr("simba_record")));
  EXPECT_EQ(console.value("SELECT string_agg(DISTINCT what, ', ') FROM ran"), "null");
}

TEST_F(PostgreSqlStrangers, ATableThatCouldRunCodeOfAnotherUserIsNotTouched) {
  Console theirs{mallory};
  theirs.run("CREATE FUNCTION loud() RETURNS int " + body("expression", "1"));
  theirs.run(
      "CREATE FUNCTION quiet(text) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN "
      "public.loud(); END $$");
  theirs.run("CREATE FUNCTION spy() RETURNS trigger " + body("trigger", "NEW"));
  theirs.run("CREATE TABLE owners (owner_id varchar(128) PRIMARY KEY)");
  theirs.run("INSERT INTO owners VALUES ('me')");
  theirs.run("GRANT ALL ON owners TO PUBLIC");
  const std::vector<std::vector<std::string>> attacks{
      {"CREATE TABLE whole (LIKE simba_mutex) PARTITION BY RANGE (quiet(mutex))",
       "ALTER TABLE whole ATTACH PARTITION simba_mutex FOR VALUES FROM (0) TO (9)"},
      {"ALTER TABLE simba_mutex ADD FOREIGN KEY (owner_id) REFERENCES owners"},
      {"CREATE TABLE children (mutex varchar(66) REFERENCES simba_mutex ON UPDATE CASCADE)"},
      {"ALTER TABLE simba_mutex ADD EXCLUDE (version WITH =)"},
      {"ALTER TABLE simba_mutex ADD EXCLUDE (version WITH =) WHERE (quiet(mutex) = 1)"},
      {"ALTER TABLE simba_mutex ADD UNIQUE (owner_id) DEFERRABLE"},
      {"CREATE STATISTICS peep ON (quiet(mutex)), (owner_id || '') FROM simba_mutex"},
      {"ALTER TABLE simba_mutex DROP COLUMN acquired_at",
       "ALTER TABLE simba_mutex ADD acquired_at bigint GENERATED ALWAYS AS (quiet(owner_id)) "
       "STORED"},
      {"CREATE CONSTRAINT TRIGGER spy AFTER INSERT OR UPDATE ON simba_mutex FOR EACH ROW EXECUTE "
       "FUNCTION spy()"}};
  for (const auto& attack : attacks) {
    make_table(theirs, "");
    for (const auto& statement : attack) theirs.run(statement);
    const Error error = error_of([&] {
      Client client{victim};
      change(*client.connect(), Change::acquire, ask("m", "me"));
    });
    EXPECT_EQ(error.kind(), ErrorKind::permission) << attack.front();
    EXPECT_THAT(error.what(), AllOf(HasSubstr(mallory.user), HasSubstr("constraints")));
    const auto admin = make_postgresql_admin(victim, make_runtime());
    EXPECT_THAT(error_of([&] { admin->init(); }).what(), HasSubstr("constraints"));
    EXPECT_TRUE(sql::has_problem(admin->examine().findings)) << attack.front();
    EXPECT_EQ(console.value("SELECT string_agg(DISTINCT what, ', ') FROM ran"), "null");
    theirs.run("DROP TABLE IF EXISTS whole, children");
    theirs.run("DROP TABLE IF EXISTS simba_mutex");
  }
}

// Up to PostgreSQL 15 a user can grant membership in its own role to anybody.
TEST_F(PostgreSqlStrangers, AUserThatMakesUsItsMemberIsNotTrustedForThat) {
  Console theirs{mallory};
  make_table(theirs, "");
  put_trigger(theirs, "");
  console.run(fmt::format("GRANT {} TO {}", mallory.user, victim.user));

  const Error error = error_of([&] {
    Client client{victim};
    change(*client.connect(), Change::acquire, ask("m", "me"));
  });
  EXPECT_EQ(error.kind(), ErrorKind::permission);
  EXPECT_THAT(error.what(), AllOf(HasSubstr(mallory.user), HasSubstr("triggers")));
  EXPECT_EQ(console.value("SELECT string_agg(DISTINCT what, ', ') FROM ran"), "null");
}

TEST_F(PostgreSqlStrangers, ATableThatIsMadeLaterInAnEarlierSchemaIsUsedByNobody) {
  Client client{victim};
  const auto old = client.connect();
  ASSERT_EQ(change(*old, Change::acquire, ask("m", "me")).owner_id, "me");

  Console theirs{mallory};
  const std::string schema = make_earlier_schema(theirs);
  make_table(theirs, schema);
  put_trigger(theirs, schema);
  EXPECT_EQ(change(*old, Change::guard, ask("m", "me")).owner_id, "me");
  EXPECT_EQ(change(*old, Change::acquire, ask("n", "me")).owner_id, "me");
  const auto fresh = client.connect();
  EXPECT_EQ(change(*fresh, Change::acquire, ask("m", "other")).owner_id, "me");
  EXPECT_EQ(change(*fresh, Change::guard, ask("n", "me")).owner_id, "me");
  EXPECT_EQ(change(*fresh, Change::release, ask("n", "me")).owner_id, "");
  EXPECT_EQ(console.value("SELECT string_agg(DISTINCT what, ', ') FROM ran"), "null");
  EXPECT_EQ(console.value("SELECT count(*) FROM " + schema + "simba_mutex"), "0");
}

TEST_F(PostgreSqlStrangers, ATableThatHidesOursIsRefusedByWhoeverComesLater) {
  Client{victim}.connect();
  Console theirs{mallory};
  make_table(theirs, make_earlier_schema(theirs));
  const auto refused = AllOf(HasSubstr(victim.user + ".simba_mutex"), HasSubstr(mallory.user),
                             HasSubstr("search_path"));

  const Error error = error_of([&] { Client{victim}.connect(); });
  EXPECT_EQ(error.kind(), ErrorKind::permission);
  EXPECT_THAT(error.what(), refused);
  const auto admin = make_postgresql_admin(victim, make_runtime());
  EXPECT_THAT(error_of([&] { admin->list(); }).what(), refused);
  EXPECT_THAT(admin->examine().findings,
              Contains(AllOf(Field(&engine::Finding::weight, engine::Finding::Weight::problem),
                             Field(&engine::Finding::text, refused))));
}

// Where its owner is trusted, processes that start later use it, and others do not.
TEST_F(PostgreSqlStrangers, ATrustedTableThatIsMadeLaterInAnEarlierSchemaIsWarnedOf) {
  const auto log_before = std::make_shared<testkit::CapturingLogger>();
  Client before{victim, log_before};
  before.connect();
  EXPECT_EQ(log_before->text(), "");
  make_table(console, make_earlier_schema(console));
  const std::string earlier = victim.user + ".simba_mutex";

  before.connect();
  before.connect();
  EXPECT_EQ(log_before->count("public.simba_mutex, which is used here, and " + earlier), 1U)
      << log_before->text();
  const auto log_after = std::make_shared<testkit::CapturingLogger>();
  Client after{victim, log_after};
  after.connect();
  EXPECT_EQ(log_after->count(earlier + ", which is used here, and public.simba_mutex"), 1U)
      << log_after->text();
  EXPECT_THAT(make_postgresql_admin(victim, make_runtime())->examine().findings,
              Contains(AllOf(Field(&engine::Finding::weight, engine::Finding::Weight::warning),
                             Field(&engine::Finding::text, HasSubstr(earlier)))));
}

TEST_F(PostgreSqlStrangers, WhatIsPutOnTheTableLaterIsSeenByTheNextSession) {
  Client{mallory}.connect();
  console.run("GRANT SELECT, INSERT, UPDATE ON simba_mutex TO " + victim.user);
  Client client{victim};
  client.connect();
  Console theirs{mallory};
  put_trigger(theirs, "");
  EXPECT_THAT(error_of([&] { client.connect(); }).what(), HasSubstr("triggers"));
}

TEST_F(PostgreSqlStrangers, ThatAnotherUserOwnsTheTableIsReported) {
  Client{mallory}.connect();
  console.run("GRANT SELECT, INSERT, UPDATE ON simba_mutex TO " + victim.user);
  EXPECT_THAT(make_postgresql_admin(victim, make_runtime())->examine().findings,
              Contains(AllOf(Field(&engine::Finding::weight, engine::Finding::Weight::warning),
                             Field(&engine::Finding::text, HasSubstr(mallory.user)))));
  Client client{victim};
  EXPECT_EQ(change(*client.connect(), Change::acquire, ask("m", "me")).owner_id, "me");
}

}  // namespace
}  // namespace simba::postgresql::test
