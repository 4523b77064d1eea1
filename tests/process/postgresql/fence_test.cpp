#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "process/postgresql/console.hpp"
#include "simba/postgresql/postgresql_factory.hpp"
#include "simba/simba.hpp"

namespace simba::postgresql::test {
namespace {

TEST(PostgreSqlFence, ALateWriteOfAFormerOwnerIsRefused) {
  const PostgreSqlOptions options = own_database();
  Console console{options};
  console.run(
      "CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL, "
      "fence bigint NOT NULL DEFAULT 0)");
  console.run("INSERT INTO account (id, balance) VALUES (7, 0)");
  const auto write = [&](FencingToken token, int balance) {
    const auto fence = fence::sql(token);
    console.run(fmt::format("UPDATE account SET balance = {}, {} WHERE id = 7 AND {}", balance,
                            fence.set, fence.where));
    return console.value("SELECT balance FROM account");
  };
  const simba::Client client{
      std::shared_ptr<MutexServiceFactory>{make_postgresql_factory(options)}};

  Lock lock = client.lock("account");
  const FencingToken former = lock.fencing_token();
  EXPECT_EQ(write(former, 10), "10");
  EXPECT_EQ(write(former, 20), "20") << "an owner writes more than once";
  EXPECT_TRUE(lock.unlock_confirmed());
  lock = client.lock("account");
  EXPECT_EQ(write(lock.fencing_token(), 30), "30");
  EXPECT_EQ(write(former, 40), "30") << "the former owner wakes up";
}

}  // namespace
}  // namespace simba::postgresql::test
