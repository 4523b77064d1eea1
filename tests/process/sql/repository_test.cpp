// The repository, and what a user sees of a store, on every product.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/mysql/mysql_factory.hpp"
#include "simba/postgresql/postgresql_factory.hpp"
#include "simba/sql/mutex_owner_repository.hpp"
#include "simba/sqlite/sqlite_factory.hpp"
#include "simba/testkit/capturing_logger.hpp"
#include "support/client_options.hpp"
#include "support/ownership/grows.hpp"
#include "support/patience.hpp"
#include "support/temporary_folder.hpp"

namespace simba::sql {
namespace {

using namespace std::chrono_literals;

struct RepositoryProduct {
  std::string name;
  std::function<std::unique_ptr<MutexOwnerRepository>(const std::filesystem::path& folder)>
      make_repository;
  std::function<std::unique_ptr<MutexServiceFactory>(
      const std::filesystem::path& folder, const SqlOptions& sql, const std::string& password)>
      make_factory;
};

void PrintTo(const RepositoryProduct& product, std::ostream* stream) { *stream << product.name; }

std::vector<RepositoryProduct> repository_products() {
  using mysql::MySqlOptions;
  using postgresql::PostgreSqlOptions;
  using support::client_options;
  return {
      {"Sqlite",
       [](const auto& folder) {
         return sqlite::make_sqlite_repository({.path = folder / "simba.db"});
       },
       [](const auto& folder, const SqlOptions& sql, const std::string&) {
         return sqlite::make_sqlite_factory({.path = folder / "simba.db", .sql = sql});
       }},
      {"PostgreSql",
       [](const auto&) {
         return postgresql::make_postgresql_repository(
             client_options<PostgreSqlOptions>(support::postgresql_location()));
       },
       [](const auto&, const SqlOptions& sql, const std::string& password) {
         auto options = client_options<PostgreSqlOptions>(support::postgresql_location(), sql);
         if (!password.empty()) options.password = Secret{password};
         return postgresql::make_postgresql_factory(options);
       }},
      {"MariaDb",
       [](const auto&) {
         return mysql::make_mysql_repository(
             client_options<MySqlOptions>(support::mariadb_location()));
       },
       [](const auto&, const SqlOptions& sql, const std::string& password) {
         auto options = client_options<MySqlOptions>(support::mariadb_location(), sql);
         if (!password.empty()) options.password = Secret{password};
         return mysql::make_mysql_factory(options);
       }},
  };
}

struct SqlRepository : testing::TestWithParam<RepositoryProduct> {
  const support::TemporaryFolder folder;
  const std::unique_ptr<MutexOwnerRepository> repository =
      GetParam().make_repository(folder.path());
  const std::string mutex =
      "repository-" + std::to_string(support::now().time_since_epoch().count());
};

TEST_P(SqlRepository, ARowIsMadeOnce) {
  EXPECT_THROW(repository->get_owner(mutex), IllegalStateError);
  repository->init_mutex(mutex);
  EXPECT_THROW(repository->init_mutex(mutex), IllegalStateError);
  EXPECT_FALSE(repository->try_init_mutex(mutex));
  EXPECT_TRUE(repository->try_init_mutex(mutex + "-2"));
  EXPECT_FALSE(repository->get_owner(mutex).has_owner());
  EXPECT_FALSE(repository->ensure_owner(mutex + "-3").has_owner());
}

TEST_P(SqlRepository, OneAcquiresAndAnotherHearsWhoOwnsIt) {
  const MutexOwner mine = repository->acquire_and_get_owner(mutex, "me", 10s, 6s);
  EXPECT_TRUE(mine.is_owner("me"));
  EXPECT_TRUE(mine.is_in_ttl());
  EXPECT_GT(mine.fencing_token(), 0U);
  EXPECT_EQ(mine.transition_at() - mine.acquired_at(), 16s);
  EXPECT_FALSE(repository->acquire(mutex, "other", 10s, 6s));
  EXPECT_EQ(repository->acquire_and_get_owner(mutex, "other", 10s, 6s).owner_id(), "me");
  EXPECT_TRUE(repository->acquire(mutex, "me", 10s, 6s));
  EXPECT_TRUE(support::grows(mine.fencing_token(), repository->get_owner(mutex).fencing_token()));
}

TEST_P(SqlRepository, OnlyTheOwnerReleases) {
  EXPECT_FALSE(repository->release(mutex, "me")) << "there is no row";
  repository->acquire(mutex, "me", 10s, 6s);
  EXPECT_FALSE(repository->release(mutex, "other"));
  EXPECT_EQ(repository->get_owner(mutex).owner_id(), "me");
  EXPECT_TRUE(repository->release(mutex, "me"));
  EXPECT_FALSE(repository->release(mutex, "me"));
  EXPECT_FALSE(repository->get_owner(mutex).has_owner());
}

TEST_P(SqlRepository, WhatIsOutOfBoundsIsRefused) {
  EXPECT_THROW(repository->get_owner(std::string(67, 'x')), InvalidArgumentError);
  EXPECT_THROW(repository->acquire(mutex, std::string(129, 'x'), 1s, 0s), InvalidArgumentError);
  EXPECT_THROW(repository->acquire(mutex, "me", 0s, 0s), InvalidArgumentError);
  EXPECT_THROW(repository->acquire(mutex, "me", std::chrono::milliseconds::max(), 0s),
               InvalidArgumentError);
}

TEST_P(SqlRepository, ARuntimeThatIsGivenIsUsed) {
  const auto log = std::make_shared<testkit::CapturingLogger>();
  SqlOptions sql;
  sql.runtime = make_runtime({.log = log});
  const auto factory = GetParam().make_factory(folder.path(), sql, {});
  EXPECT_EQ(factory->runtime(), sql.runtime);
  SimbaLocker locker{mutex, *factory};
  EXPECT_TRUE(locker.try_acquire());
}

TEST_P(SqlRepository, AWrongPasswordIsReportedAndNeverShown) {
  if (GetParam().name == "Sqlite") GTEST_SKIP() << "SQLite has no passwords";
  const auto log = std::make_shared<testkit::CapturingLogger>();
  SqlOptions sql;
  sql.runtime = make_runtime({.log = log});
  const std::string password = "not-the-password-4711";
  const auto factory = GetParam().make_factory(folder.path(), sql, password);
  SimbaLocker locker{mutex, *factory};
  try {
    locker.acquire(support::scaled(10s));  // the refusal ends it
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr(password)));
  }
  EXPECT_TRUE(sql.runtime->log->flush(10s));
  EXPECT_GT(log->count(LogLevel::warn), 0U);
  EXPECT_FALSE(log->contains(password)) << log->text();
}

INSTANTIATE_TEST_SUITE_P(Products, SqlRepository, testing::ValuesIn(repository_products()),
                         [](const auto& product) { return product.param.name; });

}  // namespace
}  // namespace simba::sql
