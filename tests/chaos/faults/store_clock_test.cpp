// Real servers whose clocks are set and slewed, and what owners and waiters make of it.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chaos/faults/clock_line.hpp"
#include "chaos/faults/fault_environment.hpp"
#include "simba/config/make_factory.hpp"
#include "simba/redis/redis_admin.hpp"
#include "simba/testkit/capturing_logger.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "support/patience.hpp"
#include "support/proxy/fault_proxy.hpp"
#include "support/redis/redis_client_options.hpp"
#include "support/redis/redis_console.hpp"
#include "support/servers.hpp"

namespace simba::chaos {
namespace {

using namespace std::chrono_literals;
using support::eventually;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using testkit::RecordingContender;

const std::chrono::milliseconds ttl = support::scaled_lease(1'200ms);
const std::chrono::milliseconds transition = support::scaled_lease(800ms);
const std::chrono::milliseconds lease = ttl + transition;

/// What clocks may differ in rate in these tests, and the jitter and margin of its contenders.
constexpr int allowance_ppm = 20'000;
constexpr std::chrono::milliseconds jitter = 200ms;
constexpr std::chrono::milliseconds margin = 50ms;

std::unique_ptr<support::Server> start(const std::string& product) {
  if (product == "postgresql") return std::make_unique<support::PostgreSqlServer>();
  if (product == "mysql") return std::make_unique<support::MariaDbServer>();
  return std::make_unique<support::RedisServer>();
}

std::string url_of(const std::string& product, const support::Location& location,
                   std::uint16_t port) {
  return fmt::format(
      "{}://simba:{}@127.0.0.1:{}/{}?ttl={}ms&transition={}ms&margin={}ms&jitter-low=0ms&"
      "jitter-high={}ms&clock-drift-ppm={}",
      product, location.password, port, product == "redis" ? "0" : location.database, ttl.count(),
      transition.count(), margin.count(), jitter.count(), allowance_ppm);
}

/// A contender with a factory and a log of its own.
class Member {
 public:
  Member(const std::string& url, const std::string& id)
      : contender_{"order", id},
        factory_{make_factory(url, {.runtime = make_runtime({.log = log_})})},
        service_{factory_->create_mutex_contend_service(contender_)} {
    service_->start();
  }

  bool acquires(std::chrono::milliseconds limit) const {
    return contender_.wait_for_acquisitions(1, support::scaled(limit));
  }

  bool owns() const { return service_->is_owner(); }

  /// By how much the store's clock was too fast, each time that it was told.
  std::vector<int> excesses() const {
    std::vector<int> all;
    for (const auto& event : contender_.events()) {
      const auto* const risk = std::get_if<AtRisk>(&event);
      if (risk != nullptr && risk->clock_excess_ppm > 0) all.push_back(risk->clock_excess_ppm);
    }
    return all;
  }

  std::size_t complaints() const { return log_->count("the store's clock is faster"); }

  /// The longest that it knew to own the mutex from any moment on, while it renewed so many times.
  std::chrono::nanoseconds longest_lease(int renewals) const {
    std::chrono::nanoseconds longest{0};
    LocalTime until = service_->lease_until();
    EXPECT_TRUE(eventually([&] {
      const LocalTime now_until = service_->lease_until();
      longest = std::max(longest, service_->lease_left());
      if (now_until != until) --renewals;
      until = now_until;
      return renewals <= 0;
    }));
    return longest;
  }

 private:
  std::shared_ptr<testkit::CapturingLogger> log_ = std::make_shared<testkit::CapturingLogger>();
  RecordingContender contender_;
  std::unique_ptr<MutexServiceFactory> factory_;
  std::unique_ptr<MutexContendService> service_;
};

class StoreClock : public ::testing::TestWithParam<const char*> {
 protected:
  std::string url() const { return url_of(GetParam(), server_->location(), server_->port()); }

  FaultEnvironment fault_environment_;
  std::unique_ptr<support::Server> server_ = start(GetParam());
};

/// No lease is longer that a clock which is faster by a tenth has shortened.
const std::chrono::milliseconds shortened = lease - lease / 10 - margin;

TEST_P(StoreClock, AnOwnerIsToldOnceOfAClockThatIsSetForwardAndCountsOnShorterLeases) {
  const Member owner{url(), "owner"};
  ASSERT_TRUE(owner.acquires(10s));
  EXPECT_TRUE(eventually([&] { return owner.longest_lease(1) > shortened; })) << "the whole lease";
  EXPECT_TRUE(owner.excesses().empty());

  step_wall(fault_environment_.clocks(), std::chrono::nanoseconds{lease / 4}.count());

  ASSERT_TRUE(eventually([&] { return !owner.excesses().empty(); }));
  EXPECT_GT(owner.excesses().at(0), 10'000);
  owner.longest_lease(2);  // what was granted before
  EXPECT_LT(owner.longest_lease(3), shortened);
  EXPECT_EQ(owner.excesses().size(), 1U);
  EXPECT_TRUE(eventually([&] { return owner.complaints() == 1; }));
  EXPECT_TRUE(owner.owns()) << "it was at risk and has lost nothing";
}

TEST_P(StoreClock, AnOwnerIsToldOnceOfAClockThatIsSlewedBeyondTheAllowance) {
  const Member owner{url(), "owner"};
  ASSERT_TRUE(owner.acquires(10s));

  set_rate(fault_environment_.clocks().wall, CLOCK_REALTIME, 5 * allowance_ppm);

  ASSERT_TRUE(eventually([&] { return !owner.excesses().empty(); }));
  EXPECT_LE(owner.excesses().at(0), 4 * allowance_ppm) << "round trips make it look slower";
  owner.longest_lease(4);
  EXPECT_EQ(owner.excesses().size(), 1U);
  EXPECT_EQ(owner.complaints(), 1U);
}

TEST_P(StoreClock, AClockWithinTheAllowanceAndOneThatIsSetBackAreNoAlarm) {
  const Member owner{url(), "owner"};
  ASSERT_TRUE(owner.acquires(10s));

  set_rate(fault_environment_.clocks().wall, CLOCK_REALTIME, allowance_ppm - 1'000);
  owner.longest_lease(4);
  step_wall(fault_environment_.clocks(), -std::chrono::nanoseconds{1h}.count());
  EXPECT_GT(owner.longest_lease(4), shortened);

  EXPECT_TRUE(owner.excesses().empty());
  EXPECT_EQ(owner.complaints(), 0U);
  EXPECT_TRUE(owner.owns());
}

INSTANTIATE_TEST_SUITE_P(Products, StoreClock, ::testing::Values("redis", "postgresql", "mysql"),
                         [](const auto& product) { return std::string{product.param}; });

/// How long a waiter may take that knows of no more than one lease.
const std::chrono::milliseconds within_a_lease = lease + jitter + 2s;

class RedisClockSetBack : public ::testing::Test {
 protected:
  void set_back() { step_wall(fault_environment_.clocks(), -std::chrono::nanoseconds{1h}.count()); }

  std::string url(std::uint16_t port) const { return url_of("redis", server_.location(), port); }

  FaultEnvironment fault_environment_;
  support::RedisServer server_;
  support::RedisConsole console_{server_.location()};
};

TEST_F(RedisClockSetBack, AWaiterThatIsToldOfALeaseOfAnHourLooksAgainWithinAWholeOne) {
  console_.ask({"SET", "simba:{order}", "jvm", "PX", std::to_string(lease.count())});
  set_back();
  const Member waiter{url(server_.port()), "waiter"};
  ASSERT_TRUE(eventually([&] {
    return console_.ask({"EXISTS", "simba:{order}:waiters"}).text == "1";
  }));
  EXPECT_FALSE(waiter.owns());
  console_.ask({"DEL", "simba:{order}"});  // of which nobody is told
  EXPECT_TRUE(waiter.acquires(within_a_lease));
}

TEST_F(RedisClockSetBack, TheLeaseOfAnOwnerOfOursThatIsGoneEndsAWholeLeaseLater) {
  support::FaultProxy way{"127.0.0.1", server_.port()};
  const Member owner{url(way.port()), "owner"};
  ASSERT_TRUE(owner.acquires(10s));
  const Member waiter{url(server_.port()), "waiter"};
  way.cut();
  set_back();
  EXPECT_TRUE(waiter.acquires(2 * lease + jitter + 2s));
  EXPECT_FALSE(owner.owns());
}

TEST_F(RedisClockSetBack, WhoComesAfterwardsOvertakesNobody) {
  std::vector<std::unique_ptr<Member>> members;
  const auto add = [&](const std::string& id) {
    members.push_back(std::make_unique<Member>(url(server_.port()), id));
    if (members.size() == 1) return members.back()->acquires(10s);
    return eventually([&] {
      const std::string waiter = console_.value({"HGET", "simba:{order}:waiters", id});
      return waiter != "nil" && !waiter.starts_with('-');
    });
  };
  for (const auto* const id : {"owner", "first", "second"}) ASSERT_TRUE(add(id)) << id;
  set_back();
  for (const auto* const id : {"a late one", "a later one"}) ASSERT_TRUE(add(id)) << id;

  while (members.size() > 1) {
    members.erase(members.begin());
    ASSERT_TRUE(members.front()->acquires(10s));
  }
}

/// A master, and a replica whose clock can be set alone.
class RedisReplicaClock : public ::testing::Test {
 protected:
  RedisReplicaClock() {
    console_.ask({"REPLICAOF", "127.0.0.1", std::to_string(master_.port())});
    support::RedisConsole master{master_.location()};
    EXPECT_TRUE(eventually([&] { return master.ask({"ROLE"}).items.at(2).items.size() == 1; }))
        << "the master has no replica";
  }

  std::vector<std::string> warnings() const {
    auto options = support::redis_options(master_.location());
    options.user = "admin";
    std::vector<std::string> texts;
    for (const auto& finding :
         redis::make_redis_admin(options, make_runtime({.log = make_null_logger()}))
             ->examine()
             .findings) {
      if (finding.weight == engine::Finding::Weight::warning) texts.push_back(finding.text);
    }
    return texts;
  }

  support::RedisServer master_;
  FaultEnvironment fault_environment_;
  support::RedisServer replica_;
  support::RedisConsole console_{replica_.location()};
};

TEST_F(RedisReplicaClock, IsComparedWithThatOfItsMaster) {
  EXPECT_THAT(warnings(), Not(Contains(HasSubstr("clock"))));
  step_wall(fault_environment_.clocks(), std::chrono::nanoseconds{1h}.count());
  EXPECT_THAT(warnings(), Contains(AllOf(HasSubstr("ahead of its master's"),
                                         HasSubstr(std::to_string(replica_.port())))));
  step_wall(fault_environment_.clocks(), -2 * std::chrono::nanoseconds{1h}.count());
  EXPECT_THAT(warnings(), Contains(HasSubstr("behind its master's")));
}

// What is documented as unsafe: nothing is lost in replication, and the lock is free all the same.
TEST_F(RedisReplicaClock, ThatIsAheadFreesALockWhenItTakesOver) {
  const Member owner{url_of("redis", master_.location(), master_.port()), "owner"};
  ASSERT_TRUE(owner.acquires(10s));
  const auto seen = [&] { return console_.value({"GET", "simba:{order}"}); };
  ASSERT_TRUE(eventually([&] { return seen() == "owner"; }));
  step_wall(fault_environment_.clocks(), std::chrono::nanoseconds{1h}.count());
  console_.ask({"REPLICAOF", "NO", "ONE"});
  EXPECT_EQ(seen(), "nil");
  EXPECT_TRUE(owner.owns());
}

}  // namespace
}  // namespace simba::chaos
