#include <algorithm>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "process/mysql/console.hpp"
#include "simba/config/make_factory.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/testkit/served_time.hpp"
#include "support/patience.hpp"

namespace simba::mysql::test {
namespace {

using sql::Ask;
using sql::Change;
using sql::Row;
using testkit::ServedTime;

class MySqlSession : public ::testing::Test {
 protected:
  static MySqlOptions options() { return options_of(support::mariadb_location()); }

  Row acquire(const std::string& contender_id) {
    return change(*session, Change::acquire, ask(mutex, contender_id));
  }

  void set(const std::string& assignments) {
    console.run(fmt::format("UPDATE simba_mutex SET {} WHERE mutex = '{}'", assignments, mutex));
  }

  /// Has the console lock the row until it ends its transaction.
  void lock_row() {
    console.run("START TRANSACTION");
    console.run(fmt::format("SELECT * FROM simba_mutex WHERE mutex = '{}' FOR UPDATE", mutex));
  }

  /// The number of the connection whose change of the mutex is at work in the server; "0": none.
  /// Not from the tables of InnoDB's locks, which show an old state to those who look all the time.
  std::string at_work() const {
    std::string name;
    for (const char c : mutex) name += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return Console{options()}.value(
        fmt::format("SELECT COALESCE(MAX(id),0) FROM information_schema.processlist WHERE state = "
                    "'Updating' AND info LIKE 'UPDATE simba_mutex %x_{}_%'",
                    name));
  }

  /// Waits until a change is held up by what the console has locked. Needs no turn of the console.
  testing::AssertionResult someone_waits_for_row() const {
    return support::eventually([&] { return at_work() != "0"; })
               ? testing::AssertionSuccess()
               : testing::AssertionFailure() << "nobody waits";
  }

