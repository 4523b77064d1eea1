#include <iostream>
#include <memory>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "process/redis/contenders.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "simba/testkit/served_time.hpp"
#include "support/ownership/grows.hpp"
#include "support/ownership/owner_watch.hpp"
#include "support/servers.hpp"

namespace simba::redis::test {
namespace {

using support::eventually;
using support::FaultProxy;
using support::now;
using support::RedisServer;
using support::scaled;
using support::Tls;
using support::within;
using testkit::RecordingContender;
using testkit::ServedTime;

/// How long after the next renewal a loss is known at the latest.
constexpr auto slack = 300ms;

/// A lease within which a server can be killed and started again.
ContentionOptions long_contention() {
  ContentionOptions contention;
  contention.ttl = 2'000ms;
  contention.transition = 1'000ms;
  return contention;
}

/// A contender and its service.
struct Contending {
  explicit Contending(MutexServiceFactory& factory, const std::string& mutex = "m")
      : contender{mutex}, service{factory.create_mutex_contend_service(contender)} {
    service->start();
  }

  std::size_t losses(LossReason reason) const {
    std::size_t count = 0;
    for (const auto& event : contender.events()) {
      const auto* lost = std::get_if<OwnershipLost>(&event);
      if (lost != nullptr && lost->reason == reason) ++count;
    }
    return count;
  }

  RecordingContender contender;
  std::unique_ptr<MutexContendService> service;
};

class RedisOutage : public ::testing::Test {
 protected:
  std::unique_ptr<MutexServiceFactory> factory(const ContentionOptions& contention,
                                               std::uint16_t port = 0) {
    auto options =
        support::redis_options(server().location(), port == 0 ? server().port() : port, contention);
    options.runtime = make_runtime({.log = log_});
    return make_redis_factory(options);
  }

  support::Server& server() {
    if (!server_) server_ = std::make_unique<RedisServer>(Tls::off, arguments_);
    return *server_;
  }

  /// Waits until the client behind the proxy is connected and has nothing to say.
  static void wait_until_quiet(const FaultProxy& proxy) {
    auto last = proxy.counters();
    auto since = now();
    EXPECT_TRUE(eventually([&] {
      const auto current = proxy.counters();
      if (current.requests != last.requests || current.open == 0) {
        last = current;
        since = now();
      }
      return now() > since + 100ms;
    }));
  }

