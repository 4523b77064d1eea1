#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "process/mysql/console.hpp"
#include "simba/mysql/mysql_factory.hpp"
#include "simba/simba.hpp"

namespace simba::mysql::test {
namespace {

TEST(MySqlFence, ALateWriteOfAFormerOwnerIsRefused) {
  const MySqlOptions options = own_database();
  Console console{options};
  console.run(
      "CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL, "
      "fence bigint NOT NULL DEFAULT 0) ENGINE = InnoDB");
  console.run("INSERT INTO account (id, balance) VALUES (7, 0)");
  const auto write = [&](FencingToken token, int balance) {
    const auto fence = fence::sql(token);
    return console.affected(fmt::format("UPDATE account SET balance = {}, {} WHERE id = 7 AND {}",
                                        balance, fence.set, fence.where));
  };
  const simba::Client client{std::shared_ptr<MutexServiceFactory>{make_mysql_factory(options)}};

  Lock lock = client.lock("account");
  const FencingToken former = lock.fencing_token();
  EXPECT_EQ(write(former, 10), 1U);
  EXPECT_EQ(write(former, 20), 1U) << "an owner writes more than once";
  EXPECT_TRUE(lock.unlock_confirmed());
  lock = client.lock("account");
  EXPECT_EQ(write(lock.fencing_token(), 30), 1U);
  EXPECT_EQ(write(former, 40), 0U) << "the former owner wakes up";
  EXPECT_EQ(console.value("SELECT balance FROM account"), "30");
  EXPECT_EQ(write(lock.fencing_token(), 30), 0U) << "the owner, too, if it changes nothing";
}

}  // namespace
}  // namespace simba::mysql::test
