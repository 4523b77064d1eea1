// What other users of the database can do to us.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "console.hpp"
#include "simba/postgresql/postgresql_admin.hpp"

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
  theirs.run(
      "CREATE TABLE simba_mutex (mutex varchar(66) NOT NULL PRIMARY KEY, acquired_at bigint, "
      "ttl_at bigint, transition_at bigint, owner_id varchar(128), version bigint)");
  theirs.run("GRANT ALL ON simba_mutex TO PUBLIC");
  theirs.run("CREATE FUNCTION spy() RETURNS trigger " + body("trigger", "NEW"));
  theirs.run(
      "CREATE TRIGGER spy BEFORE INSERT OR UPDATE ON simba_mutex FOR EACH ROW EXECUTE FUNCTION "
      "spy()");
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
