// TLS to groups of servers, which lead a client from one to another.
#include <cstddef>
#include <future>
#include <string>

#include <gtest/gtest.h>

#include "process/redis/console.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/redis/redis_factory.hpp"
#include "support/ownership/grows.hpp"
#include "support/patience.hpp"
#include "support/redis/redis_client_options.hpp"
#include "support/servers.hpp"

namespace simba::redis::test {
namespace {

using support::scaled;
using support::Tls;

/// One holds the mutex, the other is told of the release.
void expect_hand_over(const RedisOptions& options, const std::string& mutex) {
  const auto factory = make_redis_factory(options);
  const auto another = make_redis_factory(options);
  SimbaLocker owner{mutex, *factory};
  owner.acquire(scaled(20s));
  SimbaLocker waiter{mutex, *another};
  EXPECT_FALSE(waiter.try_acquire());
  auto acquired = std::async(std::launch::async, [&] { waiter.acquire(scaled(20s)); });
  owner.close();
  acquired.get();
  EXPECT_TRUE(support::grows(owner.fencing_token(), waiter.fencing_token()));
}

/// One that trusts another CA gets in nowhere.
void expect_refusal(RedisOptions options, const std::string& certificates) {
  options.tls.ca_file = certificates + "/stranger.crt";
  const auto factory = make_redis_factory(options);
  SimbaLocker stranger{"m", *factory};
  try {
    stranger.acquire(scaled(2s));
    ADD_FAILURE() << "the servers are not verified";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::configuration) << error.what();
  }
}

TEST(RedisClusterWithTls, LeadsToTheNodeOfEachMutex) {
  support::RedisClusterServers servers{{}, {}, Tls::on};
  const auto location = servers.location();
  ASSERT_NE(location.certificates, "");
  const RedisOptions options = support::redis_options(location);
  // In slots of all three nodes.
  for (const std::string mutex : {"a", "b", "c", "d", "e", "f"}) expect_hand_over(options, mutex);
  for (std::size_t i = 0; i < support::RedisClusterServers::size; ++i) {
    EXPECT_NE(Console{servers.node(i).location()}.value({"DBSIZE"}), "0") << i;
  }
  expect_refusal(options, location.certificates);
}

TEST(RedisSentinelWithTls, LeadsToTheMasterAndToTheNextOne) {
  support::RedisSentinelServers servers{{}, Tls::on};
  const auto location = servers.location();
  ASSERT_NE(location.certificates, "");
  const RedisOptions options = support::redis_options(location);
  expect_hand_over(options, "m");
  servers.node(0).kill();
  ASSERT_TRUE(support::within(30s, [&] { return servers.master() == 1; }));
  expect_hand_over(options, "m");
  expect_refusal(options, location.certificates);
}

}  // namespace
}  // namespace simba::redis::test
