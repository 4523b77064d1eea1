#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/redis/console.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/redis/redis_factory.hpp"
#include "simba/testkit/store_contract.hpp"
#include "support/jvm/jvm_contender.hpp"
#include "support/ownership/grows.hpp"
#include "support/patience.hpp"
#include "support/safety.hpp"

namespace simba::redis::test {
namespace {

using support::eventually;
using support::JvmContender;
using support::now;
using support::scaled;

/// Far less than the lease where it is not said otherwise: what happens within it is no take-over.
constexpr auto promptly = 5s;

constexpr std::chrono::milliseconds brief_ttl{600};
constexpr std::chrono::milliseconds brief_transition{400};

/// The longest from the death of an owner with a short lease to the next: the lease, the jitter of
/// a JVM contender, and a second.
constexpr auto take_over = brief_ttl + brief_transition + 1'000ms + 1'000ms;

class RedisJvm : public ::testing::Test {
 protected:
  bool is_waiting(const std::string& contender_id) {
    return console.value({"ZSCORE", queue_key(mutex), contender_id}) != "nil";
  }

  std::string owner() { return console.value({"GET", owner_key(mutex)}); }

  static JvmContender::Settings brief_lease() {
    return {.ttl = scaled(brief_ttl), .transition = scaled(brief_transition)};
  }

