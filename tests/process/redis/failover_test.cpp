#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/redis/contenders.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/testkit/capturing_logger.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "support/ownership/grows.hpp"
#include "support/servers.hpp"

namespace simba::redis::test {
namespace {

using support::eventually;
using support::now;
using support::RedisSentinelServers;
using support::scaled;
using testkit::RecordingContender;

/// Far more than the sentinels of a test take to agree.
constexpr auto longest_failover = 20s;

/// A master and its replica under load: two contenders here and two in another process.
class RedisFailover : public ::testing::Test {
 protected:
  RedisFailover() {
    const auto options = support::redis_options(servers_.location(), short_contention());
    contenders_.add_process("other process", options);
    contenders_.add(options);
    contenders_.add(options);
    contenders_.expect_all_take_part();
  }

  void TearDown() override {
    contenders_.end();
    EXPECT_EQ(contenders_.log().count(servers_.location().password), 0U);
  }

  /// Someone owns the mutex, and the replica knows it.
  void wait_for_owner() {
    contenders_.long_owner();
    Console{servers_.node(servers_.master()).location()}.ask({"WAIT", "1", "5000"});
  }

  /// Waits until the sentinels have another master, and until a contender has the mutex there.
  void expect_follow(std::size_t new_master, LocalTime begin) {
    ASSERT_TRUE(support::within(longest_failover, [&] {
      return servers_.master(0) == new_master && role(new_master) == "master";
    }));
    const auto promoted = now();
    contenders_.expect_recovery("fail-over");
    const auto in_milliseconds = [](auto span) {
      return std::chrono::ceil<std::chrono::milliseconds>(span).count();
    };
    std::cout << fmt::format("fail-over after {} ms, next owner {} ms later\n",
                             in_milliseconds(promoted - begin), in_milliseconds(now() - promoted));
  }

  std::string role(std::size_t node) {
    try {
      return Console{servers_.node(node).location()}.ask({"ROLE"}).items.at(0).text;
    } catch (const std::runtime_error&) {
      return {};
    }
  }

  RedisSentinelServers servers_;
  Contenders contenders_;
};

TEST_F(RedisFailover, ContendersFollowToTheNewMasterWhenTheOldOneIsKilled) {
  wait_for_owner();
  const auto begin = now();
  servers_.node(0).kill();

  expect_follow(1, begin);
  contenders_.expect_all_take_part();
}

TEST_F(RedisFailover, AMasterThatWakesUpAfterItsFailOverDisturbsNobody) {
  wait_for_owner();
  const auto begin = now();
  servers_.node(0).pause();
  expect_follow(1, begin);

  servers_.node(0).resume();
  contenders_.expect_recovery("return of the old master");
  contenders_.expect_all_take_part();
  EXPECT_TRUE(support::within(30s, [&] { return role(0) == "slave"; }));
  contenders_.expect_recovery("return of the old master as a replica");
}

// It does not wait for the replica: what the old master grants meanwhile is lost. Its owner finds
// out at its next renewal.
TEST_F(RedisFailover, AFailOverThatSomeoneOrdersIsFollowed) {
  contenders_.tolerate_two_owners_for(short_lease);
  wait_for_owner();
  const auto begin = now();
  Console{servers_.sentinel(0).location()}.ask({"SENTINEL", "FAILOVER", "mymaster"});

  expect_follow(1, begin);
  contenders_.expect_all_take_part();
}

TEST_F(RedisFailover, SentinelsThatAreGoneAreNotMissedUntilTheMasterIs) {
  servers_.sentinel(0).kill();
  servers_.sentinel(1).kill();
  contenders_.expect_recovery("two of three sentinels gone");
  Console{servers_.node(0).location()}.ask({"CLIENT", "KILL", "USER", "simba"});
  contenders_.expect_recovery("connections gone, too");
  contenders_.expect_all_take_part();
}

/// Whether an acquisition has failed with this text.
bool has_failed_with(const RecordingContender& contender, std::string_view text) {
  const auto events = contender.events();
  return std::any_of(events.begin(), events.end(), [&](const ContentionEvent& event) {
    const auto* const failed = std::get_if<AcquireFailed>(&event);
    return failed != nullptr &&
           std::string_view{failed->error.what()}.find(text) != std::string_view::npos;
  });
}

TEST(RedisReplicas, AnAcquisitionCountsWhenAReplicaHasItAndNotBefore) {
  RedisSentinelServers servers;
  auto options = support::redis_options(servers.location(), short_contention());
  options.wait_replicas = 1;
  options.wait_timeout = 100ms;
  const auto log = std::make_shared<testkit::CapturingLogger>();
  options.runtime = make_runtime({.log = log});
  const auto factory = make_redis_factory(options);
  SimbaLocker locker{"m", *factory};
  locker.acquire(scaled(10s));
  EXPECT_NE(Console{servers.node(1).location()}.value({"GET", owner_key("m")}), "nil");
  SimbaLocker waiter{"m", *factory};
  std::jthread waiting{[&] { waiter.acquire(scaled(10s)); }};
  Console master{servers.node(0).location()};
  ASSERT_TRUE(eventually([&] { return master.value({"ZCARD", line_key("m")}) == "1"; }));
  locker.close();
  waiting.join();
  EXPECT_TRUE(waiter.is_held());
  const auto token = waiter.fencing_token();
  waiter.close();

  servers.node(1).kill();
  RecordingContender contender{"m"};
  const auto service = factory->create_mutex_contend_service(contender);
  service->start();
  EXPECT_TRUE(eventually([&] {
    return has_failed_with(contender, "only 0 of 1 replicas confirmed");
  })) << log->text();
  EXPECT_EQ(contender.acquisitions(), 0U);

  servers.node(1).start();
  EXPECT_TRUE(contender.wait_for_acquisitions(1, scaled(20s))) << log->text();
  EXPECT_TRUE(support::grows(token, contender.tokens().at(0)));
}

// Whatever is left would hold the log.
TEST(RedisWithSentinels, LeavesNothingBehindWhenItsFactoryIsGone) {
  const RedisSentinelServers servers;
  std::weak_ptr<Logger> log;
  {
    auto options = support::redis_options(servers.location(), short_contention());
    const auto own = std::make_shared<testkit::CapturingLogger>();
    log = own;
    options.runtime = make_runtime({.log = own});
    const auto factory = make_redis_factory(std::move(options));
    SimbaLocker locker{"m", *factory};
    locker.acquire(scaled(10s));
  }
  EXPECT_TRUE(eventually([&] { return log.expired(); }));
}

}  // namespace
}  // namespace simba::redis::test
