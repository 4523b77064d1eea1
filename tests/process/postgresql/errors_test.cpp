#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/postgresql/console.hpp"
#include "support/servers.hpp"

namespace simba::postgresql::test {
namespace {

using sql::Change;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// A user of its own, who may connect and nothing else.
PostgreSqlOptions as_own_user(PostgreSqlOptions options) {
  const std::string user = unique("user");
  Console{options}.run(fmt::format("CREATE ROLE {} LOGIN PASSWORD 'very-secret'", user));
  options.user = user;
  options.password = Secret{"very-secret"};
  return options;
}

Error connect_error(const PostgreSqlOptions& options) {
  return error_of([&] { Client{options}.connect(); });
}

void expect(const Error& error, ErrorKind kind, const std::string& part) {
  EXPECT_EQ(error.kind(), kind) << error.what();
  EXPECT_THAT(error.what(), AllOf(HasSubstr(part), Not(HasSubstr("secret")), Not(HasSubstr("\n"))));
}

TEST(PostgreSqlErrors, AMissingTableIsMadeByManySessionsAtOnce) {
  const PostgreSqlOptions options = own_database();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      try {
        Client client{options};
        const auto mutex = fmt::format("m{}", i);
        EXPECT_EQ(change(*client.connect(), Change::acquire, ask(mutex, "me")).version, 1U);
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    });
  }
}

TEST(PostgreSqlErrors, ATableThatIsExpectedButMissingNamesTheFileWithTheStatements) {
  PostgreSqlOptions options = own_database();
  options.sql.schema = sql::Schema::expect;
  expect(connect_error(options), ErrorKind::configuration, "/postgresql.sql");
}

TEST(PostgreSqlErrors, ATableThatMayNotBeMadeNamesTheFileWithTheStatements) {
  const Error error = connect_error(as_own_user(own_database()));
  expect(error, ErrorKind::permission, "/postgresql.sql");
}

TEST(PostgreSqlErrors, ATableThatIsDroppedIsCreatedAgainByTheNextSession) {
  const PostgreSqlOptions options = own_database();
  Client client{options};
  const auto session = client.connect();
  Console{options}.run("DROP TABLE simba_mutex");

  expect(error_of([&] { change(*session, Change::acquire, ask("m", "me")); }),
         ErrorKind::unavailable, "will be created again");
  EXPECT_FALSE(session->usable());
  EXPECT_EQ(change(*client.connect(), Change::acquire, ask("m", "me")).version, 1U);
}

TEST(PostgreSqlErrors, AMissingPrivilegeNamesTheTableAndTheGrant) {
  const PostgreSqlOptions owner = own_database();
  Client{owner}.connect();
  const PostgreSqlOptions user = as_own_user(owner);
  Client client{user};
  const auto session = client.connect();
  expect(error_of([&] { change(*session, Change::acquire, ask("m", "me")); }),
         ErrorKind::permission, "GRANT SELECT, INSERT, UPDATE ON simba_mutex TO \"" + user.user);

  Console{owner}.run("GRANT SELECT, INSERT, UPDATE ON simba_mutex TO " + user.user);
  EXPECT_EQ(change(*session, Change::acquire, ask("m", "me")).owner_id, "me");
}

TEST(PostgreSqlErrors, WhoMayNotMakeTheTableOfRecordsOrUseItHasMutexesAllTheSame) {
  const PostgreSqlOptions owner = own_database();
  Client{owner}.connect();
  const PostgreSqlOptions user = as_own_user(owner);
  Console{owner}.run("GRANT SELECT, INSERT, UPDATE ON simba_mutex TO " + user.user);
  Client client{user};
  const auto session = client.connect();
  const std::vector<std::string> mutexes{"m"};
  const auto expect_refused = [&](const std::string& part) {
    expect(error_of([&] { session->read_records(mutexes, soon()); }), ErrorKind::permission, part);
    expect(error_of([&] { session->write_record({.mutex = "m", .text = "x"}, soon()); }),
           ErrorKind::permission, part);
    EXPECT_EQ(change(*session, Change::acquire, ask("m", "me")).owner_id, "me");
    EXPECT_TRUE(session->usable());
  };
  expect_refused("/postgresql_record.sql");
  Client{owner}.connect()->read_records(mutexes, soon());  // makes it
  expect_refused("simba_record TO \"" + user.user);
  Console{owner}.run("GRANT SELECT, INSERT, UPDATE ON simba_record TO " + user.user);
  EXPECT_EQ(session->write_record({.mutex = "m", .text = "x"}, soon()).outcome,
            RecordAnswer::Outcome::written);
}