  Client client{options()};
  std::unique_ptr<sql::Session> session = client.connect();
  Console console{options()};
  std::string mutex = unique("mutex");
};

TEST(MySqlUnixSocket, IsUsedInPlaceOfHostAndPort) {
  const MySqlOptions options = own_database();
  const std::string url =
      fmt::format("mysql://{}:{}@/{}?unix-socket={}", options.user, options.password.reveal(),
                  options.database, support::mariadb_location().socket);
  const auto factory = make_factory(url);
  SimbaLocker owner{"m", *factory};
  owner.acquire(support::scaled(10s));
  SimbaLocker other{"m", *factory};
  EXPECT_FALSE(other.try_acquire());
  Console console{options_of(support::mariadb_location())};
  const auto connections = [&](const std::string& which) {
    return console.value(
        fmt::format("SELECT COUNT(*) FROM information_schema.processlist WHERE db = '{}' AND host "
                    "{} 'localhost'",
                    options.database, which));
  };
  EXPECT_NE(connections("="), "0");
  EXPECT_EQ(connections("<>"), "0") << "over TCP it is an address with a port";
  owner.close();
  other.acquire(support::scaled(10s));
  EXPECT_TRUE(other.is_held());
}

TEST_F(MySqlSession, AMutexWithoutARowIsGrantedWithVersionOneAndAFullLease) {
  const Row row = acquire("me");

  EXPECT_EQ(row.mutex, mutex);
  EXPECT_EQ(row.owner_id, "me");
  EXPECT_EQ(row.version, 1U);
  EXPECT_EQ(row.ttl_at - row.acquired_at, 10'000);
  EXPECT_EQ(row.transition_at - row.acquired_at, 16'000);
  EXPECT_GE(row.now, row.acquired_at);
  EXPECT_LT(row.now, row.ttl_at);
}

TEST_F(MySqlSession, TheClockIsTheServersInUtcWhateverItsTimeZone) {
  console.run("SET GLOBAL time_zone = '+05:45'");
  Client other{options()};
  const Row row = change(*other.connect(), Change::acquire, ask(mutex, "me"));
  const auto now = std::stoll(console.value("SELECT FLOOR(UNIX_TIMESTAMP(NOW(3)) * 1000)"));
  console.run("SET GLOBAL time_zone = 'SYSTEM'");

  EXPECT_LE(row.now, now);
  EXPECT_GT(row.now, now - 10'000);
}

TEST_F(MySqlSession, AHeldMutexIsRefusedAndItsRowNotWritten) {
  const Row mine = acquire("me");

  const Row row = acquire("other");

  EXPECT_EQ(row.owner_id, "me");
  EXPECT_EQ(row.version, mine.version);
  EXPECT_EQ(row.transition_at, mine.transition_at);
}

TEST_F(MySqlSession, TheOwnerAcquiresAnewAndAnOverdueLeaseGoesToAnother) {
  acquire("me");
  EXPECT_EQ(acquire("me").version, 2U);
  set("ttl_at = 1, transition_at = 2");

  const Row row = acquire("other");

  EXPECT_EQ(row.owner_id, "other");
  EXPECT_EQ(row.version, 3U);
  EXPECT_EQ(row.transition_at - row.acquired_at, 16'000);
}

TEST_F(MySqlSession, OnlyTheOwnerRenewsAndOnlyInItsLease) {
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

TEST_F(MySqlSession, AReleaseHappensUnderItsTokenAloneAndWithoutOneUnderAny) {
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

TEST_F(MySqlSession, AMissingRowIsLeftOutUnlessItIsAcquired) {
  const std::vector<Ask> asks{ask(mutex, "me")};
  EXPECT_TRUE(session->change(Change::guard, asks, soon()).empty());
  EXPECT_TRUE(session->change(Change::release, asks, soon()).empty());
  EXPECT_TRUE(session->look(std::vector{mutex}, soon()).empty());
  EXPECT_TRUE(session->look({}, soon()).empty());
  EXPECT_TRUE(session->change(Change::guard, {}, soon()).empty());
  EXPECT_TRUE(session->init(mutex, soon()));
  EXPECT_FALSE(session->init(mutex, soon()));
  const auto rows = session->look(std::vector{mutex}, soon());
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].owner_id, "");
  EXPECT_EQ(rows[0].version, 0U);
}

TEST_F(MySqlSession, ABatchOfTwoHundredIsAnsweredInFullEachWithItsOwnOwnerAndToken) {
  std::vector<Ask> asks;
  for (int i = 100; i < 300; ++i) {
    asks.push_back(ask(fmt::format("{}-{}", mutex, i), fmt::format("owner-{}", i)));
  }
  // Every other one is held, and some have rows.
  for (std::size_t i = 0; i < asks.size(); i += 2) {
    change(*session, Change::acquire, ask(asks[i].mutex, "other"));
  }
  auto rows = session->change(Change::acquire, asks, soon());
  ASSERT_EQ(rows.size(), 200U);
  std::sort(rows.begin(), rows.end(), [](auto& a, auto& b) { return a.mutex < b.mutex; });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].mutex, asks[i].mutex);
    EXPECT_EQ(rows[i].owner_id, i % 2 == 0 ? "other" : asks[i].contender_id);
  }

  for (const Row& row : session->change(Change::guard, asks, soon())) {
    EXPECT_EQ(row.version, row.owner_id == "other" ? 1U : 2U);
  }

  for (std::size_t i = 0; i < asks.size(); ++i) {
    if (i % 4 != 1) asks[i].version = i % 4 == 3 ? 2 : 1;  // else under any
  }
  rows = session->change(Change::release, asks, soon());
  ASSERT_EQ(rows.size(), 200U);
  EXPECT_EQ(std::count_if(rows.begin(), rows.end(), [](auto& row) { return row.owner_id.empty(); }),
            100);
}

TEST_F(MySqlSession, NamesAndIdsAreDataWhateverTheyHold) {
  for (const std::string& hostile :
       {std::string{"' OR 1=1 -- "}, std::string{"\\'; DROP TABLE simba_mutex; -- "},
        std::string{"100%_\"`"}, std::string{"\xF0\x9F\x94\x92 schlo\xC3\x9F"},
        std::string{"x'41'"}}) {
    const Row row = change(*session, Change::acquire, ask(mutex.substr(0, 20) + hostile, hostile));
    EXPECT_EQ(row.owner_id, hostile);
    EXPECT_EQ(row.mutex, mutex.substr(0, 20) + hostile);
  }
}

TEST_F(MySqlSession, NamesThatDifferInCaseAccentOrTrailingSpaceAreDifferent) {
  for (const char* suffix : {"a", "A", "\xC3\xA4", "a ", "a  "}) {
    const Row row = change(*session, Change::acquire, ask(mutex + suffix, suffix));
    EXPECT_EQ(row.owner_id, suffix);
    EXPECT_EQ(row.version, 1U);
  }
}

TEST_F(MySqlSession, AStatementThatWasHeldUpDoesNotShortenALaterLease) {
  acquire("me");
  lock_row();
  Row held_up;
  std::thread late{[&] { held_up = change(*session, Change::guard, ask(mutex, "me")); }};
  EXPECT_TRUE(someone_waits_for_row());
  set("acquired_at = acquired_at + 5000, ttl_at = ttl_at + 5000, "
      "transition_at = transition_at + 5000");
  const auto renewed = std::stoll(console.value(
      fmt::format("SELECT transition_at FROM simba_mutex WHERE mutex = '{}'", mutex)));
  console.run("COMMIT");
  late.join();

  EXPECT_EQ(held_up.owner_id, "me");
  EXPECT_EQ(held_up.transition_at, renewed);
  EXPECT_EQ(held_up.ttl_at, renewed - 6'000);
  EXPECT_EQ(held_up.version, 2U);
}

TEST_F(MySqlSession, ALeaseIsNotShortenedHoweverFarItIsAheadAndEndsWithARelease) {
  for (const Change kind : {Change::acquire, Change::guard}) {
    acquire("me");
    set("ttl_at = ttl_at + 3600000, transition_at = transition_at + 3600000");
    const auto before = change(*session, kind, ask(mutex, "me"));

    const Row row = change(*session, kind, ask(mutex, "me"));

    EXPECT_EQ(row.transition_at, before.transition_at);
    EXPECT_EQ(row.ttl_at, before.ttl_at);
    EXPECT_GT(row.transition_at - row.now, 3'600'000);
    EXPECT_EQ(change(*session, Change::release, ask(mutex, "me")).transition_at, 0);
  }
}

TEST_F(MySqlSession, ARowThatAnotherSessionLocksIsUnavailableAndTheOthersGoOn) {
  MySqlOptions hasty = options();
  hasty.sql.statement_timeout = 500ms;
  Client other{hasty};
  const auto blocked = other.connect();
  acquire("me");
  lock_row();

  const ServedTime time;
  const Error error =
      error_of([&] { blocked->change(Change::guard, std::vector{ask(mutex, "me")}, soon()); });
  EXPECT_EQ(error.kind(), ErrorKind::unavailable) << error.what();
  EXPECT_LT(time.now(), support::scaled(1s));
  EXPECT_TRUE(blocked->usable());

  EXPECT_EQ(change(*blocked, Change::acquire, ask(mutex + "-other", "me")).owner_id, "me");
  EXPECT_EQ(blocked->look(std::vector{mutex}, soon()).at(0).owner_id, "me");
  console.run("ROLLBACK");
  EXPECT_EQ(change(*blocked, Change::guard, ask(mutex, "me")).version, 2U);
}

TEST_F(MySqlSession, OfABatchTheRowsOfANamesakeAreRefusedAndTheOthersChanged) {
  const std::string other = mutex + "-2";
  acquire("me");
  change(*session, Change::acquire, ask(other, "me"));
  set("version = 5");  // as a namesake does
  std::vector<Ask> asks{ask(mutex, "me"), ask(other, "me")};
  for (Ask& one : asks) one.version = 1;
  for (const Change kind : {Change::guard, Change::acquire}) {
    auto rows = session->change(kind, asks, soon());
    ASSERT_EQ(rows.size(), 2U);
    std::ranges::sort(rows, {}, &Row::mutex);
    EXPECT_TRUE(rows[0].refused);
    EXPECT_EQ(rows[0].version, 5U);
    EXPECT_FALSE(rows[1].refused);
    EXPECT_EQ(rows[1].version, *asks[1].version + 1);
    asks[1].version = rows[1].version;
  }
}

TEST_F(MySqlSession, ATakeOverThatComesBeforeARenewalThatWaitedForItIsRefused) {
  acquire("me");
  lock_row();
  Ask renewal = ask(mutex, "me");
  renewal.version = 1;
  auto answer =
      std::async(std::launch::async, [&] { return change(*session, Change::guard, renewal); });
  ASSERT_TRUE(someone_waits_for_row());
  set("version = 2");  // as a namesake does
  console.run("COMMIT");

  const Row row = answer.get();
  EXPECT_TRUE(row.refused);
  EXPECT_EQ(row.version, 2U);
}

TEST_F(MySqlSession, WhatANamesakeReleasesWhileItIsWaitedForIsGranted) {
  acquire("me");
  lock_row();
  Ask next_life = ask(mutex, "me");
  next_life.version = 0;
  auto answer =
      std::async(std::launch::async, [&] { return change(*session, Change::acquire, next_life); });
  ASSERT_TRUE(someone_waits_for_row());
  set("owner_id = '', acquired_at = 0, ttl_at = 0, transition_at = 0, version = 2");
  console.run("COMMIT");

  const Row row = answer.get();
  EXPECT_FALSE(row.refused);
  EXPECT_EQ(row.version, 3U);
}

TEST_F(MySqlSession, WhoeverTakesTheMutexBeforeARecordIsWrittenStopsItsFormerOwner) {
  acquire("me");
  session->write_record({.mutex = mutex, .text = "x"}, soon());
  for (const std::uint64_t replaces : {0U, 1U}) {
    const std::string name = replaces == 0 ? mutex + "_new" : mutex;
    change(*session, Change::acquire, ask(name, "me"));
    console.run("START TRANSACTION");
    console.run(fmt::format(
        "UPDATE simba_mutex SET owner_id = 'winner', version = 2 WHERE mutex = '{}'", name));
    auto answer = std::async(std::launch::async, [&] {
      return session->write_record(
          {.mutex = name,
           .text = "late",
           .replaces = replaces,
           .owner = sql::RecordAsk::Owner{.contender_id = "me", .least = 1, .greatest = 3}},
          soon());
    });
    EXPECT_EQ(answer.wait_for(100ms), std::future_status::timeout) << "waits for the row";
    console.run("COMMIT");
    EXPECT_EQ(answer.get().outcome, RecordAnswer::Outcome::not_owned);
    EXPECT_EQ(session->read_records(std::vector{name}, soon()).at(0).record.version, replaces);
  }
}

TEST_F(MySqlSession, AChangeWhoseConnectionIsKilledIsInDoubt) {
  acquire("me");
  lock_row();
  auto answer = std::async(std::launch::async, [&] {
    return error_of([&] { change(*session, Change::guard, ask(mutex, "me")); });
  });
  ASSERT_TRUE(someone_waits_for_row());
  Console{options()}.run("KILL " + at_work());
  const Error error = answer.get();
  EXPECT_EQ(error.kind(), ErrorKind::in_doubt) << error.what();
  EXPECT_FALSE(session->usable());
}

TEST_F(MySqlSession, AnAnswerThatDoesNotComeInTimeBreaksTheSession) {
  acquire("me");
  lock_row();

  const ServedTime time;
  const Error error = error_of([&] {
    session->change(Change::guard, std::vector{ask(mutex, "me")}, sql::real_now() + 100ms);
  });

  EXPECT_EQ(error.kind(), ErrorKind::timeout) << error.what();
  EXPECT_LT(time.now(), support::scaled(400ms));
  EXPECT_FALSE(session->usable());
  session.reset();
  EXPECT_LT(time.now(), support::scaled(400ms));
}

TEST_F(MySqlSession, ARaisedWakeupEndsTheWait) {
  acquire("me");
  lock_row();
  const ServedTime time;
  std::atomic<std::chrono::milliseconds> raised_at{};
  std::thread waker{[&] {
    EXPECT_TRUE(someone_waits_for_row());
    raised_at = time.now();
    client.closing.raise();
  }};
  const Error error = error_of([&] { change(*session, Change::guard, ask(mutex, "me")); });
  EXPECT_EQ(error.kind(), ErrorKind::unavailable) << error.what();
  EXPECT_LT(time.now() - raised_at.load(), support::scaled(1s));
  waker.join();
}

TEST_F(MySqlSession, ASessionThatTheServerHasEndedIsFoundOut) {
  const MySqlOptions own = own_user(options(), "ALL ON simba.*");
  Client other{own};
  const auto ended = other.connect();
  EXPECT_TRUE(ended->usable());
  change(*ended, Change::acquire, ask(mutex, "me"));
  console.run("KILL USER '" + own.user + "'");
  EXPECT_TRUE(support::within(2s, [&] { return !ended->usable(); }));
}

TEST_F(MySqlSession, ManyMayRaceForANewRowAndOneWins) {
  std::vector<std::thread> threads;
  std::atomic<int> owners{0};
  std::atomic<int> refused{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      Client own{options()};
      const auto mine = own.connect();
      const std::string id = fmt::format("racer-{}", i);
      for (int round = 0; round < 25; ++round) {
        try {
          const Row row =
              change(*mine, Change::acquire, ask(fmt::format("{}-{}", mutex, round), id));
          if (row.owner_id == id) ++owners;
        } catch (const Error& error) {  // a deadlock is told as such and tried again
          EXPECT_EQ(error.kind(), ErrorKind::unavailable) << error.what();
          ++refused;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_LE(owners, 25);
  EXPECT_GE(owners + refused, 25);
  EXPECT_LE(refused, 20);
}

}  // namespace
}  // namespace simba::mysql::test
