#include <sys/resource.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/mysql/console.hpp"
#include "simba/mysql/mysql_admin.hpp"
#include "simba/testkit/capturing_logger.hpp"
#include "sql/admin/sql_admin.hpp"
#include "support/patience.hpp"
#include "support/servers.hpp"

namespace simba::mysql::test {
namespace {

using sql::Change;
using ::testing::HasSubstr;
using ::testing::Not;

/// The error of a connect that must fail.
Error connect_error(const MySqlOptions& options) {
  Client client{options};
  const Error error = error_of([&] { client.connect(); });
  EXPECT_THAT(error.what(), Not(HasSubstr(options.password.reveal())));
  return error;
}

TEST(MySqlRefusal, AWrongPasswordIsAnErrorOfAuthenticationThatDoesNotShowIt) {
  MySqlOptions options = shared();
  options.password = Secret{"wrong-password-4711"};
  const Error error = connect_error(options);
  EXPECT_EQ(error.kind(), ErrorKind::authentication) << error.what();
  EXPECT_THAT(error.what(), HasSubstr("check user and password"));
}

TEST(MySqlRefusal, ADatabaseThatIsMissingIsAnErrorOfConfiguration) {
  MySqlOptions options = shared();
  options.database = "nowhere";
  const Error error = connect_error(options);
  EXPECT_EQ(error.kind(), ErrorKind::configuration) << error.what();
  EXPECT_THAT(error.what(), HasSubstr("CREATE DATABASE nowhere"));
}

TEST(MySqlRefusal, AServerThatIsNotThereIsUnavailable) {
  MySqlOptions options = shared();
  options.port = 1;
  EXPECT_EQ(connect_error(options).kind(), ErrorKind::unavailable);
  options.unix_socket = "/nowhere/socket";
  EXPECT_EQ(connect_error(options).kind(), ErrorKind::unavailable);
  options = shared();
  options.host = "no-such-host.invalid";
  options.tls.mode = TlsMode::off;
  EXPECT_EQ(connect_error(options).kind(), ErrorKind::unavailable);
}

TEST(MySqlRefusal, AViewThatCouldRunCodeOfAnotherUserIsNotTouched) {
  const MySqlOptions options = own_database();
  Console console{options};
  console.run("CREATE TABLE ran (what text)");
  console.run(
      "CREATE FUNCTION spy() RETURNS int MODIFIES SQL DATA SQL SECURITY INVOKER BEGIN INSERT INTO "
      "ran VALUES (CURRENT_USER()); RETURN 1; END");
  console.run("CREATE TABLE theirs (mutex varchar(66) PRIMARY KEY, owner_id varchar(128))");
  console.run("INSERT INTO theirs VALUES ('m', '')");
  console.run(
      "CREATE SQL SECURITY INVOKER VIEW simba_mutex AS SELECT mutex, 0 AS acquired_at, 0 AS "
      "ttl_at, "
      "0 AS transition_at, owner_id, spy() AS version FROM theirs");

  Client client{options};
  const Error error =
      error_of([&] { client.connect()->look(std::vector<std::string>{"m"}, soon()); });
  EXPECT_EQ(error.kind(), ErrorKind::permission) << error.what();
  EXPECT_THAT(error.what(), HasSubstr("is a view"));
  const auto admin = make_mysql_admin(options, make_runtime());
  EXPECT_THAT(error_of([&] { admin->init(); }).what(), HasSubstr("is a view"));
  EXPECT_TRUE(sql::has_problem(admin->examine().findings));
  EXPECT_EQ(console.value("SELECT COUNT(*) FROM ran"), "0");
}

TEST(MySqlRefusal, AMissingTableIsMadeOnceOrExpected) {
  MySqlOptions options = own_database();
  options.sql.schema = sql::Schema::expect;
  const Error error = connect_error(options);
  EXPECT_EQ(error.kind(), ErrorKind::configuration) << error.what();
  EXPECT_THAT(error.what(), HasSubstr("mariadb.sql"));

  options.sql.schema = sql::Schema::create;
  const auto log = std::make_shared<testkit::CapturingLogger>();
  Client client{options, log};
  const auto session = client.connect();
  client.connect();
  EXPECT_EQ(change(*session, Change::acquire, ask("m", "me")).owner_id, "me");
  Console console{options};
  EXPECT_EQ(console.value("SELECT COLLATION(mutex) FROM simba_mutex"), "utf8mb4_nopad_bin");

  // Dropped under way: told, and made anew by the next connection.
  console.run("DROP TABLE simba_mutex");
  EXPECT_EQ(error_of([&] { change(*session, Change::acquire, ask("m", "me")); }).kind(),
            ErrorKind::configuration);
  EXPECT_FALSE(session->usable());
  EXPECT_EQ(change(*client.connect(), Change::acquire, ask("m", "me")).owner_id, "me");
}

TEST(MySqlRefusal, ATableThatMayNotBeMadeIsAnErrorThatNamesTheFile) {
  const MySqlOptions owner = own_database();
  const MySqlOptions options =
      own_user(owner, "SELECT, INSERT, UPDATE ON " + owner.database + ".*");
  const Error error = connect_error(options);
  EXPECT_EQ(error.kind(), ErrorKind::permission) << error.what();
  EXPECT_THAT(error.what(), HasSubstr("/mariadb.sql"));

  Client{owner}.connect();  // makes it
  Client client{options};
  EXPECT_EQ(change(*client.connect(), Change::acquire, ask("m", "me")).owner_id, "me");
}

TEST(MySqlRefusal, AMissingRightIsAnErrorThatNamesTheGrant) {
  const MySqlOptions owner = own_database();
  Client{owner}.connect();
  const MySqlOptions options = own_user(owner, "SELECT ON " + owner.database + ".*");
  Client client{options};
  const auto session = client.connect();
  const Error error = error_of([&] { change(*session, Change::acquire, ask("m", "me")); });
  EXPECT_EQ(error.kind(), ErrorKind::permission) << error.what();
  EXPECT_THAT(error.what(),
              HasSubstr("GRANT SELECT, INSERT, UPDATE ON " + owner.database + ".simba_mutex"));

  const Error none = connect_error(own_user(owner, ""));
  EXPECT_EQ(none.kind(), ErrorKind::permission) << none.what();
}

TEST(MySqlRefusal, WhoMayNotMakeARowIsToldWhyBesideOthersThatHaveOne) {
  const MySqlOptions owner = own_database();
  change(*Client{owner}.connect(), Change::acquire, ask("there", "me"));
  Client client{own_user(owner, "SELECT, UPDATE ON " + owner.database + ".*")};
  const auto session = client.connect();

  const std::vector asks{ask("new", "me"), ask("there", "me")};
  const auto rows = session->change(Change::acquire, asks, soon());

  ASSERT_EQ(rows.size(), 2U);
  for (const sql::Row& row : rows) {
    EXPECT_EQ(row.problem.has_value(), row.mutex == "new");
    EXPECT_EQ(row.owner_id, row.mutex == "new" ? "" : "me");
    if (!row.problem) continue;
    EXPECT_EQ(row.problem->kind(), ErrorKind::permission) << row.problem->what();
    EXPECT_THAT(row.problem->what(), HasSubstr("GRANT SELECT, INSERT, UPDATE"));
  }
}

TEST(MySqlRefusal, WhoMayNotMakeTheTableOfRecordsOrUseItHasMutexesAllTheSame) {
  const MySqlOptions owner = own_database();
  Client{owner}.connect();
  Console console{owner};
  console.run("DROP TABLE simba_record");
  const MySqlOptions options =
      own_user(owner, "SELECT, INSERT, UPDATE ON " + owner.database + ".simba_mutex");
  Client client{options};
  const auto session = client.connect();
  const std::vector<std::string> mutexes{"m"};
  for (const bool is_there : {false, true}) {
    if (is_there) Client{owner}.connect()->read_records(mutexes, soon());  // makes it
    for (const Error& error :
         {error_of([&] { session->read_records(mutexes, soon()); }),
          error_of([&] { session->write_record({.mutex = "m", .text = "x"}, soon()); })}) {
      EXPECT_EQ(error.kind(), ErrorKind::permission) << error.what();
      EXPECT_THAT(error.what(), HasSubstr("run simba init"));
      EXPECT_THAT(error.what(), HasSubstr(".simba_record TO"));
    }
    EXPECT_EQ(change(*session, Change::acquire, ask("m", "me")).owner_id, "me");
    EXPECT_TRUE(session->usable());
  }
}

TEST(MySqlRefusal, AMissingTableOfRecordsIsMadeOnceOrExpected) {
  MySqlOptions options = own_database();
  Client{options}.connect();
  Console{options}.run("DROP TABLE simba_record");
  const std::vector<std::string> mutexes{"m"};
  options.sql.schema = sql::Schema::expect;
  Client strict{options};
  const auto session = strict.connect();
  const Error error = error_of([&] { session->read_records(mutexes, soon()); });
  EXPECT_EQ(error.kind(), ErrorKind::configuration) << error.what();
  EXPECT_THAT(error.what(), HasSubstr("run simba init"));
  EXPECT_EQ(change(*session, Change::acquire, ask("m", "me")).owner_id, "me");

  options.sql.schema = sql::Schema::create;
  Client client{options};
  EXPECT_EQ(client.connect()->write_record({.mutex = "m", .text = "x"}, soon()).outcome,
            RecordAnswer::Outcome::written);
  EXPECT_EQ(session->read_records(mutexes, soon()).at(0).record.text, "x");
}

TEST(MySqlRefusal, ATableThatIsNotOursIsAnErrorOfConfiguration) {
  const MySqlOptions options = own_database();
  Console{options}.run("CREATE TABLE simba_mutex (id int PRIMARY KEY)");
  const Error error = connect_error(options);
  EXPECT_EQ(error.kind(), ErrorKind::configuration) << error.what();
}

TEST(MySqlRefusal, AVersionAtItsEndIsAnErrorThatNamesTheRemedyAndChangesNothing) {
  const MySqlOptions options = own_database();
  Client client{options};
  const auto session = client.connect();
  change(*session, Change::acquire, ask("m", "me"));
  Console console{options};
  console.run("UPDATE simba_mutex SET version = 4294967295");

  const Error error = error_of([&] { change(*session, Change::guard, ask("m", "me")); });
  EXPECT_EQ(error.kind(), ErrorKind::configuration) << error.what();
  EXPECT_THAT(error.what(), HasSubstr("MODIFY version bigint unsigned"));
  EXPECT_EQ(session->look(std::vector<std::string>{"m"}, soon()).at(0).version, 4294967295U);

  console.run("ALTER TABLE simba_mutex MODIFY version bigint unsigned NOT NULL DEFAULT 0");
  EXPECT_EQ(change(*session, Change::guard, ask("m", "me")).version, 4294967296U);
}

TEST(MySqlRefusal, ANameThatDoesNotFitItsColumnIsNeverCut) {
  const MySqlOptions options = own_database();
  Console console{options};
  make_jvm_table(console);
  console.run("ALTER TABLE simba_mutex MODIFY mutex varchar(5) NOT NULL");
  Client client{options};
  const auto session = client.connect();
  const Error error = error_of([&] { change(*session, Change::acquire, ask("longer", "me")); });
  EXPECT_EQ(error.kind(), ErrorKind::configuration) << error.what();
  EXPECT_EQ(console.value("SELECT COUNT(*) FROM simba_mutex"), "0");
}

TEST(MySqlRefusal, WhatTheServerAnswersIsNotBelieved) {
  const MySqlOptions options = own_database();
  Console console{options};
  console.run(
      "CREATE TABLE simba_mutex (mutex varchar(66) PRIMARY KEY, acquired_at text, ttl_at bigint, "
      "transition_at bigint, owner_id varchar(128), version bigint)");
  console.run(
      "INSERT INTO simba_mutex VALUES ('text', 'x', 1, 1, '', 1), ('null', '1', 1, 1, "
      "NULL, 1), ('negative', '1', -1, 1, '', 1)");
  Client client{options};
  const auto session = client.connect();
  for (const char* name : {"text", "null", "negative"}) {
    const Error error = error_of([&] { session->look(std::vector<std::string>{name}, soon()); });
    EXPECT_EQ(error.kind(), ErrorKind::internal) << error.what();
  }
  EXPECT_TRUE(session->usable());
}

TEST(MySqlRefusal, AnAnswerWithoutEndIsRefusedBeforeItFillsTheMemory) {
  const Settings settings{shared()};
  Connection connection{settings};
  const sql::Wakeup never_raised;
  connection.begin_connect();
  ASSERT_FALSE(connection.finish(soon(), never_raised).refusal);
  connection.begin_query("SELECT REPEAT('x',1000) FROM seq_1_to_100000000");
  const Reply reply = connection.finish(sql::real_now() + 60s, never_raised);
  ASSERT_TRUE(reply.refusal);
  EXPECT_FALSE(connection.alive());
  const Error error = to_error(settings, *reply.refusal, Phase::asking);
  EXPECT_EQ(error.kind(), ErrorKind::in_doubt);
  EXPECT_THAT(error.what(), HasSubstr("more data than a mutex table can hold"));
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss, 600'000) << "in KB";
}

TEST(MySqlRefusal, AReadOnlyServerIsUnavailableAndSaysSo) {
  const support::MariaDbServer server;
  const MySqlOptions owner = options_of(server.location());
  Client{owner}.connect();
  const MySqlOptions options = own_user(owner, "ALL ON simba.*");
  Client client{options};
  const auto session = client.connect();
  Console console{owner};
  console.run("SET GLOBAL read_only = 1");
  const Error error = error_of([&] { change(*session, Change::acquire, ask("m", "me")); });
  EXPECT_EQ(error.kind(), ErrorKind::unavailable) << error.what();
  EXPECT_THAT(error.what(), HasSubstr("connect to the primary"));
  console.run("SET GLOBAL read_only = 0");
  EXPECT_EQ(change(*client.connect(), Change::acquire, ask("m", "me")).owner_id, "me");
}

TEST(MySqlRefusal, AServerWithoutAConnectionLeftIsUnavailable) {
  const support::MariaDbServer server{support::Tls::off, {"--max-connections=10"}};
  const MySqlOptions options = own_user(options_of(server.location()), "ALL ON simba.*");
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::unique_ptr<sql::Session>> sessions;
  const Error error = error_of([&] {
    for (int i = 0; i < 12; ++i) {
      clients.push_back(std::make_unique<Client>(options));
      sessions.push_back(clients.back()->connect());
    }
  });
  EXPECT_EQ(error.kind(), ErrorKind::unavailable) << error.what();
  EXPECT_THAT(error.what(), HasSubstr("no connections left"));
  sessions.clear();
  EXPECT_TRUE(support::within(5s, [&] {
    try {
      return Client{options}.connect()->usable();
    } catch (const Error&) {
      return false;
    }
  }));
}

TEST(MySqlRefusal, AServerThatLogsStatementsGetsAnotherIsolationLevel) {
  const support::MariaDbServer server{
      support::Tls::off, {"--log-bin=binlog", "--server-id=1", "--binlog-format=STATEMENT"}};
  Client client{options_of(server.location())};
  const Error error = error_of([&] { change(*client.connect(), Change::acquire, ask("m", "me")); });
  EXPECT_EQ(error.kind(), ErrorKind::unavailable) << error.what();
  EXPECT_EQ(change(*client.connect(), Change::acquire, ask("m", "me")).owner_id, "me");
}

TEST(MySqlTls, EveryModeWorksWithAServerOfTheRightCaAndName) {
  const support::MariaDbServer server{support::Tls::on};
  MySqlOptions options = options_of(server.location());
  const std::string folder = server.location().certificates;
  EXPECT_EQ(connect_error(options).kind(), ErrorKind::authentication);  // it requires TLS

  options.tls.mode = TlsMode::encrypt;
  Client plain{options};
  EXPECT_TRUE(plain.connect()->usable());
  options.tls.ca_file = folder + "/ca.crt";
  for (const TlsMode mode : {TlsMode::verify_ca, TlsMode::verify}) {
    options.tls.mode = mode;
    for (const char* host : {"127.0.0.1", "localhost"}) {
      options.host = host;
      Client client{options};
      EXPECT_EQ(change(*client.connect(), Change::acquire, ask("m", "me")).owner_id, "me");
    }
  }
  options.tls.certificate_file = folder + "/client.crt";
  options.tls.key_file = folder + "/client.key";
  EXPECT_TRUE(Client{options}.connect()->usable());

  options.tls.ca_file = folder + "/stranger.crt";
  for (const TlsMode mode : {TlsMode::verify_ca, TlsMode::verify}) {
    options.tls.mode = mode;
    const Error error = connect_error(options);
    EXPECT_EQ(error.kind(), ErrorKind::configuration) << error.what();
  }
  options.tls.ca_file = "/nowhere/ca.crt";
  EXPECT_THAT(connect_error(options).what(), HasSubstr("/nowhere/ca.crt"));
  options.tls.ca_file = {};  // the system trusts others
  EXPECT_EQ(connect_error(options).kind(), ErrorKind::configuration);
}

TEST(MySqlTls, ACertificateOfAnotherHostIsRefusedWhereTheNameIsChecked) {
  const support::MariaDbServer server{support::Tls::other_host};
  MySqlOptions options = options_of(server.location());
  options.tls.ca_file = server.location().certificates + "/ca.crt";
  options.tls.mode = TlsMode::verify;
  const Error error = connect_error(options);
  EXPECT_EQ(error.kind(), ErrorKind::configuration) << error.what();
  options.tls.mode = TlsMode::verify_ca;
  EXPECT_TRUE(Client{options}.connect()->usable());
}

TEST(MySqlTls, AServerWithoutTlsIsNeverUsedInThePlain) {
  MySqlOptions options = shared();
  options.tls.mode = TlsMode::encrypt;
  const Error error = connect_error(options);
  EXPECT_EQ(error.kind(), ErrorKind::configuration) << error.what();
}

TEST(MySqlTls, ABrokenEncryptedConnectionRaisesNoSignal) {
  support::MariaDbServer server{support::Tls::on};
  MySqlOptions options = options_of(server.location());
  options.tls.mode = TlsMode::encrypt;
  Client client{options};
  const auto session = client.connect();
  server.kill();
  EXPECT_TRUE(support::within(2s, [&] { return !session->usable(); }));
  for (int i = 0; i < 3; ++i) {
    const Error error = error_of([&] { change(*session, Change::acquire, ask("m", "me")); });
    EXPECT_EQ(error.kind(), ErrorKind::in_doubt) << error.what();
  }
}

}  // namespace
}  // namespace simba::mysql::test