TEST(PostgreSqlErrors, AMissingTableOfRecordsIsMadeBesideThatOfMutexesOrExpected) {
  PostgreSqlOptions options = own_database();
  Console console{options};
  console.run("CREATE SCHEMA later");
  console.run(fmt::format("ALTER DATABASE {} SET search_path = later", options.database));
  Client{options}.connect();  // makes the table of mutexes there
  console.run(fmt::format("ALTER DATABASE {} SET search_path = public, later", options.database));
  const std::vector<std::string> mutexes{"m"};
  options.sql.schema = sql::Schema::expect;
  Client strict{options};
  const auto session = strict.connect();
  expect(error_of([&] { session->read_records(mutexes, soon()); }), ErrorKind::configuration,
         "run simba init");
  EXPECT_EQ(change(*session, Change::acquire, ask("m", "me")).owner_id, "me");

  options.sql.schema = sql::Schema::create;
  Client client{options};
  const auto other = client.connect();
  EXPECT_EQ(other->write_record({.mutex = "m", .text = "x"}, soon()).outcome,
            RecordAnswer::Outcome::written);
  EXPECT_EQ(session->read_records(mutexes, soon()).at(0).record.text, "x");
  EXPECT_EQ(console.value("to_regclass('later.simba_record') IS NOT NULL"), "true");

  Console{options}.run("DROP TABLE later.simba_record");
  expect(error_of([&] { other->read_records(mutexes, soon()); }), ErrorKind::configuration,
         "simba init");
  EXPECT_EQ(other->read_records(mutexes, soon()).at(0).record.version, 0U) << "made again";
}

TEST(PostgreSqlErrors, AReadOnlyServerIsUnavailable) {
  const PostgreSqlOptions options = own_database();
  Client{options}.connect();
  Console{options}.run(
      fmt::format("ALTER DATABASE {} SET default_transaction_read_only = on", options.database));
  Client client{options};
  const auto session = client.connect();
  expect(error_of([&] { change(*session, Change::acquire, ask("m", "me")); }),
         ErrorKind::unavailable, "replica or read-only");
  EXPECT_FALSE(session->usable()) << "the next connection may lead to a primary";
}

TEST(PostgreSqlErrors, TooManyConnectionsAreUnavailable) {
  const PostgreSqlOptions owner = own_database();
  Client{owner}.connect();
  const PostgreSqlOptions user = as_own_user(owner);
  Console{owner}.run(fmt::format("ALTER ROLE {} CONNECTION LIMIT 1", user.user));
  Client client{user};
  const auto first = client.connect();
  expect(connect_error(user), ErrorKind::unavailable, "pool_size");
}

TEST(PostgreSqlErrors, AWrongPasswordUserOrDatabaseIsNamedButNoPassword) {
  PostgreSqlOptions options = options_of(support::postgresql_location());
  options.password = Secret{"wrong-secret"};
  expect(connect_error(options), ErrorKind::authentication, "28P01");
  options.user = "nobody-of-that-name";
  expect(connect_error(options), ErrorKind::authentication, "nobody-of-that-name");
  options = options_of(support::postgresql_location());
  options.database = "no-such-database";
  expect(connect_error(options), ErrorKind::configuration, "no-such-database");
  options.port = 1;
  expect(connect_error(options), ErrorKind::unavailable, "refused");
}

