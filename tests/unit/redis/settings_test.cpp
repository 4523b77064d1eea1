#include "redis/settings.hpp"

#include <chrono>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/redis/redis_factory.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string refusal_of(const std::function<void(RedisOptions&)>& change) {
  RedisOptions options;
  change(options);
  try {
    checked_settings(options);
    return {};
  } catch (const InvalidArgumentError& error) {
    return error.what();
  }
}

void expect_refused(const std::string& part, const std::function<void(RedisOptions&)>& change) {
  EXPECT_THAT(refusal_of(change), HasSubstr(part));
}

TEST(RedisPlan, TheDefaultsAreAllowed) {
  EXPECT_EQ(refusal_of([](auto& /*options*/) {}), "");
}

TEST(RedisPlan, ACommandTimesOutWhenItsRequestWould) {
  RedisOptions options;
  EXPECT_EQ(checked_settings(options)->command_timeout,
            ContentionPlan{options.contention}.request_timeout);
  options.command_timeout = 77ms;
  EXPECT_EQ(checked_settings(options)->command_timeout, 77ms);
}

TEST(RedisPlan, OnlyUnderSentinelsMustAServerBeAMaster) {
  RedisOptions options;
  EXPECT_FALSE(checked_settings(options)->masters_only);
  options.topology = Topology::sentinel;
  EXPECT_TRUE(checked_settings(options)->masters_only);
}

TEST(RedisPlan, WhatContradictsItselfIsRefusedWithWhatToDo) {
  expect_refused("no endpoints configured", [](auto& o) { o.endpoints.clear(); });
  expect_refused("set topology", [](auto& o) { o.endpoints.resize(2); });
  expect_refused("a Unix socket cannot be used with sentinels or a cluster", [](auto& o) {
    o.topology = Topology::cluster;
    o.endpoints[0].unix_socket = "/x";
  });
  expect_refused("TLS cannot be used with a Unix socket", [](auto& o) {
    o.endpoints[0].unix_socket = "/x";
    o.tls.mode = TlsMode::verify;
  });
  expect_refused("database must be 0 on a cluster (got 1)", [](auto& o) {
    o.topology = Topology::cluster;
    o.database = 1;
  });
  expect_refused("master_name", [](auto& o) {
    o.topology = Topology::sentinel;
    o.master_name = "";
  });
  expect_refused("tls.certificate_file and tls.key_file must be set together",
                 [](auto& o) { o.tls.certificate_file = "/x"; });
  expect_refused("set tls.ca_file", [](auto& o) { o.tls.mode = TlsMode::verify_ca; });
  expect_refused("wait_timeout must be less than command_timeout, 2373 ms (got 60000 ms)",
                 [](auto& o) {
                   o.wait_replicas = 1;
                   o.wait_timeout = 1min;
                 });
}

TEST(RedisPlan, WhatIsOutOfBoundsIsRefusedWithTheValue) {
  expect_refused("host must not be empty", [](auto& o) { o.endpoints[0].host = ""; });
  expect_refused("port must be between 1 and 65535 (got 0)",
                 [](auto& o) { o.endpoints[0].port = 0; });
  expect_refused("client_name", [](auto& o) { o.client_name = "two words"; });
  expect_refused("database must not be negative (got -1)", [](auto& o) { o.database = -1; });
  expect_refused("connect_timeout must be between 1 ms and 3600000 ms (got 0 ms)",
                 [](auto& o) { o.connect_timeout = 0ms; });
  expect_refused("command_timeout must be between 1 ms and 3600000 ms (got -5 ms)",
                 [](auto& o) { o.command_timeout = -5ms; });
  expect_refused("wait_replicas must be between 0 and 1000 (got -1)",
                 [](auto& o) { o.wait_replicas = -1; });
  expect_refused("token_retention must be between 1 minute and 365 days (got 59999 ms)",
                 [](auto& o) { o.token_retention = 59'999ms; });
  expect_refused("ttl", [](auto& o) { o.contention.ttl = 0ms; });
}

TEST(RedisPlan, APasswordLeavesThisHostUnencryptedOnlyIfThatIsAskedFor) {
  const auto far = [](RedisOptions& o, Topology topology) {
    o.topology = topology;
    o.endpoints = {{.host = "localhost"}, {.host = "redis.example"}};
    if (topology == Topology::single) o.endpoints.erase(o.endpoints.begin());
  };
  for (const Topology topology : {Topology::single, Topology::sentinel, Topology::cluster}) {
    EXPECT_EQ(refusal_of([&](auto& o) { far(o, topology); }), "") << "there is none";
    const auto with_password = [&](auto& o) {
      far(o, topology);
      o.password = Secret{"hunter2"};
    };
    EXPECT_THAT(
        refusal_of(with_password),
        testing::AllOf(HasSubstr("to host redis.example; set tls.mode to verify, or to off"),
                       testing::Not(HasSubstr("hunter2"))));
    for (const TlsMode mode : {TlsMode::off, TlsMode::encrypt, TlsMode::verify}) {
      EXPECT_EQ(refusal_of([&](auto& o) {
                  with_password(o);
                  o.tls.mode = mode;
                }),
                "");
    }
  }
  expect_refused("to host redis.example", [&](auto& o) {
    far(o, Topology::sentinel);
    o.sentinel_password = Secret{"hunter2"};
  });
  EXPECT_EQ(refusal_of([](auto& o) {
              o.endpoints = {{.unix_socket = "/run/redis.sock"}};
              o.password = Secret{"hunter2"};
            }),
            "");
}

TEST(RedisPlan, IdsThatMessagesCouldNotCarryAreRefused) {
  const auto store = make_redis_store({}, make_runtime());
  EXPECT_NO_THROW(store->check_names("m", "0:1@10.0.0.1"));
  EXPECT_NO_THROW(store->check_names("m@", "@me"));
  EXPECT_THROW(store->check_names("m", "a@@b"), InvalidArgumentError);
  EXPECT_THROW(store->check_names("m", "me@"), InvalidArgumentError);
}

}  // namespace
}  // namespace simba::redis
