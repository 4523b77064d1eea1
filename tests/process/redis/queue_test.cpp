#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/redis/contenders.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "simba/testkit/recording_retriever.hpp"
#include "simba/testkit/served_time.hpp"
#include "support/ownership/grows.hpp"

namespace simba::redis::test {
namespace {

using support::eventually;
using support::now;
using support::scaled;
using testkit::RecordingContender;
using testkit::ServedTime;

/// A waiter and its service.
struct Waiting {
  Waiting(MutexServiceFactory& factory, const std::string& mutex)
      : contender{mutex}, service{factory.create_mutex_contend_service(contender)} {
    service->start();
  }

  RecordingContender contender;
  std::unique_ptr<MutexContendService> service;
};

class RedisQueue : public ::testing::Test {
 protected:
  /// With a lease that no test here waits for.
  std::unique_ptr<MutexServiceFactory> factory() const {
    return make_redis_factory(support::redis_options(location_));
  }

  /// Whom the server has as the owner.
  std::string owner() { return console_.value({"GET", owner_key(mutex_)}); }

  std::string length() { return console_.value({"ZCARD", line_key(mutex_)}); }

  /// Waits until so many are in the queue, and all that are ours listen.
  void wait_for_length(int length_wanted) {
    ASSERT_TRUE(eventually([&] {
      if (length() != std::to_string(length_wanted)) return false;
      const auto waiters = console_.ask({"HVALS", owner_key(mutex_) + ":waiters"}).texts();
      return std::none_of(waiters.begin(), waiters.end(),
                          [](const auto& waiter) { return waiter.starts_with('-'); });
    })) << length();
  }

  /// Orders the line so that the waiters of each connection stand in it by turns.
  void let_take_turns() {
    const auto waiters = console_.ask({"HGETALL", owner_key(mutex_) + ":waiters"}).texts();
    std::map<std::string, int> seen;  // by inbox
    for (std::size_t i = 0; i + 1 < waiters.size(); i += 2) {
      const int place = ++seen[waiters[i + 1].substr(0, waiters[i + 1].find(' '))];
      console_.ask({"ZADD", line_key(mutex_), "XX", std::to_string(place), waiters[i]});
    }
    ASSERT_EQ(seen.size(), 2U);
  }

  std::vector<std::string> keys() {
    auto names = console_.ask({"KEYS", "simba:{" + mutex_ + "}*"}).texts();
    std::sort(names.begin(), names.end());
    return names;
  }

  /// Without names: how many subscriptions to channels of this mutex there are.
  std::size_t channels() {
    return console_.ask({"PUBSUB", "CHANNELS", "simba:{" + mutex_ + "}*"}).items.size();
  }

