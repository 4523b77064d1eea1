// One factory, one row that a stranger keeps locked: the other mutexes must not notice. And a
// PostgreSQL factory as it must be behind a pooler of transactions.
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "process/mysql/console.hpp"
#include "process/postgresql/console.hpp"
#include "simba/core/error.hpp"
#include "simba/locker/simba_locker.hpp"
#include "support/ownership/grows.hpp"
#include "support/patience.hpp"

namespace simba::sql {
namespace {

using namespace std::chrono_literals;

struct Product {
  std::string name;
  std::function<std::unique_ptr<MutexServiceFactory>(const SqlOptions&)> make_factory;

  /// Holds the lock until it is destroyed.
  std::function<std::shared_ptr<void>(const std::string& mutex)> lock_row;
};

void PrintTo(const Product& product, std::ostream* stream) { *stream << product.name; }

std::vector<Product> products() {
  const auto postgresql_options = [] {
    return postgresql::test::options_of(support::postgresql_location());
  };
  const auto mysql_options = [] { return mysql::test::options_of(support::mariadb_location()); };
  const std::string select = "SELECT version FROM simba_mutex WHERE mutex = '";
  return {
      {"PostgreSql",
       [=](const SqlOptions& sql) {
         auto options = postgresql_options();
         options.sql = sql;
         return postgresql::make_postgresql_factory(options);
       },
       [=](const std::string& mutex) {
         auto console = std::make_shared<postgresql::test::Console>(postgresql_options());
         console->run("BEGIN");
         console->run(select + mutex + "' FOR UPDATE");
         return console;
       }},
      {"MariaDb",
       [=](const SqlOptions& sql) {
         auto options = mysql_options();
         options.sql = sql;
         return mysql::make_mysql_factory(options);
       },
       [=](const std::string& mutex) {
         auto console = std::make_shared<mysql::test::Console>(mysql_options());
         console->run("BEGIN");
         console->run(select + mutex + "' FOR UPDATE");
         return console;
       }},
  };
}

struct SqlLockedRow : testing::TestWithParam<Product> {
  static SqlOptions options() {
    SqlOptions sql;
    sql.contention.ttl = support::scaled_lease(2s);
    sql.contention.transition = support::scaled_lease(1s);
    return sql;
  }

  const std::string name = postgresql::test::unique("locked");
  const std::unique_ptr<MutexServiceFactory> factory = GetParam().make_factory(options());
};

TEST_P(SqlLockedRow, HoldsUpNoOtherMutexOfTheFactory) {
  SimbaLocker stuck{name, *factory};
  stuck.acquire(support::scaled(10s));
  SimbaLocker held{name + "-held", *factory};
  held.acquire(support::scaled(10s));

  auto lock = GetParam().lock_row(name);  // its renewals hang from now on
  for (int round = 0; stuck.is_held(); ++round) {
    SimbaLocker other{name + std::to_string(round), *factory};
    ASSERT_NO_THROW(other.acquire(support::scaled(3s)));
    other.close();
    ASSERT_TRUE(held.is_held());
  }
  EXPECT_TRUE(stuck.lost().stop_requested());
  EXPECT_TRUE(held.is_held()) << "renewed all the time";

  lock.reset();
  stuck.close();
  EXPECT_NO_THROW(stuck.acquire(support::scaled(10s)));
}

INSTANTIATE_TEST_SUITE_P(Products, SqlLockedRow, testing::ValuesIn(products()),
                         [](const auto& product) { return product.param.name; });

TEST(SqlPooler, WithoutListenTheMutexIsHandedOverByLooking) {
  auto options = postgresql::test::options_of(support::postgresql_location());
  options.listen = postgresql::Listen::no;
  const auto one = postgresql::make_postgresql_factory(options);
  const auto another = postgresql::make_postgresql_factory(options);
  const std::string name = postgresql::test::unique("pooled");
  SimbaLocker first{name, *one};
  SimbaLocker second{name, *another};
  for (int round = 0; round < 5; ++round) {
    first.acquire(support::scaled(10s));
    EXPECT_FALSE(second.try_acquire());
    auto waits = std::async(std::launch::async, [&] { second.acquire(support::scaled(10s)); });
    const FencingToken token = first.fencing_token();
    first.close();
    waits.get();
    EXPECT_TRUE(support::grows(token, second.fencing_token()));
    second.close();
  }
}

}  // namespace
}  // namespace simba::sql
