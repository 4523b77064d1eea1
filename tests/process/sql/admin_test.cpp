// What tools do with the SQL stores, on every product.
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/admin_checks.hpp"
#include "process/mysql/console.hpp"
#include "process/postgresql/console.hpp"
#include "simba/mysql/mysql_admin.hpp"
#include "simba/postgresql/postgresql_admin.hpp"
#include "simba/sqlite/sqlite_admin.hpp"
#include "support/temporary_folder.hpp"

namespace simba::admin_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A database of its own for each test.
struct Place {
  std::function<std::unique_ptr<engine::StoreAdmin>(const sql::SqlOptions&)> make_admin;
  std::function<std::unique_ptr<MutexServiceFactory>(const sql::SqlOptions&)> make_factory;
  std::function<std::shared_ptr<engine::LeaseStore>(const sql::SqlOptions&)> make_store;
};

struct Product {
  std::string name;
  std::function<Place(const std::filesystem::path& folder)> make_place;
};

void PrintTo(const Product& product, std::ostream* stream) { *stream << product.name; }

template <class Options>
Options with(Options options, const sql::SqlOptions& sql) {
  options.sql = sql;
  options.sql.runtime = quiet_runtime();
  return options;
}

std::vector<Product> products() {
  return {
      {"Sqlite",
       [](const auto& folder) {
         const sqlite::SqliteOptions own{.path = folder / "simba.db"};
         return Place{
             [own](const auto& sql) {
               return sqlite::make_sqlite_admin(with(own, sql), quiet_runtime());
             },
             [own](const auto& sql) { return sqlite::make_sqlite_factory(with(own, sql)); },
             [own](const auto& sql) {
               return sqlite::make_sqlite_store(with(own, sql), quiet_runtime());
             }};
       }},
      {"PostgreSql",
       [](const auto&) {
         const auto own = postgresql::test::own_database();
         return Place{
             [own](const auto& sql) {
               return postgresql::make_postgresql_admin(with(own, sql), quiet_runtime());
             },
             [own](const auto& sql) { return postgresql::make_postgresql_factory(with(own, sql)); },
             [own](const auto& sql) {
               return postgresql::make_postgresql_store(with(own, sql), quiet_runtime());
             }};
       }},
      {"MariaDb",
       [](const auto&) {
         const auto own = mysql::test::own_database();
         return Place{[own](const auto& sql) {
                        return mysql::make_mysql_admin(with(own, sql), quiet_runtime());
                      },
                      [own](const auto& sql) { return mysql::make_mysql_factory(with(own, sql)); },
                      [own](const auto& sql) {
                        return mysql::make_mysql_store(with(own, sql), quiet_runtime());
                      }};
       }},
  };
}

sql::SqlOptions short_lease() {
  sql::SqlOptions sql;
  sql.contention = short_contention();
  return sql;
}

struct SqlAdmin : testing::TestWithParam<Product> {
  const support::TemporaryFolder folder;
  const Place place = GetParam().make_place(folder.path());
  const std::unique_ptr<engine::StoreAdmin> admin = place.make_admin({});
};

TEST_P(SqlAdmin, MakesTheTableOnce) {
  EXPECT_EQ(admin->init(), "created table simba_mutex");
  EXPECT_EQ(admin->init(), "table simba_mutex already exists");
  EXPECT_THAT(admin->list(), IsEmpty());
  EXPECT_THAT(problems(admin->examine()), IsEmpty());
}

TEST_P(SqlAdmin, KnowsNothingWhereTheTableIsStillToBeMade) {
  EXPECT_THAT(admin->list(), IsEmpty());
  EXPECT_EQ(admin->find("any").owner_id, "");
  EXPECT_EQ(admin->evict("any").owner_id, "");
  EXPECT_EQ(admin->init(), "created table simba_mutex") << "looking makes nothing";
}

TEST_P(SqlAdmin, ReportsAMissingTableThatNobodyMakes) {
  sql::SqlOptions sql;
  sql.schema = sql::Schema::expect;
  const auto strict = place.make_admin(sql);
  EXPECT_THAT(problems(strict->examine()), ElementsAre(HasSubstr("run simba init")));
  EXPECT_EQ(error_of([&] { strict->list(); }).kind(), ErrorKind::configuration);
  EXPECT_EQ(error_of([&] { strict->find("any"); }).kind(), ErrorKind::configuration);
  EXPECT_EQ(strict->init(), "created table simba_mutex");
  EXPECT_THAT(problems(strict->examine()), IsEmpty());
  EXPECT_THAT(strict->list(), IsEmpty());
}

TEST_P(SqlAdmin, ShowsWhoOwnsAMutex) {
  const auto factory = place.make_factory({});
  expect_owner_is_seen(*admin, *factory, true);
}

TEST_P(SqlAdmin, EvictsAnOwnerAndTheWaiterGetsTheMutex) {
  const auto factory = place.make_factory(short_lease());
  const auto other = place.make_factory({});
  expect_eviction_hands_over(*admin, *factory, *other);
}

TEST_P(SqlAdmin, AnEvictionRaisesTheVersion) {
  const auto factory = place.make_factory({});
  const Member owner{*factory, "versioned", "owner-1"};
  ASSERT_TRUE(owner.contender.wait_for_acquisitions(1, patience));
  const MutexEntry before = admin->evict("versioned");
  EXPECT_GT(admin->find("versioned").fencing_token, before.fencing_token);
}

TEST_P(SqlAdmin, LeavesFreeMutexesAlone) {
  const auto factory = place.make_factory({});
  expect_free_mutexes_stay_free(*admin, *factory);
}

TEST_P(SqlAdmin, RefusesNamesOutOfBounds) { expect_bad_names_are_refused(*admin); }

TEST_P(SqlAdmin, ListsAThousandMutexes) {
  const auto store = place.make_store({});
  const auto attached = store->attach();
  expect_thousand_are_listed(*admin, *store);
}

INSTANTIATE_TEST_SUITE_P(Products, SqlAdmin, testing::ValuesIn(products()),
                         [](const auto& product) { return product.param.name; });

}  // namespace
}  // namespace simba::admin_test