  const support::Location location_ = support::redis_location();
  const std::string mutex_ = unique("queue");
  Console console_{location_};
};

TEST_F(RedisQueue, LookingAtAMutexWhoseOwnerHasNoNameMakesNobodyTheOwner) {
  console_.ask({"SET", owner_key(mutex_), "", "PX", "60000"});
  const auto store = make_redis_store(support::redis_options(location_), make_runtime());
  const auto attached = store->attach();
  std::promise<engine::LeaseAnswer> answered;
  store->retrieve({.mutex = mutex_},
                  [&](engine::LeaseAnswer answer) { answered.set_value(std::move(answer)); });
  EXPECT_NE(answered.get_future().get().record(), nullptr);
  EXPECT_EQ(keys(), std::vector<std::string>{owner_key(mutex_)});
}

TEST_F(RedisQueue, AWaiterOfAKilledProcessIsPassedOverAtOnce) {
  SharedSwitch hurry;
  support::OwnershipLedger ledger;
  console_.ask({"SET", owner_key(mutex_), "someone", "PX", "60000"});
  ContenderProcess process{support::redis_options(location_),
                           {.name = "process", .mutex = mutex_, .contenders = 3},
                           hurry,
                           ledger};
  wait_for_length(3);
  const auto one = factory();
  const auto two = factory();
  Waiting last{*two, mutex_};
  wait_for_length(4);
  // The owner is one of ours from now on.
  console_.ask({"DEL", owner_key(mutex_)});
  SimbaLocker owner{mutex_, *one};
  owner.acquire(scaled(10s));
  process.kill();
  ASSERT_TRUE(eventually([&] { return channels() == 1; })) << "the server has not noticed";
  const ServedTime time;
  owner.close();
  EXPECT_EQ(this->owner(), last.contender.contender_id()) << "a release grants it to the next";

  ASSERT_TRUE(last.contender.wait_for_acquisitions(1, scaled(10s)));
  EXPECT_LT(time.now(), scaled(200ms));
  EXPECT_EQ(ledger.size(), 0U);
  EXPECT_EQ(length(), "0") << "the dead are still in the queue";
}

TEST_F(RedisQueue, AWaiterThatIsStoppedLeavesNothingBehind) {
  const auto one = factory();
  const auto two = factory();
  {
    SimbaLocker owner{mutex_, *one};
    owner.acquire(scaled(10s));
    Waiting first{*two, mutex_};
    Waiting second{*two, mutex_};
    wait_for_length(2);
    EXPECT_EQ(console_.value({"ZCARD", owner_key(mutex_) + ":line"}), "2");
    EXPECT_EQ(console_.value({"HLEN", owner_key(mutex_) + ":waiters"}), "2");
    first.service->stop();
    wait_for_length(1);
    EXPECT_EQ(console_.value({"HLEN", owner_key(mutex_) + ":waiters"}), "1");
    second.service->stop();
    wait_for_length(0);
    EXPECT_EQ(first.contender.acquisitions() + second.contender.acquisitions(), 0U);
  }
  EXPECT_THAT(keys(), ::testing::ElementsAre(owner_key(mutex_) + ":fence"));
  EXPECT_GT(std::stoll(console_.value({"PTTL", owner_key(mutex_) + ":fence"})), 0);
}

TEST_F(RedisQueue, ChannelsAreGivenUpSomeTimeAfterTheLastWaiterIsGone) {
  const auto one = factory();
  const auto two = factory();
  SimbaLocker owner{mutex_, *one};
  owner.acquire(scaled(10s));
  Waiting waiter{*two, mutex_};
  wait_for_length(1);
  EXPECT_GT(channels(), 0U);

  waiter.service->stop();

  EXPECT_TRUE(eventually([&] { return channels() == 0; }));
}

TEST_F(RedisQueue, EveryKeyOfTheQueueExpires) {
  const auto one = factory();
  SimbaLocker owner{mutex_, *one};
  owner.acquire(scaled(10s));
  Waiting waiter{*one, mutex_};
  wait_for_length(1);

  for (const std::string suffix : {"", ":fence", ":line", ":waiters"}) {
    const auto left = std::stoll(console_.value({"PTTL", owner_key(mutex_) + suffix}));
    EXPECT_GT(left, 10'000) << suffix;
  }
  EXPECT_EQ(console_.value({"EXISTS", queue_key(mutex_)}), "0") << "is the JVM library's";
}

TEST_F(RedisQueue, AMutexKeepsItsTokenForAsLongAsItIsTold) {
  auto options = support::redis_options(location_);
  options.token_retention = 1h;
  const auto one = make_redis_factory(options);
  SimbaLocker owner{mutex_, *one};
  owner.acquire(scaled(10s));
  owner.close();
  const auto left = std::stoll(console_.value({"PTTL", owner_key(mutex_) + ":fence"}));
  EXPECT_GT(left, 59 * 60'000);
  EXPECT_LE(left, 60 * 60'000 + 16'000);
}

// Once one that died cost a lease for each waiter that it had, while the server takes it for alive.
TEST_F(RedisQueue, AProcessThatDoesNotAnswerCostsOneLeaseHoweverManyWaitThere) {
  SharedSwitch hurry;
  support::OwnershipLedger ledger;
  const auto quick = support::redis_options(location_, short_contention());
  console_.ask({"SET", owner_key(mutex_), "someone", "PX", "60000"});
  ContenderProcess process{
      quick, {.name = "process", .mutex = mutex_, .contenders = 3}, hurry, ledger};
  wait_for_length(3);
  process.signal(SIGSTOP);
  console_.ask({"DEL", owner_key(mutex_)});
  const auto one = make_redis_factory(quick);
  const auto two = make_redis_factory(quick);
  const auto three = make_redis_factory(quick);
  SimbaLocker first{mutex_, *one};
  first.acquire(scaled(10s));
  Waiting second{*two, mutex_};
  Waiting third{*three, mutex_};
  wait_for_length(5);

  first.close();
  const std::string frozen = owner();
  ASSERT_NE(frozen, second.contender.contender_id());
  ASSERT_NE(frozen, third.contender.contender_id());
  ASSERT_TRUE(eventually(
      [&] { return second.contender.acquisitions() + third.contender.acquisitions() == 1; }));
  Waiting& next = second.contender.acquisitions() == 1 ? third : second;
  (second.contender.acquisitions() == 1 ? second : third).service->stop();

  EXPECT_EQ(owner(), next.contender.contender_id()) << "passed to one that is known not to answer";
}

TEST_F(RedisQueue, TwoProcessesThatDoNotAnswerCostALeaseEachHoweverManyWaitThereByTurns) {
  SharedSwitch hurry;
  support::OwnershipLedger ledger;
  const auto quick = support::redis_options(location_, short_contention());
  console_.ask({"SET", owner_key(mutex_), "someone", "PX", "60000"});
  ContenderProcess one{quick, {.name = "one", .mutex = mutex_, .contenders = 3}, hurry, ledger};
  ContenderProcess two{quick, {.name = "two", .mutex = mutex_, .contenders = 3}, hurry, ledger};
  wait_for_length(6);
  one.signal(SIGSTOP);
  two.signal(SIGSTOP);
  let_take_turns();
  console_.ask({"DEL", owner_key(mutex_)});
  const auto first_factory = make_redis_factory(quick);
  SimbaLocker first{mutex_, *first_factory};
  first.acquire(scaled(10s));
  std::vector<std::unique_ptr<MutexServiceFactory>> factories;
  std::vector<std::unique_ptr<Waiting>> living;
  for (int i = 0; i < 3; ++i) {
    factories.push_back(make_redis_factory(quick));
    living.push_back(std::make_unique<Waiting>(*factories.back(), mutex_));
  }
  wait_for_length(9);
  const auto answers = [&] {
    return std::any_of(living.begin(), living.end(), [owner = this->owner()](const auto& waiter) {
      return waiter->service->contender_id() == owner;
    });
  };

  first.close();
  for (int leases = 0; leases < 2; ++leases) {
    ASSERT_FALSE(answers());
    const auto owning = [](const auto& waiter) { return waiter->service->is_owner(); };
    ASSERT_TRUE(eventually([&] { return std::any_of(living.begin(), living.end(), owning); }));
    (*std::find_if(living.begin(), living.end(), owning))->service->stop();
  }

  EXPECT_TRUE(answers()) << "passed to one that is known not to answer";
  EXPECT_EQ(length(), "0");
}

TEST_F(RedisQueue, ThousandsWhoDiedWaitingDoNotHoldUpTheServer) {
  SimbaLocker owner{mutex_, *factory()};
  owner.acquire(scaled(10s));
  console_.ask({"EVAL",
                "for i = 1, 10000 do redis.call('ZADD', KEYS[1], i, 'w' .. i) redis.call('HSET', "
                "KEYS[2], 'w' .. i, 'inbox' .. i % 3 .. ' 1 10000 6000 5') end",
                "2", line_key(mutex_), owner_key(mutex_) + ":waiters"});

  owner.close();

  EXPECT_EQ(this->owner(), "nil");
  EXPECT_GE(std::stol(length()), 5'000) << "were all looked at in one go";
  EXPECT_LT(std::stol(length()), 10'000);
  for (int i = 0; i < 20 && length() != "0"; ++i) {
    owner.acquire(scaled(10s));
    owner.close();
  }
  EXPECT_EQ(length(), "0");
}

TEST_F(RedisQueue, ThoseWhoDiedWaitingVanishAlthoughNobodyReleases) {
  SharedSwitch hurry;
  support::OwnershipLedger ledger;
  console_.ask({"SET", owner_key(mutex_), "someone", "PX", "60000"});
  {
    ContenderProcess process{support::redis_options(location_),
                             {.name = "process", .mutex = mutex_, .contenders = 4},
                             hurry,
                             ledger};
    wait_for_length(4);
  }
  const auto one = factory();
  Waiting waiter{*one, mutex_};

  EXPECT_TRUE(eventually([&] {
    return console_.value({"HLEN", owner_key(mutex_) + ":waiters"}) == "1" && length() == "1" &&
           console_.value({"ZCARD", queue_key(mutex_)}) == "1";
  })) << length();
}

TEST_F(RedisQueue, WaitersGetTheMutexInTheOrderInWhichTheyCame) {
  SimbaLocker owner{mutex_, *factory()};
  owner.acquire(scaled(10s));
  std::vector<std::unique_ptr<MutexServiceFactory>> factories;
  std::vector<std::unique_ptr<Waiting>> waiters;
  for (int i = 0; i < 6; ++i) {
    factories.push_back(factory());
    waiters.push_back(std::make_unique<Waiting>(*factories.back(), mutex_));
    wait_for_length(i + 1);
  }

  auto before = owner.fencing_token();
  owner.close();
  for (const auto& waiter : waiters) {
    EXPECT_EQ(this->owner(), waiter->contender.contender_id()) << "a release grants it to the next";
    const ServedTime time;
    ASSERT_TRUE(waiter->contender.wait_for_acquisitions(1, scaled(10s)));
    EXPECT_LT(time.now(), scaled(200ms));
    EXPECT_TRUE(support::grows(before, waiter->contender.tokens().at(0)));
    before = waiter->contender.tokens().at(0);
    waiter->service->stop();
  }
  EXPECT_EQ(length(), "0");
}

TEST_F(RedisQueue, AWaiterThatIsStoppedAtTheMomentOfItsGrantPassesItOn) {
  const auto one = factory();
  const auto two = factory();
  const auto three = factory();
  for (int round = 0; round < 20; ++round) {
    SimbaLocker owner{mutex_, *one};
    owner.acquire(scaled(10s));
    Waiting stopped{*two, mutex_};
    wait_for_length(1);
    Waiting next{*three, mutex_};
    wait_for_length(2);

    auto stop = std::async(std::launch::async, [&] { stopped.service->stop(); });
    owner.close();

    ASSERT_TRUE(support::within(1s, [&] { return next.contender.acquisitions() == 1; })) << round;
    stop.get();
    next.service->stop();
  }
  EXPECT_THAT(keys(), ::testing::ElementsAre(owner_key(mutex_) + ":fence"));
}

TEST_F(RedisQueue, ABrokenQueueIsMended) {
  const auto one = factory();
  const auto two = factory();
  for (const std::string suffix : {":contender", ":line", ":waiters"}) {
    SimbaLocker owner{mutex_, *one};
    owner.acquire(scaled(10s));
    Waiting waiter{*two, mutex_};
    wait_for_length(1);
    console_.ask({"DEL", owner_key(mutex_) + suffix});
    console_.ask({"PUBLISH", channel_of(mutex_, waiter.service->contender_id()), "released@@x"});
    ASSERT_TRUE(eventually([&] {
      return console_.value({"HLEN", owner_key(mutex_) + ":waiters"}) == "1";
    }));
    const auto taken = testkit::ServedTime::taken_by([&] {
      owner.close();
      ASSERT_TRUE(waiter.contender.wait_for_acquisitions(1, scaled(10s))) << suffix;
    });
    EXPECT_LT(taken, scaled(500ms)) << suffix;
  }
}

}  // namespace
}  // namespace simba::redis::test
