#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/core/runtime.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "sql/sql_store.hpp"
#include "sqlite_fixture.hpp"

namespace simba::sqlite {
namespace {

using namespace std::chrono_literals;
using sql::Change;
using sql::Row;
using testing::HasSubstr;

/// Counts the statements that read records.
class CountingDatabase final : public sql::Database {
 public:
  explicit CountingDatabase(std::shared_ptr<sql::Database> base) : base_{std::move(base)} {}

  std::string_view name() const noexcept override { return base_->name(); }
  std::unique_ptr<sql::Session> connect(LocalTime deadline, const sql::Wakeup& closing) override {
    return std::make_unique<CountingSession>(base_->connect(deadline, closing), reads);
  }
  std::unique_ptr<sql::ChangeFeed> make_feed() override { return base_->make_feed(); }

  std::atomic<int> reads{0};

 private:
  class CountingSession final : public sql::Session {
   public:
    CountingSession(std::unique_ptr<sql::Session> base, std::atomic<int>& reads)
        : base_{std::move(base)}, reads_{reads} {}

    std::vector<Row> change(Change change, std::span<const sql::Ask> asks,
                            LocalTime deadline) override {
      return base_->change(change, asks, deadline);
    }
    std::vector<Row> look(std::span<const std::string> mutexes, LocalTime deadline) override {
      return base_->look(mutexes, deadline);
    }
    bool init(const std::string& mutex, LocalTime deadline) override {
      return base_->init(mutex, deadline);
    }
    std::vector<sql::FoundRecord> read_records(std::span<const std::string> mutexes,
                                               LocalTime deadline) override {
      ++reads_;
      return base_->read_records(mutexes, deadline);
    }
    RecordAnswer write_record(const sql::RecordAsk& ask, LocalTime deadline) override {
      return base_->write_record(ask, deadline);
    }
    bool usable() noexcept override { return base_->usable(); }

   private:
    const std::unique_ptr<sql::Session> base_;
    std::atomic<int>& reads_;
  };