  const support::Location location = support::redis_location();
  const std::string mutex = unique("jvm");
  Console console{location};
};

TEST_F(RedisJvm, HandsOverToItsLike) {
  JvmContender one{location, mutex, "0:1@10.0.0.1"};
  JvmContender two{location, mutex, "0:2@10.0.0.2"};
  one.start();
  ASSERT_NE(one.said("acquired"), "");
  EXPECT_EQ(owner(), "0:1@10.0.0.1");
  EXPECT_GT(std::stoi(console.value({"PTTL", owner_key(mutex)})), 10'000);
  two.start();
  ASSERT_EQ(two.said("waiting"), "waiting 0:1@10.0.0.1");
  EXPECT_TRUE(is_waiting("0:2@10.0.0.2"));

  one.release();

  EXPECT_EQ(two.said("saw", promptly), "saw released 0:1@10.0.0.1");
  EXPECT_NE(two.said("acquired", promptly), "") << two.transcript();
  EXPECT_EQ(owner(), "0:2@10.0.0.2");
  EXPECT_FALSE(is_waiting("0:2@10.0.0.2"));
  EXPECT_EQ(two.said("saw", promptly), "saw acquired 0:2@10.0.0.2");
  EXPECT_EQ(one.quit(), 0) << one.transcript();
  EXPECT_EQ(two.quit(), 0) << two.transcript();
}

TEST_F(RedisJvm, TakesOverWhenItsLikeDiesAndNotWhileThatRenews) {
  JvmContender one{location, mutex, "one", brief_lease()};
  JvmContender two{location, mutex, "two", brief_lease()};
  one.start();
  ASSERT_NE(one.said("acquired"), "");
  two.start();
  for (int i = 0; i < 3; ++i) {
    ASSERT_NE(one.said("renewed"), "") << one.transcript();
  }
  EXPECT_EQ(two.said("acquired", 1ms), "");

  one.kill();

  EXPECT_NE(two.said("acquired", take_over), "") << two.transcript();
}

TEST_F(RedisJvm, NoticesThatItHasNotRenewed) {
  JvmContender one{location, mutex, "one", brief_lease()};
  one.start();
  ASSERT_NE(one.said("acquired"), "");
  console.ask({"SET", owner_key(mutex), "other", "PX", "100"});

  EXPECT_NE(one.said("lost"), "") << one.transcript();
  EXPECT_NE(one.said("acquired"), "") << one.transcript();
}

TEST_F(RedisJvm, LeavesTheQueueWhenItStops) {
  JvmContender one{location, mutex, "one"};
  console.ask({"SET", owner_key(mutex), "other", "PX", "60000"});
  one.start();
  ASSERT_NE(one.said("waiting other"), "");
  EXPECT_TRUE(is_waiting("one"));

  one.release();

  EXPECT_NE(one.said("not released"), "");
  EXPECT_FALSE(is_waiting("one"));
  EXPECT_EQ(owner(), "other");
}

TEST_F(RedisJvm, FailsOnMessagesThatAreNotOfTheProtocol) {
  for (const std::string text : {"granted@@x", "acquired", "acquired@@x@@y", ""}) {
    JvmContender one{location, mutex, "one"};
    one.start();
    ASSERT_NE(one.said("acquired"), "");
    console.ask({"PUBLISH", channel_of(mutex), text});

    EXPECT_NE(one.said("error BadMessage"), "") << text;
    EXPECT_EQ(one.quit(), 3) << text;
    console.ask({"DEL", owner_key(mutex)});
  }
}

/// Ours and one or more of the JVM's.
class RedisBesideJvm : public RedisJvm {
 protected:
  static ContentionOptions short_contention() {
    ContentionOptions contention;
    contention.ttl = scaled(brief_ttl);
    contention.transition = scaled(brief_transition);
    return contention;
  }

  /// Acquires in a thread of its own and says when it had the lock.
  static std::future<LocalTime> acquire(SimbaLocker& locker) {
    return std::async(std::launch::async, [&locker] {
      locker.acquire(scaled(60s));
      return now();
    });
  }

  /// Starts it and waits until it waits.
  static void let_wait(JvmContender& jvm) {
    jvm.start();
    ASSERT_NE(jvm.said("waiting"), "") << jvm.transcript();
  }

  /// The same for one of ours, which is in line before it listens.
  std::future<LocalTime> let_wait(SimbaLocker& locker) {
    auto acquired = acquire(locker);
    EXPECT_TRUE(eventually([&] {
      const auto waiter =
          console.ask({"HGET", owner_key(mutex) + ":waiters", locker.contender_id()});
      return !waiter.text.empty() && !waiter.text.starts_with('-');
    }));
    return acquired;
  }

  /// So many of ours have died while they waited for one of the JVM library's.
  void leave_dead(int count) {
    console.ask(
        {"EVAL",
         "for i = 1, tonumber(ARGV[1]) do redis.call('ZADD', KEYS[1], i - 0.5, 'dead' .. i) "
         "redis.call('ZADD', KEYS[2], i * 1000000, 'dead' .. i) redis.call('HSET', KEYS[3], "
         "'dead' .. i, 'simba:inbox:dead' .. i % 3 .. ' 1 10000 6000 5') end",
         "3", queue_key(mutex), line_key(mutex), owner_key(mutex) + ":waiters",
         std::to_string(count)});
  }

  static bool is_ready(const std::future<LocalTime>& acquired, std::chrono::milliseconds limit) {
    return acquired.wait_for(scaled(limit)) == std::future_status::ready;
  }

  std::unique_ptr<MutexServiceFactory> factory =
      make_redis_factory(support::redis_options(location));
};

TEST_F(RedisBesideJvm, ItWaitsAndWeRelease) {
  SimbaLocker ours{mutex, *factory};
  JvmContender jvm{location, mutex, "jvm"};
  ours.acquire();
  EXPECT_EQ(owner(), ours.contender_id());
  jvm.start();
  ASSERT_EQ(jvm.said("waiting"), "waiting " + ours.contender_id());

  ours.close();

  EXPECT_EQ(jvm.said("saw", promptly), "saw released " + ours.contender_id());
  EXPECT_NE(jvm.said("acquired", promptly), "") << jvm.transcript();
  EXPECT_FALSE(ours.try_acquire());
  EXPECT_EQ(jvm.quit(), 0) << jvm.transcript();
}

TEST_F(RedisBesideJvm, WeWaitAndItReleases) {
  SimbaLocker ours{mutex, *factory};
  JvmContender jvm{location, mutex, "jvm"};
  jvm.start();
  ASSERT_NE(jvm.said("acquired"), "");
  const auto acquired = let_wait(ours);
  EXPECT_FALSE(is_ready(acquired, 1ms));

  jvm.release();

  EXPECT_TRUE(is_ready(acquired, promptly));
  EXPECT_EQ(owner(), ours.contender_id());
  EXPECT_FALSE(is_waiting(ours.contender_id()));
}

TEST_F(RedisBesideJvm, ItRenewsAndWeKeepWaiting) {
  const auto quick = make_redis_factory(support::redis_options(location, short_contention()));
  SimbaLocker ours{mutex, *quick};
  JvmContender jvm{location, mutex, "jvm", brief_lease()};
  jvm.start();
  ASSERT_NE(jvm.said("acquired"), "");
  const auto acquired = let_wait(ours);

  for (int i = 0; i < 4; ++i) {
    ASSERT_NE(jvm.said("renewed"), "") << jvm.transcript();
    EXPECT_EQ(owner(), "jvm");
  }
  EXPECT_FALSE(is_ready(acquired, 1ms));
  EXPECT_EQ(jvm.said("lost", 1ms), "");

  jvm.release();
  EXPECT_TRUE(is_ready(acquired, promptly));
}

TEST_F(RedisBesideJvm, ItDiesAndWeGetTheMutexAfterItsLease) {
  SimbaLocker ours{mutex, *factory};
  JvmContender jvm{location, mutex, "jvm", brief_lease()};
  const auto before = now();
  jvm.start();
  ASSERT_NE(jvm.said("acquired"), "");
  auto acquired = let_wait(ours);

  jvm.kill();

  ASSERT_TRUE(is_ready(acquired, take_over));
  EXPECT_GT(acquired.get() - before, brief_lease().ttl + brief_lease().transition);
}

TEST_F(RedisBesideJvm, OursIsCutOffAndItGetsTheMutexAfterWeHaveSteppedDown) {
  const auto runtime = make_runtime();
  auto cuttable = testkit::make_cuttable_factory(
      make_redis_store(support::redis_options(location, short_contention()), runtime), runtime,
      short_contention());
  SimbaLocker ours{mutex, *cuttable.factory};
  JvmContender jvm{location, mutex, "jvm", brief_lease()};
  ours.acquire();
  let_wait(jvm);
  std::promise<LocalTime> lost;
  const std::stop_callback callback{ours.lost(), [&] { lost.set_value(now()); }};

  cuttable.cut();

  const auto line = jvm.said("acquired", take_over);
  ASSERT_NE(line, "") << jvm.transcript();
  EXPECT_FALSE(ours.is_held()) << support::safety_violation << "two owners";
  EXPECT_LT(lost.get_future().get(), support::moment_of(line));
  cuttable.mend();
}

TEST_F(RedisBesideJvm, ItSeesOurAcquisitionsAndGrants) {
  SimbaLocker one{mutex, *factory, "a-one"};
  SimbaLocker two{mutex, *factory, "b-two"};
  JvmContender jvm{location, mutex, "jvm"};
  console.ask({"SET", owner_key(mutex), "other", "PX", "60000"});
  const auto one_acquired = let_wait(one);
  const auto two_acquired = let_wait(two);
  let_wait(jvm);

  console.ask({"DEL", owner_key(mutex)});
  console.ask({"ZREM", queue_key(mutex), "a-one"});
  console.ask({"PUBLISH", channel_of(mutex, "a-one"), "released@@other"});
  ASSERT_TRUE(is_ready(one_acquired, promptly));
  EXPECT_EQ(jvm.said("saw", promptly), "saw acquired a-one");
  one.close();
  ASSERT_TRUE(is_ready(two_acquired, promptly));
  EXPECT_EQ(jvm.said("saw", promptly), "saw acquired b-two");
  two.close();

  EXPECT_EQ(jvm.said("saw", promptly), "saw released b-two");
  EXPECT_NE(jvm.said("acquired", promptly), "");
  EXPECT_EQ(jvm.quit(), 0) << jvm.transcript();
}

TEST_F(RedisBesideJvm, OneThatDiedWaitingIsPassedOverAtOnce) {
  SimbaLocker one{mutex, *factory};
  SimbaLocker two{mutex, *factory};
  JvmContender jvm{location, mutex, "0-jvm"};
  one.acquire();
  let_wait(jvm);
  const auto acquired = let_wait(two);
  jvm.kill();
  // The server has noticed.
  ASSERT_TRUE(eventually([&] {
    return console.ask({"PUBSUB", "NUMSUB", channel_of(mutex, "0-jvm")}).items.at(1).text == "0";
  }));

  one.close();

  EXPECT_TRUE(is_ready(acquired, promptly));
  two.close();
  EXPECT_FALSE(is_waiting("0-jvm"));
  EXPECT_EQ(owner(), "nil");
}

TEST_F(RedisBesideJvm, ItsReleaseIsNotLostOnOursThatDiedWaiting) {
  SimbaLocker ours{mutex, *factory};
  JvmContender jvm{location, mutex, "jvm"};
  jvm.start();
  ASSERT_NE(jvm.said("acquired"), "");
  leave_dead(40);
  const auto acquired = let_wait(ours);

  jvm.release();

  EXPECT_TRUE(is_ready(acquired, promptly)) << "told one that is dead";
  EXPECT_EQ(console.value({"ZCARD", queue_key(mutex)}), "0");
}

TEST_F(RedisBesideJvm, ItsReleaseIsNotLostOnOursThatDiedBeforeOurLineExpired) {
  SimbaLocker ours{mutex, *factory};
  JvmContender jvm{location, mutex, "jvm"};
  jvm.start();
  ASSERT_NE(jvm.said("acquired"), "");
  leave_dead(40);
  console.ask({"DEL", line_key(mutex), owner_key(mutex) + ":waiters"});
  const auto acquired = let_wait(ours);

  jvm.release();

  EXPECT_TRUE(is_ready(acquired, promptly)) << "told one that is dead";
  EXPECT_EQ(console.value({"ZCARD", queue_key(mutex)}), "0");
}

TEST_F(RedisBesideJvm, ThousandsOfOursThatDiedWaitingDoNotHoldUpTheServerWhenOneComes) {
  SimbaLocker ours{mutex, *factory};
  JvmContender jvm{location, mutex, "jvm"};
  jvm.start();
  ASSERT_NE(jvm.said("acquired"), "");
  leave_dead(10'000);

  EXPECT_FALSE(ours.try_acquire());

  for (const auto& key : {queue_key(mutex), line_key(mutex)}) {
    const int left = std::stoi(console.value({"ZCARD", key}));
    EXPECT_LT(left, 10'000) << key;
    EXPECT_GE(left, 9'000) << "were all looked at in one go, in " << key;
  }
}

TEST_F(RedisBesideJvm, ItsQueueDoesNotExpireWhileItWaits) {
  SimbaLocker one{mutex, *factory};
  SimbaLocker two{mutex, *factory};
  one.acquire();
  const auto acquired = let_wait(two);
  JvmContender jvm{location, mutex, "jvm"};
  let_wait(jvm);

  EXPECT_EQ(console.value({"PTTL", queue_key(mutex)}), "-1");
  one.close();
  EXPECT_TRUE(is_ready(acquired, promptly));
}

TEST_F(RedisBesideJvm, WhoHasWaitedLongestIsNextOnEitherSide) {
  SimbaLocker one{mutex, *factory};
  SimbaLocker two{mutex, *factory};
  SimbaLocker three{mutex, *factory};
  JvmContender jvm{location, mutex, "jvm"};
  one.acquire();
  const auto two_acquired = let_wait(two);
  let_wait(jvm);
  one.close();  // which sees that the JVM contender waits
  ASSERT_TRUE(is_ready(two_acquired, promptly));
  const auto three_acquired = let_wait(three);

  two.close();

  EXPECT_NE(jvm.said("acquired", promptly), "") << jvm.transcript();
  EXPECT_FALSE(is_ready(three_acquired, 1ms));
  jvm.release();
  EXPECT_TRUE(is_ready(three_acquired, promptly));
}

TEST_F(RedisBesideJvm, NobodyTakesWhatItWasToldToTryForAWhile) {
  SimbaLocker one{mutex, *factory};
  SimbaLocker two{mutex, *factory};
  one.acquire();
  // One that is slow: it listens, and waits, but does not try.
  Console slow{location};
  slow.ask({"SUBSCRIBE", channel_of(mutex, "jvm")});
  console.ask({"ZADD", queue_key(mutex), "NX", "1700000000", "jvm"});
  const auto two_acquired = let_wait(two);
  one.close();
  ASSERT_TRUE(slow.receive(scaled(promptly)));

  EXPECT_EQ(console.value({"SET", owner_key(mutex), "jvm", "NX", "PX", "300"}), "OK")
      << "one of ours was faster";
  EXPECT_TRUE(is_ready(two_acquired, promptly)) << "after its lease";
}

TEST_F(RedisBesideJvm, WhatItWasToldToTryAndDoesNotIsTakenSoon) {
  SimbaLocker one{mutex, *factory};
  SimbaLocker two{mutex, *factory};
  one.acquire();
  Console deaf{location};
  deaf.ask({"SUBSCRIBE", channel_of(mutex, "jvm")});
  console.ask({"ZADD", queue_key(mutex), "NX", "1700000000", "jvm"});
  const auto two_acquired = let_wait(two);

  one.close();

  EXPECT_TRUE(is_ready(two_acquired, 1s)) << "long before the lease ends";
}

TEST_F(RedisBesideJvm, TheMutexChangesHandsManyTimesAndOurTokensGrow) {
  SimbaLocker ours{mutex, *factory};
  JvmContender jvm{location, mutex, "jvm"};
  LocalTime last{};        // seen to own
  FencingToken token = 0;  // of our last ownership
  ours.acquire();
  for (int i = 0; i < 50; ++i) {
    EXPECT_GT(now(), last) << support::safety_violation << "two owners";
    EXPECT_TRUE(support::grows(token, ours.fencing_token()));
    token = ours.fencing_token();
    let_wait(jvm);
    ASSERT_TRUE(ours.is_held());
    last = now();
    ours.close();

    const auto theirs = jvm.said("acquired", promptly);
    ASSERT_NE(theirs, "") << jvm.transcript();
    EXPECT_GT(support::moment_of(theirs), last) << support::safety_violation << "two owners";
    auto acquired = let_wait(ours);
    jvm.release();
    const auto end = jvm.said("releasing", promptly);
    ASSERT_NE(end, "") << jvm.transcript();
    last = support::moment_of(end);
    ASSERT_TRUE(is_ready(acquired, promptly));
    EXPECT_GT(acquired.get(), last) << support::safety_violation << "two owners";
  }
  EXPECT_EQ(jvm.quit(), 0) << jvm.transcript();
}

/// How often each of several contenders has owned one mutex, by turns.
class RedisShares : public RedisBesideJvm {
 protected:
  struct Mix {
    std::size_t ours = 8;
    std::size_t theirs = 2;
    std::chrono::milliseconds hold{4};
  };

  /// Lets them take turns until there were enough, and says how many each has had: ours first.
  std::vector<std::size_t> take_turns(const Mix& mix) {
    const std::size_t turns = fair * (mix.ours + mix.theirs);
    std::vector<std::atomic<std::size_t>> had(mix.ours + mix.theirs);
    std::atomic<std::size_t> all{0};
    const auto count = [&](std::size_t who) {
      std::this_thread::sleep_for(mix.hold);
      if (all.fetch_add(1) < turns) had[who].fetch_add(1);
    };
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < mix.ours; ++i) {
      threads.emplace_back([&, i] {
        SimbaLocker ours{mutex, *factory};
        while (all.load() < turns) {
          ours.acquire(scaled(60s));
          count(i);
          ours.close();
        }
      });
    }
    for (std::size_t i = 0; i < mix.theirs; ++i) {
      threads.emplace_back([&, i] {
        JvmContender jvm{location, mutex, fmt::format("{}:77@10.0.0.{}", i, i)};
        while (all.load() < turns) {
          jvm.start();
          if (jvm.said("acquired", 60s).empty()) break;
          count(mix.ours + i);
          jvm.release();
          if (jvm.said("released", 10s).empty()) break;
        }
      });
    }
    threads.clear();
    std::vector<std::size_t> result{had.begin(), had.end()};
    RecordProperty(fmt::format("{} and {}", mix.ours, mix.theirs), shown(mix, result));
    fmt::print("{}\n", shown(mix, result));
    return result;
  }

  static std::string shown(const Mix& mix, const std::vector<std::size_t>& had) {
    return fmt::format("{} of ours, {} of the JVM library's: {}", mix.ours, mix.theirs,
                       fmt::join(had, " "));
  }

  static constexpr std::size_t fair = 60;
};

TEST_F(RedisShares, EachOfOursAndOfTheJvmLibrarysIsWithinTwiceAndHalfItsFairShare) {
  for (const Mix& mix : {Mix{8, 2}, Mix{5, 5}}) {
    const auto had = take_turns(mix);
    EXPECT_GE(*std::min_element(had.begin(), had.end()), fair / 2) << shown(mix, had);
    EXPECT_LE(*std::max_element(had.begin(), had.end()), fair * 2) << shown(mix, had);
  }
}

// A release of theirs goes to one of ours first that came in the same second, so ours get more.
TEST_F(RedisShares, WhereTheJvmLibrarysOutnumberOursNobodyGetsLessThanHalfItsFairShare) {
  // Not shorter turns: many processes need a while to come back on a busy machine.
  for (const Mix& mix : {Mix{2, 8, 20ms}, Mix{1, 9, 50ms}}) {
    const auto had = take_turns(mix);
    EXPECT_GE(*std::min_element(had.begin(), had.end()), fair / 2) << shown(mix, had);
  }
}

}  // namespace
}  // namespace simba::redis::test
