#include "simba/redis/redis_options.hpp"

#include <gtest/gtest.h>

namespace simba::redis {
namespace {

TEST(RedisEndpoint, IsShownAsHostAndPort) {
  EXPECT_EQ(to_string(Endpoint{}), "127.0.0.1:6379");
  EXPECT_EQ(to_string(Endpoint{"redis.example", 7'000}), "redis.example:7000");
}

TEST(RedisEndpoint, AnIpv6AddressIsShownInBrackets) {
  EXPECT_EQ(to_string(Endpoint{"::1", 6'379}), "[::1]:6379");
}

TEST(RedisEndpoint, AUnixSocketIsShownByItsPath) {
  EXPECT_EQ(to_string(Endpoint{"host", 1, "/run/redis.sock"}), "/run/redis.sock");
}

}  // namespace
}  // namespace simba::redis