TEST(PostgreSqlErrors, AVersionThatOutgrowsItsColumnNamesTheAlterTable) {
  const PostgreSqlOptions options = own_database();
  Console{options}.run(
      "CREATE TABLE simba_mutex (mutex varchar(66) PRIMARY KEY, acquired_at bigint, ttl_at bigint, "
      "transition_at bigint, owner_id varchar(8), version int, remark text DEFAULT 'x')");
  Console{options}.run("INSERT INTO simba_mutex VALUES ('m', 0, 0, 0, '', 2147483647)");
  Client client{options};
  const auto session = client.connect();
  expect(error_of([&] { change(*session, Change::acquire, ask("m", "me")); }),
         ErrorKind::configuration, "ALTER TABLE simba_mutex ALTER COLUMN version TYPE bigint");
  EXPECT_EQ(change(*session, Change::acquire, ask("n", "me")).version, 1U);
  expect(error_of([&] { change(*session, Change::acquire, ask("o", "someone else")); }),
         ErrorKind::configuration, "varchar(128)");
}

TEST(PostgreSqlErrors, ATableOfOthersIsRefusedWithoutACrash) {
  const PostgreSqlOptions options = own_database();
  Console{options}.run("CREATE TABLE simba_mutex (mutex text)");
  Client client{options};
  expect(error_of([&] { change(*client.connect(), Change::acquire, ask("m", "me")); }),
         ErrorKind::configuration, "/postgresql.sql");

  Console{options}.run(
      "ALTER TABLE simba_mutex ADD owner_id text, ADD acquired_at bigint, ADD ttl_at bigint, "
      "ADD transition_at bigint, ADD version bigint");
  Console{options}.run("INSERT INTO simba_mutex VALUES ('null'), ('minus')");
  Console{options}.run(
      "UPDATE simba_mutex SET owner_id = '', acquired_at = 0, ttl_at = 0, transition_at = 0, "
      "version = -1 WHERE mutex = 'minus'");
  for (const std::string mutex : {"null", "minus"}) {
    expect(error_of([&] { client.connect()->look(std::vector{mutex}, soon()); }),
           ErrorKind::internal, "was table simba_mutex created by Simba?");
  }
}

TEST(PostgreSqlTls, TheCertificateMustBeSignedAndNameTheHost) {
  support::PostgreSqlServer server{support::Tls::on};
  support::PostgreSqlServer other{support::Tls::other_host};
  const std::string& folder = server.location().certificates;
  const auto with = [&](const support::Server& to, TlsMode mode, const std::string& ca_file) {
    PostgreSqlOptions options = options_of(to.location());
    options.tls = {.mode = mode, .ca_file = ca_file};
    return options;
  };
  const std::string other_ca = other.location().certificates + "/ca.crt";

  Client good{with(server, TlsMode::verify, folder + "/ca.crt")};
  EXPECT_EQ(change(*good.connect(), Change::acquire, ask("m", "me")).owner_id, "me");
  PostgreSqlOptions known = with(server, TlsMode::verify, folder + "/ca.crt");
  known.tls.certificate_file = folder + "/client.crt";
  known.tls.key_file = folder + "/client.key";
  EXPECT_NO_THROW(Client(known).connect());
  EXPECT_NO_THROW(Client(with(server, TlsMode::encrypt, "")).connect());
  EXPECT_NO_THROW(Client(with(other, TlsMode::verify_ca, other_ca)).connect());

  expect(connect_error(with(other, TlsMode::verify, other_ca)), ErrorKind::configuration,
         "does not match host name");
  expect(connect_error(with(server, TlsMode::verify, folder + "/stranger.crt")),
         ErrorKind::configuration, "certificate verify failed");
  expect(connect_error(with(server, TlsMode::verify, "")), ErrorKind::configuration,
         "check the TLS options");
  expect(connect_error(with(server, TlsMode::verify, folder + "/none.crt")),
         ErrorKind::configuration, "none.crt");
  expect(connect_error(with(server, TlsMode::off, "")), ErrorKind::authentication, "28000");
}

}  // namespace
}  // namespace simba::postgresql::test
