#include <limits>
#include <memory>
#include <sqlite3.h>
#include <string>

#include <gtest/gtest.h>

#include "simba/memory/memory_factory.hpp"
#include "simba/simba.hpp"

namespace simba {
namespace {

/// A database in memory. Counts the rows that a statement changes.
class Accounts {
 public:
  Accounts() {
    EXPECT_EQ(sqlite3_open(":memory:", &database_), SQLITE_OK);
    execute(
        "CREATE TABLE account (id integer PRIMARY KEY, balance integer, "
        "fence bigint NOT NULL DEFAULT 0)");
    execute("INSERT INTO account (id, balance) VALUES (7, 0)");
  }
  ~Accounts() { sqlite3_close(database_); }
  Accounts(const Accounts&) = delete;
  Accounts& operator=(const Accounts&) = delete;

  int execute(const std::string& statement) {
    EXPECT_EQ(sqlite3_exec(database_, statement.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << statement;
    return sqlite3_changes(database_);
  }

  int write(FencingToken token, int balance) {
    const auto fence = fence::sql(token);
    return execute("UPDATE account SET balance = " + std::to_string(balance) + ", " + fence.set +
                   " WHERE id = 7 AND " + fence.where);
  }

 private:
  sqlite3* database_ = nullptr;
};

TEST(Fence, ALateWriteOfAFormerOwnerIsRefused) {
  const Client client{std::shared_ptr<MutexServiceFactory>{memory::make_memory_factory()}};
  Accounts accounts;
  Lock lock = client.lock("accounts");
  const FencingToken former = lock.fencing_token();
  EXPECT_EQ(accounts.write(former, 10), 1);
  EXPECT_EQ(accounts.write(former, 20), 1) << "an owner writes more than once";
  lock = {};
  lock = client.lock("accounts");
  EXPECT_EQ(accounts.write(lock.fencing_token(), 30), 1);
  EXPECT_EQ(accounts.write(former, 40), 0) << "the former owner wakes up";
}

TEST(Fence, WhatIsNoTokenOrNoColumnIsRefused) {
  EXPECT_THROW(static_cast<void>(fence::sql(Lock{}.fencing_token())), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(fence::sql(std::numeric_limits<FencingToken>::max())),
               InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(fence::sql(1, "")), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(fence::sql(1, "fence; DROP TABLE account")), InvalidArgumentError);
  EXPECT_EQ(fence::sql(7, "account.token").where, "account.token <= 7");
}

TEST(Fence, AScriptThatCannotFollowTheCheckIsRefused) {
  EXPECT_THROW(static_cast<void>(fence::redis(" ")), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(fence::redis("#!lua flags=no-writes\nreturn 1")),
               InvalidArgumentError);
}

}  // namespace
}  // namespace simba
