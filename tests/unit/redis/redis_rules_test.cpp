// Why there are never two owners, and why nobody waits for ever, whatever happens to commands,
// messages, processes and the server: the real scripts in the interpreter that Redis has inside,
// the real store above simulated connections, in virtual time.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "redis/protocol/keys.hpp"
#include "unit/redis/rules/jvm_like.hpp"
#include "unit/redis/rules/network.hpp"
#include "unit/redis/rules/play.hpp"
#include "unit/redis/rules/process.hpp"
#include "unit/redis/rules/server.hpp"
#include "unit/rules/calm_world.hpp"
#include "unit/rules/seeds.hpp"

namespace simba::redis::rules {
namespace {

using namespace std::chrono_literals;
using simba::rules::CalmWorld;

TEST(RedisRules, TroubleMakesNeitherTwoOwnersNorAMutexThatNobodyGets) {
  simba::rules::expect_sound([](std::uint64_t seed) { return play(seed, Mutation::none); });
}

/// Three processes with a contender each, which wait in the order of their names.
class RedisRulesInCalm : public CalmWorld {
 protected:
  RedisRulesInCalm() {
    for (const auto& process : {a, b, c}) {
      start(*process);
      go_on(50ms);
    }
  }
  ~RedisRulesInCalm() override { end(a, b, c); }
  RedisRulesInCalm(const RedisRulesInCalm&) = delete;
  RedisRulesInCalm& operator=(const RedisRulesInCalm&) = delete;

  std::shared_ptr<Process> make(const std::string& name) {
    auto process = std::make_shared<RedisProcess>(world, network, name, 0,
                                                  Subscriptions::Grants::count, Mutation::none);
    process->add("m", name, AfterLoss::contend_again);
    return process;
  }

  /// One that waits with several contenders, once `start` has been called for each.
  std::shared_ptr<Process> make_crowd(const std::string& name, int contenders) {
    auto process = make(name);
    for (int i = 1; i < contenders; ++i) {
      process->add("m", fmt::format("{}.{}", name, i), AfterLoss::contend_again);
    }
    return process;
  }

  /// Whoever of these is the owner; null: none is.
  static Process* owner_among(const std::vector<Process*>& processes) {
    const auto found = std::find_if(processes.begin(), processes.end(), [](Process* process) {
      return service_of(*process).is_owner();
    });
    return found == processes.end() ? nullptr : *found;
  }