  std::vector<std::string> arguments_;
  std::unique_ptr<support::Server> server_;
  std::shared_ptr<testkit::CapturingLogger> log_ = std::make_shared<testkit::CapturingLogger>();
};

TEST_F(RedisOutage, AnOwnerOwnsOnWhenAServerThatKeepsItsDataIsBackInTime) {
  arguments_ = keeping_data();
  const auto one = factory(long_contention());
  const auto two = factory(long_contention());
  Contending owner{*one};
  ASSERT_TRUE(owner.contender.wait_for_acquisitions(1, scaled(10s)));
  Contending waiter{*two};
  ASSERT_TRUE(eventually([&] { return !waiter.contender.owners().empty(); }));

  server().kill();
  server().start();
  const auto back = now();
  ASSERT_TRUE(eventually([&] { return now() > back + 3'500ms; }));

  EXPECT_TRUE(owner.service->is_owner());
  EXPECT_EQ(owner.contender.releases(), 0U);
  EXPECT_EQ(waiter.contender.acquisitions(), 0U);
  const auto taken = ServedTime::taken_by([&] {
    owner.service->stop();
    ASSERT_TRUE(waiter.contender.wait_for_acquisitions(1, scaled(10s)));
  });
  EXPECT_LT(taken, scaled(500ms)) << "the waiter was not told";
  EXPECT_TRUE(support::grows(owner.contender.tokens().at(0), waiter.contender.tokens().at(0)));
}

TEST_F(RedisOutage, ALossOfAllDataWhileTheServerIsDownIsSignalledAtTheNextRenewal) {
  const auto one = factory(long_contention());
  const auto two = factory(long_contention());
  Contending owner{*one};
  ASSERT_TRUE(owner.contender.wait_for_acquisitions(1, scaled(10s)));
  Contending waiter{*two};
  ASSERT_TRUE(eventually([&] { return !waiter.contender.owners().empty(); }));

  server().kill();
  server().start();
  const auto back = now();

  EXPECT_TRUE(within(2'000ms + slack, [&] { return owner.contender.releases() == 1; }));
  EXPECT_EQ(owner.losses(LossReason::taken_over), 1U);
  EXPECT_TRUE(eventually(
      [&] { return owner.contender.acquisitions() + waiter.contender.acquisitions() == 2; }));
  EXPECT_LT(now() - back, scaled(3'000ms + 1s));
  const auto newest = waiter.contender.acquisitions() == 1 ? waiter.contender.tokens().back()
                                                           : owner.contender.tokens().back();
  EXPECT_TRUE(support::grows(owner.contender.tokens().front(), newest));
}

TEST_F(RedisOutage, ALossOfAllDataIsSignalledAtTheNextRenewalAndSomeoneOwnsAgain) {
  const auto one = factory(short_contention());
  const auto two = factory(short_contention());
  Contending owner{*one};
  ASSERT_TRUE(owner.contender.wait_for_acquisitions(1, scaled(10s)));
  Contending waiter{*two};
  ASSERT_TRUE(eventually([&] { return !waiter.contender.owners().empty(); }));

  Console{server().location()}.ask({"FLUSHALL"});
  const auto begin = now();

  EXPECT_TRUE(within(short_ttl + slack, [&] { return owner.contender.releases() == 1; }));
  EXPECT_EQ(owner.losses(LossReason::taken_over), 1U);
  EXPECT_TRUE(eventually([&] { return log_->contains("ownership lost"); })) << log_->text();
  EXPECT_TRUE(eventually(
      [&] { return owner.contender.acquisitions() + waiter.contender.acquisitions() == 2; }));
  EXPECT_LT(now() - begin, scaled(short_lease + 1s));
  const auto newest = waiter.contender.acquisitions() == 1 ? waiter.contender.tokens().back()
                                                           : owner.contender.tokens().back();
  EXPECT_TRUE(support::grows(owner.contender.tokens().front(), newest));
}

TEST_F(RedisOutage, AnOwnerWhoseFenceIsDeletedOwnsOnAndTokensGrow) {
  const auto one = factory(short_contention());
  const auto two = factory(short_contention());
  Contending owner{*one};
  ASSERT_TRUE(owner.contender.wait_for_acquisitions(1, scaled(10s)));

  Console{server().location()}.ask({"DEL", owner_key("m") + ":fence"});
  const auto begin = now();
  ASSERT_TRUE(eventually([&] { return now() > begin + short_lease; }));

  EXPECT_TRUE(owner.service->is_owner());
  EXPECT_EQ(owner.contender.releases(), 0U) << log_->text();
  const auto token = owner.service->fencing_token();
  owner.service->stop();
  SimbaLocker next{"m", *two};
  next.acquire(scaled(10s));
  EXPECT_TRUE(support::grows(token, next.fencing_token()));
}

TEST_F(RedisOutage, AnOwnerStepsDownInTimeWhenTheServerIsGone) {
  const auto one = factory(short_contention());
  const auto two = factory(short_contention());
  Contending owner{*one};
  ASSERT_TRUE(owner.contender.wait_for_acquisitions(1, scaled(10s)));
  Contending waiter{*two};

  server().kill();
  const auto killed = now();
  EXPECT_LT(support::last_seen_owning(*owner.service) - killed, short_lease);
  ASSERT_TRUE(owner.contender.wait_for_releases(1, scaled(10s)));
  EXPECT_EQ(owner.losses(LossReason::expired), 1U);
  ASSERT_TRUE(eventually([&] { return now() > killed + 2 * short_lease; }));
  server().start();
  const auto back = now();

  EXPECT_TRUE(eventually(
      [&] { return owner.contender.acquisitions() + waiter.contender.acquisitions() == 2; }));
  EXPECT_LT(now() - back, scaled(short_lease + 1s));
}

TEST_F(RedisOutage, ALostReplyToAnAcquireIsMadeUpForByAskingAgain) {
  FaultProxy proxy{"127.0.0.1", server().port()};
  const auto one = factory(short_contention(), proxy.port());
  SimbaLocker locker{"m", *one};
  locker.acquire(scaled(10s));
  const auto token = locker.fencing_token();
  locker.close();
  wait_until_quiet(proxy);
  proxy.cut_next_reply();
  const auto begin = now();

  locker.acquire(scaled(10s));

  EXPECT_EQ(proxy.counters().cuts, 1U);
  EXPECT_LT(now() - begin, scaled(short_lease));
  EXPECT_TRUE(support::grows(token, locker.fencing_token()));
}

TEST_F(RedisOutage, ALostReplyToAReleaseLeavesTheMutexFree) {
  FaultProxy proxy{"127.0.0.1", server().port()};
  const auto one = factory(short_contention(), proxy.port());
  const auto two = factory(short_contention());
  SimbaLocker locker{"m", *one};
  locker.acquire(scaled(10s));
  const auto token = locker.fencing_token();
  proxy.cut_next_reply();
  locker.close();
  SimbaLocker next{"m", *two};
  const auto taken = ServedTime::taken_by([&] { next.acquire(scaled(10s)); });

  EXPECT_LT(taken, scaled(500ms));
  EXPECT_TRUE(eventually([&] { return proxy.counters().cuts == 1; }));
  EXPECT_TRUE(support::grows(token, next.fencing_token()));
}

TEST_F(RedisOutage, ALostReplyToARenewalDoesNotEndTheOwnership) {
  FaultProxy proxy{"127.0.0.1", server().port()};
  const auto one = factory(short_contention(), proxy.port());
  Contending owner{*one};
  ASSERT_TRUE(owner.contender.wait_for_acquisitions(1, scaled(10s)));
  for (std::uint64_t round = 1; round <= 3; ++round) {
    wait_until_quiet(proxy);
    proxy.cut_next_reply();
    ASSERT_TRUE(eventually([&] { return proxy.counters().cuts == round; }));
  }
  const auto begin = now();
  ASSERT_TRUE(eventually([&] { return now() > begin + short_lease; }));

  EXPECT_TRUE(owner.service->is_owner());
  EXPECT_EQ(owner.contender.acquisitions(), 1U);
  EXPECT_EQ(owner.contender.releases(), 0U);
}

TEST_F(RedisOutage, AGrantThatIsLostWithItsConnectionIsTakenUpWhenTheWaiterAsksAgain) {
  FaultProxy proxy{"127.0.0.1", server().port()};
  const auto one = factory(long_contention());
  const auto two = factory(long_contention(), proxy.port());
  Console console{server().location()};
  for (int round = 0; round < 5; ++round) {
    Contending owner{*one};
    ASSERT_TRUE(owner.contender.wait_for_acquisitions(1, scaled(10s)));
    Contending waiter{*two};
    ASSERT_TRUE(eventually([&] {
      const auto waiters = console.ask({"HVALS", owner_key("m") + ":waiters"}).texts();
      return waiters.size() == 1 && !waiters[0].starts_with('-');
    }));
    proxy.black_hole();
    owner.service->stop();
    EXPECT_EQ(console.value({"GET", owner_key("m")}), waiter.service->contender_id());
    EXPECT_EQ(waiter.contender.acquisitions(), 0U);
    proxy.reset_all();
    proxy.mend();

    EXPECT_TRUE(waiter.contender.wait_for_acquisitions(1, scaled(3s)));
  }
}

/// A server that refuses everyone who asks something of it.
class RedisRefusal : public RedisOutage {
 protected:
  /// Lets 500 contenders of one process ask for some seconds.
  void expect_few_reconnects(RedisOptions options) {
    options.contention = short_contention();
    options.contention.release_wait = 0ms;  // stopping them one after the other takes no time
    options.runtime = make_runtime({.log = log_});
    const auto one = make_redis_factory(options);
    std::vector<std::unique_ptr<Contending>> all;
    for (int i = 0; i < 500; ++i) {
      all.push_back(std::make_unique<Contending>(*one, fmt::format("m{}", i)));
    }
    const auto wait = [](std::chrono::milliseconds span) {
      const auto begin = now();
      ASSERT_TRUE(eventually([&] { return now() > begin + span; }));
    };
    wait(1s);  // the first pauses are short
    const long before = accepted();
    wait(5s);
    const long made = accepted() - before;
    std::cout << made << " connections in 5 s\n";
    EXPECT_LE(made, 5 * 5);
    EXPECT_GE(made, 2) << "it no longer looks whether the server serves again";
  }

  Console console_{server().location()};

 private:
  /// How many connections the server has accepted so far.
  long accepted() {
    const std::string text = console_.value({"INFO", "stats"});
    return std::stol(support::info_value(text, "total_connections_received"));
  }
};

TEST_F(RedisRefusal, ManyContendersOnAReplicaReconnectAFewTimesASecond) {
  console_.ask({"REPLICAOF", "127.0.0.1", "1"});
  expect_few_reconnects(support::redis_options(server().location()));
}

TEST_F(RedisRefusal, ManyContendersThatMustLogInFirstReconnectAFewTimesASecond) {
  auto options = support::redis_options(server().location());
  options.user.clear();
  options.password = Secret{};
  expect_few_reconnects(options);
  EXPECT_TRUE(log_->contains("NOAUTH")) << log_->text();
}

TEST_F(RedisOutage, StopReturnsWithinItsBoundInABlackHole) {
  FaultProxy proxy{"127.0.0.1", server().port()};
  auto one = factory(short_contention(), proxy.port());
  Contending owner{*one};
  ASSERT_TRUE(owner.contender.wait_for_acquisitions(1, scaled(10s)));
  Contending waiter{*one};
  ASSERT_TRUE(eventually([&] { return !waiter.contender.owners().empty(); }));
  const auto bound = simba::worst_cases(ContentionPlan{short_contention()}).stop;

  proxy.black_hole();
  EXPECT_LT(ServedTime::taken_by([&] { owner.service->stop(); }), bound + scaled(slack));
  EXPECT_LT(ServedTime::taken_by([&] { waiter.service->stop(); }), bound + scaled(slack));
  const auto taken = ServedTime::taken_by([&] {
    owner.service.reset();
    waiter.service.reset();
    one.reset();
  });
  EXPECT_LT(taken, bound + scaled(slack));
}

}  // namespace
}  // namespace simba::redis::test
