#include <chrono>
#include <filesystem>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "sqlite_fixture.hpp"

namespace simba::sqlite {
namespace {

using namespace std::chrono_literals;
using sql::Change;
using sql::Row;
using testing::HasSubstr;

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

}  // namespace
}  // namespace simba::sqlite