  Server server{world, {}};
  Network network{world, server};
  std::shared_ptr<Process> a = make("a");
  std::shared_ptr<Process> b = make("b");
  std::shared_ptr<Process> c = make("c");
};

TEST_F(RedisRulesInCalm, AReleaseMakesTheNextInLineTheOwner) {
  stop(*a);
  go_on(10ms);
  EXPECT_TRUE(service_of(*b).is_owner());
}

TEST_F(RedisRulesInCalm, ARequestThatCrossesAGrantDoesNotEndIt) {
  expect_grant_outlasts_crossing_request(*a, *b);
}

// Its leave is held up, so the server passes it the mutex. It hears of that, and wants it no more.
TEST_F(RedisRulesInCalm, AGrantThatComesAfterTheStopIsGivenBack) {
  network.mute(b->host(), world.now() + 250ms);
  stop(*b);
  go_on(200ms);
  stop(*a);
  go_on(200ms);
  EXPECT_TRUE(service_of(*c).is_owner()) << world.story();
}

// It sees a lease of an hour, and the owner renews for less.
TEST_F(RedisRulesInCalm, AWaiterLooksAgainWithinALeaseAlthoughTheServersClockWasSetBack) {
  stop(*b);
  stop(*c);
  go_on(50ms);
  server.set_clock_back(1h);
  start(*b);
  go_on(900ms);
  ASSERT_TRUE(service_of(*a).is_owner());
  a->actor().pause_until(world.now() + 5s);
  go_on(2'200ms);
  EXPECT_TRUE(service_of(*b).is_owner()) << world.story();
}

// The key of an owner that dies before it renews would live for an hour.
TEST_F(RedisRulesInCalm, AClockThatWasSetBackMakesTheLeaseOfADeadOwnerAtMostAWholeOneLonger) {
  server.set_clock_back(1h);
  a->actor().pause_until(world.now() + 5s);
  go_on(3'500ms);
  EXPECT_TRUE(service_of(*b).is_owner() || service_of(*c).is_owner()) << world.story();
}

TEST_F(RedisRulesInCalm, WhoComesAfterTheServersClockWasSetBackOvertakesNobody) {
  server.set_clock_back(1h);
  const auto late = make("a late one");
  const auto later = make("a later one");
  start(*late);
  go_on(50ms);
  start(*later);
  go_on(50ms);
  Process* owner = a.get();
  for (Process* const next : {b.get(), c.get(), late.get(), later.get()}) {
    stop(*owner);
    go_on(2'200ms);  // a grant with a token of the time before may be asked about first
    ASSERT_TRUE(service_of(*next).is_owner()) << world.story();
    owner = next;
  }
  stop(*later);
  go_on(5s);
}

TEST_F(RedisRulesInCalm, AReleaseOfTheJvmLibraryServesWhoWaitsSinceBeforeAStepBackOfTheClock) {
  const auto jvm = std::make_shared<JvmLike>(world, network, "jvm", "m");
  const auto late = std::make_shared<JvmLike>(world, network, "late", "m");
  stop(*b);
  stop(*c);
  jvm->start();
  go_on(50ms);
  stop(*a);
  go_on(50ms);
  ASSERT_TRUE(jvm->is_owner()) << world.story();
  start(*b);
  go_on(50ms);
  server.set_clock_back(1h);
  go_on(2'200ms);  // it looks again
  late->start();
  go_on(50ms);

  jvm->stop();
  go_on(50ms);
  EXPECT_TRUE(service_of(*b).is_owner()) << world.story();

  late->stop();
  go_on(5s);
}

TEST_F(RedisRulesInCalm, WhoDiedBeforeItListenedLeavesTheLineAlthoughTheClockWasSetBack) {
  const std::string lock = lock_name("m");
  server.database().execute(
      {"ZADD", lock + ":line", std::to_string(server.database().time() - 1'000'000), "x"});
  server.database().execute({"HSET", lock + ":waiters", "x", "- 1 600 400 5"});
  server.set_clock_back(1h);
  go_on(8s);
  EXPECT_EQ(server.database().members(lock + ":line"), (Words{"b", "c"}));
}

// The server takes both for alive. Their waiters stand in line by turns.
TEST_F(RedisRulesInCalm, HostsThatVanishCostOneLeaseEachHoweverManyWaitThere) {
  const auto x = make_crowd("x", 3);
  const auto y = make_crowd("y", 3);
  stop(*b);
  stop(*c);
  for (std::size_t i = 0; i < 3; ++i) {
    for (Process* const crowd : {x.get(), y.get()}) {
      crowd->start(crowd->members().at(i));
      go_on(50ms);
    }
  }
  start(*b);
  start(*c);
  go_on(50ms);
  x->actor().freeze();
  y->actor().freeze();

  stop(*a);
  go_on(1'500ms);
  Process* const after_x = owner_among({b.get(), c.get()});
  ASSERT_NE(after_x, nullptr) << world.story();
  start(*a);
  go_on(50ms);
  stop(*after_x);
  go_on(10ms);
  ASSERT_EQ(owner_among({a.get(), b.get(), c.get()}), nullptr) << "the other host seems to answer";
  go_on(1'500ms);
  Process* const after_y = owner_among({a.get(), b.get(), c.get()});
  ASSERT_NE(after_y, nullptr) << world.story();
  stop(*after_y);
  go_on(10ms);
  EXPECT_NE(owner_among({a.get(), b.get(), c.get()}), nullptr) << world.story();

  for (Process* const crowd : {x.get(), y.get()}) {
    crowd->actor().thaw();
    for (auto& member : crowd->members()) crowd->stop(member);
  }
  go_on(5s);
}

TEST_F(RedisRulesInCalm, AReleaseOfTheJvmLibraryIsNotLostOnOursThatDiedWaiting) {
  const auto jvm = std::make_shared<JvmLike>(world, network, "jvm", "m");
  stop(*b);
  stop(*c);
  jvm->start();
  go_on(50ms);
  stop(*a);
  go_on(50ms);
  ASSERT_TRUE(jvm->is_owner()) << world.story();
  const auto crowd = make_crowd("x", 30);
  for (auto& member : crowd->members()) crowd->start(member);
  go_on(50ms);
  crowd->actor().freeze();
  network.crash(crowd->host(), true);
  start(*b);
  go_on(50ms);

  jvm->stop();
  go_on(10ms);
  EXPECT_TRUE(service_of(*b).is_owner()) << world.story();

  crowd->actor().thaw();
  for (auto& member : crowd->members()) crowd->stop(member);
  go_on(5s);
}

// That broken rules are found need not be shown twice: a sanitizer makes it too slow.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

using simba::rules::Harm;
using Broken = simba::rules::BrokenRule<Mutation>;

constexpr std::array broken_redis_rules{
    Broken{Mutation::grants_count_from_receipt, Harm::safety, "grants_count_from_receipt"},
    Broken{Mutation::leases_count_from_reply, Harm::safety, "leases_count_from_reply"},
    Broken{Mutation::release_ignores_token, Harm::safety, "release_ignores_token"},
    Broken{Mutation::guard_ignores_owner, Harm::safety, "guard_ignores_owner"},
    Broken{Mutation::everyone_is_heard, Harm::liveness, "everyone_is_heard"},
    Broken{Mutation::the_dead_stay_in_the_jvm_queue, Harm::liveness,
           "the_dead_stay_in_the_jvm_queue"},
    Broken{Mutation::changes_go_unnoticed, Harm::liveness, "changes_go_unnoticed"},
    Broken{Mutation::no_look_after_subscribing, Harm::liveness, "no_look_after_subscribing"},
};

class BrokenRedisRules : public testing::TestWithParam<Broken> {};

TEST_P(BrokenRedisRules, AreFound) { simba::rules::expect_found(GetParam(), play); }

INSTANTIATE_TEST_SUITE_P(All, BrokenRedisRules, testing::ValuesIn(broken_redis_rules),
                         [](const auto& rule) { return rule.param.test_name(); });

#endif

}  // namespace
}  // namespace simba::redis::rules
