// Why there are never two owners, and why nobody waits for ever, whatever happens to commands,
// messages, processes and the server: the real scripts in the interpreter that Redis has inside,
// the real store above simulated connections, in virtual time.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "unit/redis/rules/network.hpp"
#include "unit/redis/rules/play.hpp"
#include "unit/redis/rules/process.hpp"
#include "unit/redis/rules/server.hpp"
#include "unit/rules/world.hpp"

namespace simba::redis::rules {
namespace {

using namespace std::chrono_literals;
using Fault = Outcome::Fault;

// A sanitizer makes them twenty times as slow.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t seeds = 20;
#else
constexpr std::uint64_t seeds = 200;
#endif

TEST(RedisRules, TroubleMakesNeitherTwoOwnersNorAMutexThatNobodyGets) {
  std::size_t ownerships = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Outcome outcome = play(seed, Mutation::none);
    ASSERT_EQ(outcome.fault, Fault::none) << "seed " << seed << ": " << outcome.what << "\n"
                                          << outcome.story;
    ownerships += outcome.ownerships;
  }
  EXPECT_GT(ownerships, 20 * seeds) << "it must change hands, or nothing is shown";
}

/// Three processes with a contender each, which wait in the order of their names.
class RedisRulesInCalm : public testing::Test {
 protected:
  RedisRulesInCalm() {
    for (const auto& process : {a, b, c}) {
      process->start(process->members().front());
      go_on(50ms);
    }
  }
  ~RedisRulesInCalm() override {
    for (const auto& process : {a, b, c}) {
      if (service_of(*process).running()) process->stop(process->members().front());
    }
    go_on(5s);
    a.reset();
    b.reset();
    c.reset();
    world.clear();
  }
  RedisRulesInCalm(const RedisRulesInCalm&) = delete;
  RedisRulesInCalm& operator=(const RedisRulesInCalm&) = delete;

  std::shared_ptr<Process> make(const std::string& name) {
    auto process = std::make_shared<Process>(world, network, name, 0, Subscriptions::Grants::count,
                                             Mutation::none);
    process->add("m", name, AfterLoss::contend_again);
    return process;
  }
  static MutexContendService& service_of(Process& process) {
    return *process.members().front().service;
  }
  void go_on(std::chrono::nanoseconds span) { world.run_until(world.now() + span); }

  World world{1};
  Server server{world, {}};
  Network network{world, server};
  std::shared_ptr<Process> a = make("a");
  std::shared_ptr<Process> b = make("b");
  std::shared_ptr<Process> c = make("c");
};

TEST_F(RedisRulesInCalm, AReleaseMakesTheNextInLineTheOwner) {
  a->stop(a->members().front());
  go_on(10ms);
  EXPECT_TRUE(service_of(*b).is_owner());
}

// Its leave is held up, so the server passes it the mutex. It hears of that, and wants it no more.
TEST_F(RedisRulesInCalm, AGrantThatComesAfterTheStopIsGivenBack) {
  network.mute(b->host(), world.now() + 250ms);
  b->stop(b->members().front());
  go_on(200ms);
  a->stop(a->members().front());
  go_on(200ms);
  EXPECT_TRUE(service_of(*c).is_owner()) << world.story();
}

// That broken rules are found need not be shown twice: a sanitizer makes it too slow.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

enum class Harm { safety, liveness };

Harm harm_of(Fault fault) {
  return fault == Fault::two_owners || fault == Fault::old_token ? Harm::safety : Harm::liveness;
}

struct Broken {
  Mutation mutation;
  Harm harm;
};

class BrokenRedisRules : public testing::TestWithParam<Broken> {};

TEST_P(BrokenRedisRules, AreFound) {
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    const Fault fault = play(seed, GetParam().mutation).fault;
    if (fault != Fault::none && harm_of(fault) == GetParam().harm) return;
  }
  FAIL() << "nobody was harmed";
}

INSTANTIATE_TEST_SUITE_P(All, BrokenRedisRules,
                         testing::Values(Broken{Mutation::grants_count_from_receipt, Harm::safety},
                                         Broken{Mutation::leases_count_from_reply, Harm::safety},
                                         Broken{Mutation::release_ignores_token, Harm::safety},
                                         Broken{Mutation::guard_ignores_owner, Harm::safety},
                                         Broken{Mutation::everyone_is_heard, Harm::liveness},
                                         Broken{Mutation::changes_go_unnoticed, Harm::liveness},
                                         Broken{Mutation::no_look_after_subscribing,
                                                Harm::liveness}));

#endif

}  // namespace
}  // namespace simba::redis::rules
