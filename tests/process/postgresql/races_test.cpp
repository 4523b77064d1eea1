#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "process/postgresql/console.hpp"
#include "support/patience.hpp"

namespace simba::postgresql::test {
namespace {

using sql::Ask;
using sql::Change;
using sql::Row;

class PostgreSqlRace : public ::testing::Test {
 protected:
  static PostgreSqlOptions options() { return options_of(support::postgresql_location()); }

  Row acquire(const std::string& contender_id) {
    return change(*session, Change::acquire, ask(mutex, contender_id));
  }

  void set(const std::string& assignments) {
    console.run(fmt::format("UPDATE simba_mutex SET {} WHERE mutex = '{}'", assignments, mutex));
  }

  /// Waits until a statement of someone waits for a lock that the console's transaction holds.
  bool someone_waits() {
    return support::eventually([this] {
      return watcher.value(fmt::format("SELECT count(*) FROM pg_stat_activity WHERE "
                                       "{} = ANY (pg_blocking_pids(pid))",
                                       console_pid)) != "0";
    });
  }

  Client client{options()};
  std::unique_ptr<sql::Session> session = client.connect();
  Console console{options()};
  Console watcher{options()};
  std::string console_pid = console.value("pg_backend_pid()");
  std::string mutex = unique("mutex");
};

TEST_F(PostgreSqlRace, WhoLosesTheRaceOfMakingTheRowHearsOfTheWinner) {
  console.run("BEGIN");
  console.run(fmt::format(
      "INSERT INTO simba_mutex VALUES ('{}', 1, 9000000000000, 9000000000000, 'winner', 5)",
      mutex));
  auto answer = std::async(std::launch::async, [&] { return acquire("me"); });
  ASSERT_TRUE(someone_waits());
  console.run("COMMIT");

  const Row row = answer.get();
  EXPECT_EQ(row.owner_id, "winner");
  EXPECT_EQ(row.version, 5U);
}

// Between the first try and the second something is refused.
TEST_F(PostgreSqlRace, WhoLosesTheRaceOfMakingTheRowIsToldWhyItMayNotTryAgain) {
  const std::string there = mutex + "_there";
  change(*session, Change::acquire, ask(there, "me"));
  const std::string user = unique("user");
  console.run(fmt::format("CREATE ROLE {} LOGIN PASSWORD 'very-secret'", user));
  console.run(fmt::format("GRANT SELECT, INSERT, UPDATE ON simba_mutex TO {}", user));
  PostgreSqlOptions poor = options();
  poor.user = user;
  poor.password = Secret{"very-secret"};
  Client other{poor};
  const auto its_session = other.connect();
  console.run("BEGIN");
  console.run(fmt::format("INSERT INTO simba_mutex VALUES ('{}', 1, 2, 3, 'winner', 5)", mutex));
  console.run(fmt::format("REVOKE UPDATE ON simba_mutex FROM {}", user));
  auto answer = std::async(std::launch::async, [&] {
    return its_session->change(Change::acquire, std::vector{ask(mutex, "me"), ask(there, "me")},
                               soon());
  });
  ASSERT_TRUE(someone_waits());
  console.run("COMMIT");

  const auto rows = answer.get();
  ASSERT_EQ(rows.size(), 2U);
  for (const Row& row : rows) {
    EXPECT_EQ(row.problem.has_value(), row.mutex == mutex);
    EXPECT_EQ(row.owner_id, row.mutex == mutex ? "" : "me");
    if (row.problem) {
      EXPECT_EQ(row.problem->kind(), ErrorKind::permission) << row.problem->what();
    }
  }
}

TEST_F(PostgreSqlRace, WhoLosesTheRaceForAnOverdueLeaseHearsOfTheWinner) {
  acquire("old");
  set("ttl_at = 1, transition_at = 2");
  console.run("BEGIN");
  set("owner_id = 'winner', transition_at = 9000000000000, version = 5");
  auto answer = std::async(std::launch::async, [&] { return acquire("me"); });
  ASSERT_TRUE(someone_waits());
  console.run("COMMIT");

  const Row row = answer.get();
  EXPECT_EQ(row.owner_id, "winner");
  EXPECT_EQ(row.version, 5U);
}

TEST_F(PostgreSqlRace, AReleaseThatComesBetweenIsSeenByARenewalThatWaitedForIt) {
  acquire("me");
  console.run("BEGIN");
  set("owner_id = '', ttl_at = 0, transition_at = 0, version = 2");
  auto answer = std::async(std::launch::async,
                           [&] { return change(*session, Change::guard, ask(mutex, "me")); });
  ASSERT_TRUE(someone_waits());
  console.run("COMMIT");

  const Row row = answer.get();
  EXPECT_EQ(row.owner_id, "");
  EXPECT_EQ(row.version, 2U);
}

TEST_F(PostgreSqlRace, AStatementThatIsLateDoesNotShortenALaterRenewal) {
  for (const Change kind : {Change::acquire, Change::guard}) {
    const Row mine = acquire("me");
    console.run("BEGIN");
    set("acquired_at = acquired_at + 5000, ttl_at = ttl_at + 5000, "
        "transition_at = transition_at + 5000");
    auto answer =
        std::async(std::launch::async, [&] { return change(*session, kind, ask(mutex, "me")); });
    ASSERT_TRUE(someone_waits());
    console.run("COMMIT");

    const Row row = answer.get();
    EXPECT_EQ(row.owner_id, "me");
    EXPECT_EQ(row.version, mine.version + 1);
    EXPECT_EQ(row.acquired_at, mine.acquired_at + 5'000);
    EXPECT_EQ(row.ttl_at, mine.ttl_at + 5'000);
    EXPECT_EQ(row.transition_at, mine.transition_at + 5'000);
    set("transition_at = 0, owner_id = ''");
  }
}

TEST_F(PostgreSqlRace, ALeaseIsNotShortenedHoweverFarItIsAheadAndEndsWithARelease) {
  for (const Change kind : {Change::acquire, Change::guard}) {
    acquire("me");
    set("ttl_at = ttl_at + 3600000, transition_at = transition_at + 3600000");
    const Row before = change(*session, kind, ask(mutex, "me"));

    const Row row = change(*session, kind, ask(mutex, "me"));

    EXPECT_EQ(row.transition_at, before.transition_at);
    EXPECT_EQ(row.ttl_at, before.ttl_at);
    EXPECT_GT(row.transition_at - row.now, 3'600'000);
    EXPECT_EQ(change(*session, Change::release, ask(mutex, "me")).transition_at, 0);
  }
}

TEST_F(PostgreSqlRace, ALockedRowFailsOnTheServerInTimeAndTheOthersGoOn) {
  acquire("me");
  console.run("BEGIN");
  console.run(fmt::format("SELECT FROM simba_mutex WHERE mutex = '{}' FOR UPDATE", mutex));

  constexpr auto limit = 2s;  // the server gives up after half of it
  for (const Change kind : {Change::acquire, Change::guard, Change::release}) {
    const LocalTime start = sql::real_now();
    const Error error =
        error_of([&] { session->change(kind, std::vector{ask(mutex, "me")}, start + limit); });
    EXPECT_EQ(error.kind(), ErrorKind::unavailable) << error.what();
    EXPECT_LT(sql::real_now() - start, limit);
    EXPECT_TRUE(session->usable());
  }
  EXPECT_EQ(change(*session, Change::acquire, ask(unique("mutex"), "me")).owner_id, "me");
  console.run("COMMIT");
  EXPECT_EQ(acquire("me").version, 2U);
}

TEST_F(PostgreSqlRace, AStatementThatAnAdministratorEndsIsInDoubtAndItsSessionGone) {
  acquire("me");
  console.run("BEGIN");
  set("version = 1");
  auto answer = std::async(std::launch::async, [&] { return error_of([&] { acquire("me"); }); });
  ASSERT_TRUE(someone_waits());
  watcher.run(
      fmt::format("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                  "{} = ANY (pg_blocking_pids(pid))",
                  console_pid));

  const Error error = answer.get();
  EXPECT_EQ(error.kind(), ErrorKind::in_doubt) << error.what();
  EXPECT_FALSE(session->usable());
}

TEST_F(PostgreSqlRace, ATakeOverThatComesBeforeARenewalThatWaitedForItIsRefused) {
  acquire("me");
  console.run("BEGIN");
  set("version = 2");  // as a namesake does
  Ask renewal = ask(mutex, "me");
  renewal.version = 1;
  auto answer =
      std::async(std::launch::async, [&] { return change(*session, Change::guard, renewal); });
  ASSERT_TRUE(someone_waits());
  console.run("COMMIT");

  const Row row = answer.get();
  EXPECT_TRUE(row.refused);
  EXPECT_EQ(row.version, 2U);
}

TEST(PostgreSqlCommit, ThatFailsForAnUnknownReasonLeavesTheChangeInDoubt) {
  const PostgreSqlOptions options = own_database();
  Client client{options};
  const auto session = client.connect();
  change(*session, Change::acquire, ask("m", "me"));
  Console{options}.run(
      "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS "
      "$$BEGIN RAISE SQLSTATE '57014'; END$$");
  Console{options}.run(
      "CREATE CONSTRAINT TRIGGER at_commit AFTER UPDATE ON simba_mutex DEFERRABLE INITIALLY "
      "DEFERRED FOR EACH ROW EXECUTE FUNCTION fail()");
  const Error error = error_of([&] { change(*session, Change::guard, ask("m", "me")); });
  EXPECT_EQ(error.kind(), ErrorKind::in_doubt) << error.what();
}

TEST_F(PostgreSqlRace, BatchesOfSessionsThatOverlapDoNotBlockEachOther) {
  const auto work = [&](const std::string& me) {
    try {
      const auto own = client.connect();
      for (int round = 0; round < 40; ++round) {
        std::vector<Ask> asks;
        for (int i = 0; i < 30; ++i)
          asks.push_back(ask(fmt::format("{}-{}-{:02}", mutex, round, i), me));
        EXPECT_EQ(own->change(Change::acquire, asks, soon()).size(), asks.size());
        EXPECT_EQ(own->change(Change::release, asks, soon()).size(), asks.size());
      }
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, fmt::format("worker {}", i));
  threads.clear();
}

TEST(PostgreSqlTableLock, LeavesNoStatementBehindOnTheServer) {
  const PostgreSqlOptions options = own_database();
  Client client{options};
  const auto session = client.connect();
  Console console{options};
  Console watcher{options};
  console.run("BEGIN");
  console.run("LOCK TABLE simba_mutex");

  const Error error = error_of([&] {
    session->change(Change::acquire, std::vector{ask("m", "me")}, sql::real_now() + 200ms);
  });
  EXPECT_EQ(error.kind(), ErrorKind::timeout) << error.what();
  EXPECT_TRUE(support::eventually([&] {
    return watcher.value(
               "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
               "AND datname = current_database()") == "0";
  }));
}

TEST_F(PostgreSqlRace, WhoeverTakesTheMutexBeforeARecordIsWrittenStopsItsFormerOwner) {
  acquire("me");
  console.run("BEGIN");
  set("owner_id = 'winner', version = 2");
  auto answer = std::async(std::launch::async, [&] {
    return session->write_record(
        {.mutex = mutex,
         .text = "late",
         .owner = sql::RecordAsk::Owner{.contender_id = "me", .least = 1, .greatest = 2}},
        soon());
  });
  ASSERT_TRUE(someone_waits());
  console.run("COMMIT");
  const RecordAnswer found = answer.get();
  EXPECT_EQ(found.outcome, RecordAnswer::Outcome::not_owned);
  EXPECT_EQ(session->read_records(std::vector{mutex}, soon()).at(0).record.version, 0U);
}

TEST_F(PostgreSqlRace, WhoLosesTheRaceOfMakingARecordHearsWhatItIs) {
  session->read_records(std::vector{mutex}, soon());  // makes the table
  console.run("BEGIN");
  console.run(fmt::format("INSERT INTO simba_record VALUES ('{}', 1, 'theirs')", mutex));
  auto answer = std::async(std::launch::async, [&] {
    return session->write_record({.mutex = mutex, .text = "ours"}, soon());
  });
  ASSERT_TRUE(someone_waits());
  console.run("COMMIT");
  const RecordAnswer found = answer.get();
  EXPECT_EQ(found.outcome, RecordAnswer::Outcome::changed);
  EXPECT_EQ(found.record.version, 1U);
  EXPECT_EQ(found.record.text, "theirs");
}

TEST_F(PostgreSqlRace, ARecordThatSomeoneLocksHoldsUpNoOwner) {
  acquire("me");
  session->write_record({.mutex = mutex, .text = "x"}, soon());
  console.run("BEGIN");
  console.run(fmt::format("SELECT FROM simba_record WHERE mutex = '{}' FOR UPDATE", mutex));
  auto answer = std::async(std::launch::async, [&] {
    return session->write_record(
        {.mutex = mutex,
         .text = "y",
         .replaces = 1,
         .owner = sql::RecordAsk::Owner{.contender_id = "me", .least = 1, .greatest = 2}},
        soon());
  });
  ASSERT_TRUE(someone_waits());
  Client other{options()};
  EXPECT_EQ(change(*other.connect(), Change::guard, ask(mutex, "me")).version, 2U);
  console.run("COMMIT");
  EXPECT_EQ(answer.get().outcome, RecordAnswer::Outcome::written);
}

}  // namespace
}  // namespace simba::postgresql::test
