#include <algorithm>
#include <thread>

#include <gtest/gtest.h>

#include "postgresql/statements.hpp"
#include "process/postgresql/console.hpp"
#include "support/patience.hpp"
#include "support/proxy/fault_proxy.hpp"
#include "support/servers.hpp"

namespace simba::postgresql::test {
namespace {

using sql::Ask;
using sql::Change;
using sql::Row;

class PostgreSqlSession : public ::testing::Test {
 protected:
  static PostgreSqlOptions options() { return options_of(support::postgresql_location()); }

  Row acquire(const std::string& contender_id) {
    return change(*session, Change::acquire, ask(mutex, contender_id));
  }

  void set(const std::string& assignments) {
    console.run(fmt::format("UPDATE simba_mutex SET {} WHERE mutex = '{}'", assignments, mutex));
  }

  Client client{options()};
  std::unique_ptr<sql::Session> session = client.connect();
  Console console{options()};
  std::string mutex = unique("mutex");
};

// A commit that the server has not even written would be lost, and with it a token.
TEST(PostgreSqlDurability, WhatIsAnsweredOutlivesAServerThatCommitsWithoutWaitingForItsLog) {
  support::PostgreSqlServer server{support::Tls::off,
                                   {"-c", "synchronous_commit=off", "-c", "wal_writer_delay=10s"}};
  const PostgreSqlOptions options = options_of(server.location());
  Console{options}.run("CREATE TABLE lost (x int)");
  for (const Change last : {Change::acquire, Change::guard, Change::release}) {
    SCOPED_TRACE(static_cast<int>(last));
    const std::string mutex = fmt::format("m{}", static_cast<int>(last));
    Client client{options};
    Row row = change(*client.connect(), Change::acquire, ask(mutex, "me"));
    if (last != Change::acquire) row = change(*client.connect(), last, ask(mutex, "me"));
    Console{options}.run("INSERT INTO lost VALUES (1)");
    server.kill();
    server.start();
    EXPECT_EQ(Console{options}.value("SELECT count(*) FROM lost"), "0") << "it had to be lost";
    const auto kept = client.connect()->look(std::vector{mutex}, soon()).at(0);
    EXPECT_EQ(kept.owner_id, row.owner_id);
    EXPECT_EQ(kept.version, row.version);
    EXPECT_EQ(kept.transition_at, row.transition_at);
  }
}

TEST_F(PostgreSqlSession, AMutexWithoutARowIsGrantedWithVersionOneAndAFullLease) {
  const Row row = acquire("me");

  EXPECT_EQ(row.mutex, mutex);
  EXPECT_EQ(row.owner_id, "me");
  EXPECT_EQ(row.version, 1U);
  EXPECT_EQ(row.ttl_at - row.acquired_at, 10'000);
  EXPECT_EQ(row.transition_at - row.acquired_at, 16'000);
  EXPECT_GE(row.now, row.acquired_at);
  EXPECT_LT(row.now, row.ttl_at);
}

TEST_F(PostgreSqlSession, AHeldMutexIsRefusedAndItsRowNeitherLockedNorWritten) {
  const Row mine = acquire("me");
  const std::string place = "SELECT ctid::text || xmax::text FROM simba_mutex WHERE mutex = '";
  const std::string before = console.value(place + mutex + "'");

  const Row row = acquire("other");

  EXPECT_EQ(row.owner_id, "me");
  EXPECT_EQ(row.version, mine.version);
  EXPECT_EQ(row.transition_at, mine.transition_at);
  EXPECT_EQ(console.value(place + mutex + "'"), before);
}

TEST_F(PostgreSqlSession, TheOwnerAcquiresAnewAndAnOverdueLeaseGoesToAnother) {
  acquire("me");
  EXPECT_EQ(acquire("me").version, 2U);
  set("ttl_at = 1, transition_at = 2");

  const Row row = acquire("other");

  EXPECT_EQ(row.owner_id, "other");
  EXPECT_EQ(row.version, 3U);
}

TEST_F(PostgreSqlSession, OnlyTheOwnerRenewsAndOnlyInItsLease) {
  const Row mine = acquire("me");
  const Row renewed = change(*session, Change::guard, ask(mutex, "me"));
  EXPECT_EQ(renewed.version, 2U);
  EXPECT_GE(renewed.transition_at, mine.transition_at);

  const Row refused = change(*session, Change::guard, ask(mutex, "other"));
  EXPECT_EQ(refused.owner_id, "me");
  EXPECT_EQ(refused.version, 2U);

  set("ttl_at = 1, transition_at = 2");
  const Row late = change(*session, Change::guard, ask(mutex, "me"));
  EXPECT_EQ(late.version, 2U);
  EXPECT_EQ(late.transition_at, 2);
}

TEST_F(PostgreSqlSession, AReleaseHappensUnderItsTokenAloneAndWithoutOneUnderAny) {
  acquire("me");
  Ask release = ask(mutex, "me");
  release.version = 7;
  EXPECT_EQ(change(*session, Change::release, release).owner_id, "me");

  release.version = 1;
  const Row released = change(*session, Change::release, release);
  EXPECT_EQ(released.owner_id, "");
  EXPECT_EQ(released.version, 2U);
  EXPECT_EQ(released.acquired_at + released.ttl_at + released.transition_at, 0);

  EXPECT_EQ(acquire("other").version, 3U);
  EXPECT_EQ(change(*session, Change::release, ask(mutex, "me")).owner_id, "other");
  EXPECT_EQ(change(*session, Change::release, ask(mutex, "other")).version, 4U);
}

TEST_F(PostgreSqlSession, AMissingRowIsLeftOutUnlessItIsAcquired) {
  const std::vector<Ask> asks{ask(mutex, "me")};
  EXPECT_TRUE(session->change(Change::guard, asks, soon()).empty());
  EXPECT_TRUE(session->change(Change::release, asks, soon()).empty());
  EXPECT_TRUE(session->look(std::vector{mutex}, soon()).empty());
  EXPECT_TRUE(session->change(Change::guard, {}, soon()).empty());
  EXPECT_TRUE(session->init(mutex, soon()));
  EXPECT_FALSE(session->init(mutex, soon()));
  const auto rows = session->look(std::vector{mutex}, soon());
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].owner_id, "");
  EXPECT_EQ(rows[0].version, 0U);
}

TEST_F(PostgreSqlSession, ABatchOfTwoHundredIsAnsweredInFull) {
  std::vector<Ask> asks;
  for (int i = 0; i < 200; ++i) asks.push_back(ask(fmt::format("{}-{:03}", mutex, i), "me"));
  for (int i = 0; i < 200; i += 4) {
    Ask other = asks[static_cast<std::size_t>(i)];
    other.contender_id = "other";
    change(*session, Change::acquire, other);
  }

  for (const Change kind : {Change::acquire, Change::guard, Change::release}) {
    const auto rows = session->change(kind, asks, soon());
    EXPECT_EQ(rows.size(), 200U);
    const auto mine = [](const Row& row) { return row.owner_id == "me"; };
    const auto others = [](const Row& row) { return row.owner_id == "other"; };
    EXPECT_EQ(std::ranges::count_if(rows, mine), kind == Change::release ? 0 : 150);
    EXPECT_EQ(std::ranges::count_if(rows, others), 50);
  }
}

TEST_F(PostgreSqlSession, NamesAreNeverTakenForAnythingElse) {
  for (const std::string& name :
       {std::string{"'; DROP TABLE simba_mutex; --"}, std::string{"{\"a\",b}"},
        std::string{R"(back\slash "quoted" %s $1)"}, std::string{"NULL"},
        std::string{"\xF0\x9F\xA6\x81"}, std::string{" a "}, std::string{"tab\tnew\nline"}}) {
    Ask hostile = ask(mutex + name, name);
    const Row row = change(*session, Change::acquire, hostile);
    EXPECT_EQ(row.mutex, mutex + name);
    EXPECT_EQ(row.owner_id, name);
    EXPECT_EQ(session->look(std::vector{mutex + name}, soon()).size(), 1U);
    EXPECT_EQ(change(*session, Change::release, hostile).owner_id, "");
  }
  const std::string nul{"a\0b", 3};
  EXPECT_EQ(error_of([&] { session->look(std::vector{nul}, soon()); }).kind(),
            ErrorKind::invalid_argument);
  EXPECT_EQ(error_of([&] { session->init(nul, soon()); }).kind(), ErrorKind::invalid_argument);
}

TEST_F(PostgreSqlSession, AStatementChangesNoSettingOfTheSession) {
  const std::vector<Parameter> parameters{"{" + mutex + "}", "{me}", "1000", "1000", "500",
                                          "{NULL}"};
  console.run(statements::on_table(statements::acquire, "simba_mutex"), parameters);
  console.run(statements::on_table(statements::guard, "simba_mutex"), parameters);
  EXPECT_EQ(console.value("current_setting('lock_timeout')"), "0");
  EXPECT_EQ(console.value("SELECT version FROM simba_mutex WHERE mutex = '" + mutex + "'"), "2");
}

TEST(PostgreSqlSessionOfItsOwnDatabase, IsNotUsableOnceTheServerEndedItWhileIdle) {
  const PostgreSqlOptions options = own_database();
  Client client{options};
  const auto session = client.connect();
  EXPECT_TRUE(session->usable());
  Console{options}.run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
      "AND pid <> pg_backend_pid()");
  EXPECT_TRUE(support::eventually([&] { return !session->usable(); }));
}

TEST(PostgreSqlSessionOfItsOwnDatabase, GoesOnWhenTheTableIsAlteredOrMadeAnew) {
  const PostgreSqlOptions options = own_database();
  Console console{options};
  Client client{options};
  const auto session = client.connect();
  change(*session, Change::acquire, ask("m", "me"));
  console.run("ALTER TABLE simba_mutex ADD remark text, ALTER COLUMN version TYPE int");
  EXPECT_EQ(change(*session, Change::acquire, ask("m", "me")).version, 2U);
  console.run("ALTER TABLE simba_mutex ALTER COLUMN version TYPE bigint");
  EXPECT_EQ(change(*session, Change::guard, ask("m", "me")).version, 3U);
  EXPECT_TRUE(session->usable());
}

TEST(PostgreSqlSessionOnAServer, ThatIsPausedTimesOutAndIsThrownAway) {
  support::PostgreSqlServer server;
  Client client{options_of(server.location())};
  auto session = client.connect();
  auto second = client.connect();
  server.pause();

  const Error error = error_of([&] {
    session->change(Change::acquire, std::vector{ask("m", "me")}, sql::real_now() + 200ms);
  });
  EXPECT_EQ(error.kind(), ErrorKind::timeout) << error.what();
  EXPECT_FALSE(session->usable());
  EXPECT_EQ(
      error_of([&] { client.database.connect(sql::real_now() + 100ms, client.closing); }).kind(),
      ErrorKind::unavailable);

  std::jthread closer{[&] {
    std::this_thread::sleep_for(100ms);
    client.closing.raise();
  }};
  const Error closed = error_of([&] { second->look(std::vector<std::string>{"m"}, soon()); });
  EXPECT_EQ(closed.kind(), ErrorKind::unavailable)
      << "at its deadline it would be a timeout; " << closed.what();
  server.resume();
}

TEST(PostgreSqlSessionOnAServer, ThatIsKilledWhileItWorksIsInDoubt) {
  support::PostgreSqlServer server;
  Client client{options_of(server.location())};
  auto session = client.connect();
  change(*session, Change::acquire, ask("m", "me"));
  Console console{options_of(server.location())};
  console.run("BEGIN");
  console.run("SELECT FROM simba_mutex FOR UPDATE");
  Console watcher{options_of(server.location())};  // a transaction sees one state only
  std::jthread killer{[&] {
    EXPECT_TRUE(support::eventually([&] {
      return watcher.value(
                 "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") != "0";
    }));
    server.kill();
  }};

  const Error error = error_of([&] { change(*session, Change::acquire, ask("m", "me")); });
  EXPECT_EQ(error.kind(), ErrorKind::in_doubt) << error.what();
  EXPECT_FALSE(session->usable());
}

TEST_F(PostgreSqlSession, AReplyThatIsLostLeavesTheChangeInDoubt) {
  support::FaultProxy proxy{options().host, options().port};
  PostgreSqlOptions through = options();
  through.port = proxy.port();
  Client other{through};
  const auto cut = other.connect();
  acquire("me");
  change(*cut, Change::guard, ask(mutex, "me"));  // prepared from now on
  proxy.cut_next_reply();

  const Error error = error_of([&] { change(*cut, Change::guard, ask(mutex, "me")); });

  EXPECT_EQ(error.kind(), ErrorKind::in_doubt) << error.what();
  EXPECT_FALSE(cut->usable());
  EXPECT_TRUE(support::eventually(
      [&] { return session->look(std::vector{mutex}, soon()).at(0).version == 3; }));
}

TEST_F(PostgreSqlSession, TheRepositoryWorksOnTheSameTable) {
  const auto repository = make_postgresql_repository(options());
  EXPECT_TRUE(repository->try_init_mutex(mutex));
  EXPECT_TRUE(repository->acquire(mutex, "me", 10s, 6s));
  EXPECT_FALSE(repository->acquire(mutex, "other", 10s, 6s));
  EXPECT_EQ(repository->get_owner(mutex).owner_id(), "me");
  EXPECT_EQ(session->look(std::vector{mutex}, soon()).at(0).owner_id, "me");
  EXPECT_TRUE(repository->release(mutex, "me"));
  EXPECT_FALSE(repository->get_owner(mutex).has_owner());
}

}  // namespace
}  // namespace simba::postgresql::test