  const std::shared_ptr<sql::Database> base_;
};

TEST_F(SqliteTest, TheFirstAcquisitionMakesTheRow) {
  const auto database = make_database();
  const auto session = connect(*database);
  const Row row = change(*session, Change::acquire, ask("m", "me"));
  EXPECT_EQ(row.owner_id, "me");
  EXPECT_EQ(row.version, 1U);
  EXPECT_EQ(row.ttl_at - row.acquired_at, 10'000);
  EXPECT_EQ(row.transition_at - row.acquired_at, 16'000);
  EXPECT_EQ(row.now, row.acquired_at);
}

TEST_F(SqliteTest, WhatAnotherOwnsIsRefusedUntilItsLeaseIsOver) {
  const auto database = make_database();
  const auto session = connect(*database);
  change(*session, Change::acquire, ask("m", "me"));
  since_boot += 16s;
  EXPECT_EQ(change(*session, Change::acquire, ask("m", "other")).owner_id, "me");
  since_boot += 1ms;
  const Row taken = change(*session, Change::acquire, ask("m", "other"));
  EXPECT_EQ(taken.owner_id, "other");
  EXPECT_EQ(taken.version, 2U);
}

TEST_F(SqliteTest, AnOwnerThatAcquiresAgainGetsAGreaterToken) {
  const auto database = make_database();
  const auto session = connect(*database);
  change(*session, Change::acquire, ask("m", "me"));
  EXPECT_EQ(change(*session, Change::acquire, ask("m", "me")).version, 2U);
}

TEST_F(SqliteTest, ARenewalBeginsTheLeaseAnewUpToItsLastMoment) {
  const auto database = make_database();
  const auto session = connect(*database);
  const Row first = change(*session, Change::acquire, ask("m", "me"));
  since_boot += 16s;
  const Row renewed = change(*session, Change::guard, ask("m", "me"));
  EXPECT_EQ(renewed.transition_at, first.transition_at + 16'000);
  since_boot += 16s + 1ms;
  EXPECT_EQ(change(*session, Change::guard, ask("m", "me")).transition_at, renewed.transition_at);
}

TEST_F(SqliteTest, AReleaseNeedsTheVersionIfOneIsGiven) {
  const auto database = make_database();
  const auto session = connect(*database);
  change(*session, Change::acquire, ask("m", "me"));
  auto release = ask("m", "me");
  release.version = 2;
  EXPECT_EQ(change(*session, Change::release, release).owner_id, "me");
  release.version = 1;
  const Row freed = change(*session, Change::release, release);
  EXPECT_EQ(freed.owner_id, "");
  EXPECT_EQ(freed.version, 2U);
  EXPECT_EQ(freed.transition_at, 0);
}

TEST_F(SqliteTest, ManyMutexesChangeInOneTransaction) {
  const auto database = make_database();
  const auto session = connect(*database);
  change(*session, Change::acquire, ask("m100", "other"));
  std::vector<sql::Ask> asks;
  for (int i = 100; i < 300; ++i) asks.push_back(ask("m" + std::to_string(i), "me"));
  const auto rows = session->change(Change::acquire, asks, soon());
  ASSERT_EQ(rows.size(), asks.size());
  std::size_t mine = 0;
  for (const Row& row : rows) mine += row.owner_id == "me" ? 1U : 0U;
  EXPECT_EQ(mine, asks.size() - 1);
}

TEST_F(SqliteTest, NamesAreNeverReadAsSqlOrJson) {
  const auto database = make_database();
  const auto session = connect(*database);
  const std::vector<std::string> names{"'; DROP TABLE simba_mutex; --",
                                       "\"",
                                       "\\",
                                       "%",
                                       "_",
                                       "a\nb\tc\x01",
                                       "]",
                                       "\U0001F981",
                                       "?1"};
  for (const std::string& name : names) change(*session, Change::acquire, ask(name, "me"));
  const auto rows = session->look(names, soon());
  EXPECT_EQ(rows.size(), names.size());
}

TEST_F(SqliteTest, AnOwnerWhoseProcessIsGoneIsShownAsNoneAndMayBeFollowed) {
  auto gone = make_database();
  change(*connect(*gone), Change::acquire, ask("m", "me"));
  const auto database = make_database();
  const auto session = connect(*database);
  EXPECT_EQ(look(*session, "m").owner_id, "me");
  gone.reset();
  EXPECT_EQ(look(*session, "m").owner_id, "");
  const Row taken = change(*session, Change::acquire, ask("m", "other"));
  EXPECT_EQ(taken.owner_id, "other");
  EXPECT_EQ(taken.version, 2U);
}

TEST_F(SqliteTest, AfterARebootEverythingIsFreeAndTokensGrowOn) {
  auto before = make_database();
  change(*connect(*before), Change::acquire, ask("m", "me"));
  before.reset();
  since_boot = 5s;
  const auto after = make_database(sql::Schema::create, "next boot");
  const auto session = connect(*after);
  EXPECT_EQ(look(*session, "m").owner_id, "");
  EXPECT_GT(change(*session, Change::acquire, ask("m", "other")).version, 1U);
}

TEST_F(SqliteTest, AProcessThatSeesAnotherBootWhileAnOwnerLivesIsRefused) {
  const auto here = make_database();
  change(*connect(*here), Change::acquire, ask("m", "me"));
  const auto elsewhere = make_database(sql::Schema::create, "another host");
  try {
    connect(*elsewhere);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::configuration);
    EXPECT_THAT(error.what(), HasSubstr("one host"));
  }
}

TEST_F(SqliteTest, ASessionWhoseClockWasReplacedChangesNothing) {
  const auto here = make_database();
  const auto session = connect(*here);
  const auto elsewhere = make_database(sql::Schema::create, "another host");
  const auto other = connect(*elsewhere);
  EXPECT_THROW(change(*session, Change::acquire, ask("m", "me")), Error);
  EXPECT_FALSE(session->usable());
}

TEST_F(SqliteTest, LeasesDoNotDependOnTheWallClock) {
  const auto database = make_database();
  const auto session = connect(*database);
  const Row first = change(*session, Change::acquire, ask("m", "me"));
  const auto later = connect(*database);  // reads the clock of the database
  EXPECT_EQ(look(*later, "m").now, first.now);
}

TEST_F(SqliteTest, AFreeRowCanBeMadeOnce) {
  const auto database = make_database();
  const auto session = connect(*database);
  EXPECT_TRUE(session->init("m", soon()));
  EXPECT_FALSE(session->init("m", soon()));
  EXPECT_EQ(look(*session, "m").version, 0U);
}

TEST_F(SqliteTest, ATableThatSomeoneElseMadeGetsTheColumnItLacks) {
  {
    Connection plain{path, soon(), closing};
    plain.execute(
        "CREATE TABLE simba_mutex (mutex varchar(66) PRIMARY KEY, acquired_at INTEGER NOT NULL, "
        "ttl_at INTEGER NOT NULL, transition_at INTEGER NOT NULL, owner_id varchar(128) NOT NULL, "
        "version INTEGER NOT NULL); INSERT INTO simba_mutex VALUES ('m', 0, 0, 0, '', 41)");
  }
  const auto database = make_database();
  EXPECT_EQ(change(*connect(*database), Change::acquire, ask("m", "me")).version, 42U);
}

TEST_F(SqliteTest, ManyProcessesMayOpenAFreshDatabaseAtTheSameMoment) {
  for (int round = 0; round < 10; ++round) {
    path = folder.path() / ("fresh" + std::to_string(round));
    std::vector<std::future<void>> all;
    for (int i = 0; i < 8; ++i) {
      all.push_back(std::async(std::launch::async, [this] {
        const auto database = make_database();
        connect(*database);
      }));
    }
    for (auto& one : all) EXPECT_NO_THROW(one.get());
  }
}

TEST_F(SqliteTest, WithoutTheTableOfRecordsMutexesWorkAndRecordsSayWhatToDo) {
  connect(*make_database());
  {
    Connection plain{path, soon(), closing};
    plain.execute("DROP TABLE simba_record");
  }
  const std::vector<std::string> mutexes{"m"};
  const auto older = make_database(sql::Schema::expect);
  const auto session = connect(*older);
  for (int times = 0; times < 2; ++times) {
    try {
      session->read_records(mutexes, soon());
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::configuration);
      EXPECT_THAT(error.what(), HasSubstr("run simba init"));
    }
  }
  EXPECT_EQ(change(*session, Change::acquire, ask("m", "me")).owner_id, "me");
  EXPECT_TRUE(session->usable());

  const auto newer = make_database();
  EXPECT_EQ(connect(*newer)->read_records(mutexes, soon()).size(), 1U) << "made when needed";
  EXPECT_EQ(session->read_records(mutexes, soon()).size(), 1U);
}

TEST_F(SqliteTest, AnOwnerWhoseProcessIsGoneCannotWriteARecord) {
  const auto database = make_database();
  const auto session = connect(*database);
  const auto version = change(*session, Change::acquire, ask("m", "me")).version;
  const sql::RecordAsk record{
      .mutex = "m",
      .text = "x",
      .owner = sql::RecordAsk::Owner{.contender_id = "me", .least = version, .greatest = version}};
  {
    Connection plain{path, soon(), closing};
    plain.execute(
        "UPDATE simba_mutex SET liveness = substr(liveness, 1, instr(liveness, ':')) || "
        "'999999999'");
  }
  EXPECT_EQ(session->write_record(record, soon()).outcome, RecordAnswer::Outcome::not_owned);
}

/// A look of 10,000 schedules, which comes every 10 seconds.
TEST_F(SqliteTest, TenThousandReadsOfRecordsAreTenStatementsAtMost) {
  const auto runtime = make_runtime({.log = make_null_logger()});
  const auto database = std::make_shared<CountingDatabase>(make_database());
  engine::LeaseServiceFactory factory{
      sql::make_sql_store(database, {}, {.pool_size = 1, .sees_gone_owners = true}, runtime),
      runtime};
  const auto records = factory.records();
  std::atomic<int> answered{0};
  const auto read = [&](const std::string& mutex) {
    records->read(mutex, [&](const RecordResult& result) {
      EXPECT_TRUE(std::holds_alternative<RecordAnswer>(result));
      ++answered;
      answered.notify_all();
    });
  };
  const auto wait_for = [&](int count) {
    for (int now = answered; now < count; now = answered) answered.wait(now);
  };
  read("m");  // connects
  wait_for(1);
  database->reads = 0;
  for (int i = 0; i < 10'000; ++i) read(std::to_string(i));
  wait_for(10'001);
  EXPECT_LE(database->reads, 10);
}

}  // namespace
}  // namespace simba::sqlite
