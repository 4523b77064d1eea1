// Client and Lock over this store.
#include "simba/client/client.hpp"

#include <atomic>
#include <coroutine>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "simba/client/coroutine.hpp"
#include "simba/core/error.hpp"
#include "testkit/contract/support.hpp"

namespace simba::testkit::detail {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// Empty, and the test is skipped, if the store's factories are not the engine's.
std::optional<Client> client_of(std::shared_ptr<MutexServiceFactory> factory) {
  try {
    return Client{std::move(factory)};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    [] { GTEST_SKIP() << "clients need an engine::LeaseServiceFactory"; }();
    return std::nullopt;
  }
}

std::optional<Client> client_of(const Contract& contract, const ContentionOptions& lease) {
  return client_of(std::shared_ptr<MutexServiceFactory>{contract.factory(lease)});
}

std::optional<Client> client_of(const Contract& contract) {
  return client_of(contract, contract.calm_lease());
}

/// On a factory that belongs to `cuttable`.
std::optional<Client> client_of(const Cuttable& cuttable) {
  return client_of(std::shared_ptr<MutexServiceFactory>{std::shared_ptr<void>{}, &*cuttable});
}

/// A coroutine that begins at once and frees itself.
struct Detached {
  struct promise_type {
    Detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() { ADD_FAILURE() << "a coroutine threw"; }
  };
};

void a_lock_of_a_client_keeps_others_out_until_it_is_given_back(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = client_of(contract);
  const auto another = client_of(contract);
  if (!one || !another) return;
  FencingToken first = 0;
  {
    const Lock lock = one->lock(mutex, {.wait = contract.patience()});
    first = lock.fencing_token();
    EXPECT_TRUE(lock.held());
    EXPECT_TRUE(lock.verify());
    const LockResult refused = another->try_lock(mutex);
    EXPECT_FALSE(refused) << safety_violation << "held twice";
    EXPECT_EQ(refused.outcome(), LockOutcome::busy);
    EXPECT_EQ(another->try_lock(mutex, {.wait = milliseconds{50}}).outcome(),
              LockOutcome::timed_out);
    EXPECT_EQ(another->owner(mutex).owner_id(), lock.owner_id());
  }
  Lock next = another->lock(mutex, {.wait = contract.patience()});
  EXPECT_TRUE(grows(first, next.fencing_token()));
  EXPECT_TRUE(next.unlock_confirmed());
  EXPECT_EQ(one->owner(mutex).owner_id(), "");
}

void a_cancelled_wait_of_a_client_leaves_nothing_behind(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = client_of(contract);
  const auto another = client_of(contract);
  if (!one || !another) return;
  Lock lock = one->lock(mutex, {.wait = contract.patience()});
  std::stop_source stop;
  std::promise<LockOutcome> outcome;
  const std::jthread waits{[&] {
    outcome.set_value(another->try_lock(mutex, {.wait = forever}, stop.get_token()).outcome());
  }};
  stop.request_stop();
  EXPECT_EQ(outcome.get_future().get(), LockOutcome::cancelled);
  EXPECT_TRUE(lock.held());
  lock.unlock();
  EXPECT_TRUE(one->lock(mutex, {.wait = contract.patience()}).held());
}

void closing_a_client_ends_its_waits_and_keeps_its_locks(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const std::string mine = contract.fresh_name();
  const auto one = client_of(contract);
  const auto another = client_of(contract);
  if (!one || !another) return;
  const Lock lock = one->lock(mutex, {.wait = contract.patience()});
  Lock kept = another->lock(mine, {.wait = contract.patience()});
  std::atomic<int> ended{0};
  {
    std::vector<std::jthread> waits;
    waits.reserve(3);
    for (int i = 0; i < 3; ++i) {
      waits.emplace_back([&] {
        try {
          static_cast<void>(another->lock(mutex));
        } catch (const Error& error) {
          if (error.kind() == ErrorKind::illegal_state) ++ended;
        }
      });
    }
    another->close();
  }
  EXPECT_EQ(ended, 3);
  EXPECT_TRUE(lock.held());
  EXPECT_TRUE(kept.held());
  EXPECT_TRUE(kept.unlock_confirmed());
  EXPECT_TRUE(one->lock(mine, {.wait = contract.patience()}).held());
}

void many_locks_are_taken_and_given_back_without_blocking(Contract& contract) {
  constexpr int locks = 64;
  const std::string prefix = contract.fresh_name();
  const auto client = client_of(contract);
  if (!client) return;
  std::atomic<int> given_back{0};
  const auto take = [&](std::string mutex) -> Detached {
    Lock lock = co_await lock_async(*client, std::move(mutex), {.wait = contract.patience()});
    EXPECT_TRUE(lock.held());
    const bool confirmed = co_await unlock_async(std::move(lock));
    EXPECT_TRUE(confirmed);
    ++given_back;
  };
  for (int i = 0; i < locks; ++i) take(prefix + "-" + std::to_string(i % (locks / 2)));
  EXPECT_TRUE(contract.eventually([&] { return given_back == locks; }));
  client->close();
}

void a_leader_of_a_client_is_found_by_its_endpoint(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = client_of(contract);
  const auto another = client_of(contract);
  if (!one || !another) return;
  std::atomic<bool> deposed{false};
  std::atomic<bool> seen{false};
  const Watch watch = another->watch(mutex, [&](const MutexOwner& now) {
    if (endpoint(now) == "10.0.0.7:8080") seen = true;
  });
  Election leader = one->elect(mutex, {.on_deposed = [&](Loss) { deposed = true; },
                                       .id = id_with_endpoint("10.0.0.7:8080")});
  EXPECT_TRUE(contract.eventually([&] { return leader.is_leader() && seen; }));
  EXPECT_EQ(endpoint(another->owner(mutex)), "10.0.0.7:8080");
  leader.stop();
  EXPECT_TRUE(deposed);
  EXPECT_TRUE(another->lock(mutex, {.wait = contract.patience()}).held());
}

void a_client_whose_id_another_uses_throws(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = client_of(contract, contract.short_lease());
  const auto another = client_of(contract, contract.short_lease());
  if (!one || !another) return;
  std::optional<Lock> first = one->lock(mutex, {.wait = contract.patience(), .id = "twin"});
  std::optional<Lock> second;
  const auto kind_of_lock = [&](const Client& client,
                                std::optional<Lock>& into) -> std::optional<ErrorKind> {
    try {
      into = client.lock(mutex, {.wait = contract.patience(), .id = "twin"});
      return std::nullopt;
    } catch (const Error& error) {
      return error.kind();
    }
  };
  if (const auto told = kind_of_lock(*another, second)) {
    // A store that knows that the first one is alive.
    EXPECT_EQ(*told, ErrorKind::duplicate_id);
    EXPECT_TRUE(first->held());
    EXPECT_EQ(kind_of_lock(*another, second), ErrorKind::duplicate_id);
    return;
  }
  EXPECT_TRUE(contract.eventually([&] { return !first->held(); }));
  EXPECT_EQ(first->loss(), Loss::duplicate_id);
  first.reset();
  EXPECT_EQ(kind_of_lock(*one, first), ErrorKind::duplicate_id);
  EXPECT_TRUE(second && second->held());
}

void a_ttl_of_a_single_lock_is_that_of_its_lease_alone(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const ContentionOptions lease = contract.calm_lease();
  const milliseconds ttl = 5 * lease.ttl;
  const auto one = client_of(contract, lease);
  const auto another = client_of(contract, lease);
  if (!one || !another) return;
  Lock lock = one->lock(mutex, {.wait = contract.patience(), .ttl = ttl});
  EXPECT_GT(lock.lease_left(), ttl / 2);
  const MutexOwner owner = another->owner(mutex);
  EXPECT_EQ(owner.ttl_at() - owner.acquired_at(), ttl);
  EXPECT_EQ(owner.transition_at() - owner.ttl_at(), lease.transition);
  EXPECT_FALSE(another->try_lock(mutex, {.ttl = 2 * ttl})) << safety_violation << "held twice";
  const FencingToken first = lock.fencing_token();
  lock.unlock();
  const Lock next = another->lock(mutex, {.wait = contract.patience()});
  EXPECT_TRUE(grows(first, next.fencing_token()));
  EXPECT_LE(next.lease_left(), length(lease));
}

void a_lock_with_a_short_ttl_is_taken_over_after_that_ttl(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  ContentionOptions lease = contract.clear_lease();
  const auto way = contract.cuttable_factory(lease);
  const auto one = client_of(way);
  const auto another = client_of(contract, lease);
  if (!one || !another) return;
  lease.ttl = contract.short_lease().ttl;
  const Lock lock = one->lock(mutex, {.wait = contract.patience(), .ttl = lease.ttl});
  const LocalTime cut_at = contract.now();
  way.cut();
  const Lock next = another->lock(mutex, {.wait = contract.patience()});
  EXPECT_LE(contract.now() - cut_at, contract.take_over(lease) + contract.stall());
  EXPECT_FALSE(lock.held()) << safety_violation << "held twice";
  EXPECT_TRUE(grows(lock.fencing_token(), next.fencing_token()));
}

void a_lock_at_the_end_of_its_max_hold_is_told_and_not_released(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = client_of(contract);
  const auto another = client_of(contract);
  if (!one || !another) return;
  Lock lock = one->lock(mutex, {.wait = contract.patience(), .max_hold = milliseconds{1}});
  const std::stop_token lost = lock.lost();
  EXPECT_TRUE(contract.eventually([&] { return lost.stop_requested(); }));
  EXPECT_FALSE(lock.held());
  EXPECT_EQ(lock.loss(), Loss::max_hold);
  EXPECT_FALSE(another->try_lock(mutex, {.wait = milliseconds{50}}))
      << safety_violation << "released under its holder";
  EXPECT_EQ(another->owner(mutex).owner_id(), lock.owner_id());
  const FencingToken first = lock.fencing_token();
  lock.unlock();
  const Lock next = another->lock(mutex, {.wait = contract.patience()});
  EXPECT_TRUE(grows(first, next.fencing_token()));
}

void a_leader_at_the_end_of_its_max_hold_steps_down_and_leads_again(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto client = client_of(contract, contract.short_lease());
  if (!client) return;
  std::atomic<int> ends{0};
  std::atomic<FencingToken> first{0};
  std::atomic<FencingToken> second{0};
  const Election leader = client->elect(
      mutex,
      {.on_elected =
           [&](const Leadership& me) { (first == 0U ? first : second) = me.fencing_token(); },
       .on_deposed =
           [&](Loss why) {
             if (why == Loss::max_hold) ++ends;
           },
       .max_hold = milliseconds{1}});
  EXPECT_TRUE(contract.eventually([&] { return ends > 1; }));
  EXPECT_TRUE(grows(first, second));
}

void several_locks_are_held_together_or_none_is(Contract& contract) {
  const std::string prefix = contract.fresh_name();
  const std::string a = prefix + "-a";
  const std::string b = prefix + "-b";
  const std::string c = prefix + "-c";
  const auto one = client_of(contract);
  const auto another = client_of(contract);
  if (!one || !another) return;
  std::vector<Lock> all = one->lock_all({c, b}, {.wait = contract.patience()});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name(), b);
  EXPECT_EQ(all[1].name(), c);
  for (const Lock& lock : all) EXPECT_TRUE(lock.held() && lock.verify());
  EXPECT_THROW(static_cast<void>(another->lock_all({a, b, c}, {.wait = milliseconds{50}})),
               TimeoutError);
  EXPECT_TRUE(one->lock(a, {.wait = contract.patience()}).held()) << "it was to have none of them";
  all.clear();
  EXPECT_EQ(another->lock_all({a, b, c}, {.wait = contract.patience()}).size(), 3U);
}

void those_who_want_the_same_locks_in_any_order_all_get_them(Contract& contract) {
  constexpr int rounds = 5;
  const std::string prefix = contract.fresh_name();
  const std::vector<std::string> forwards{prefix + "-a", prefix + "-b", prefix + "-c"};
  const std::vector<std::string> backwards{forwards.rbegin(), forwards.rend()};
  const auto one = client_of(contract);
  const auto another = client_of(contract);
  if (!one || !another) return;
  std::atomic<int> inside{0};
  const auto take = [&](const Client& client, const std::vector<std::string>& names) {
    for (int i = 0; i < rounds; ++i) {
      const auto locks = client.lock_all(names, {.wait = contract.patience()});
      EXPECT_EQ(locks.size(), 3U);
      EXPECT_EQ(++inside, 1) << safety_violation << "held twice";
      --inside;
    }
  };
  const std::jthread other_thread{[&] {
    try {
      take(*another, backwards);
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }};
  take(*one, forwards);
}

void a_lock_of_a_client_tells_its_loss_before_the_next_one_holds_it(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  auto lease = contract.short_lease();
  // Wide, so that the thread that fires the signal may come late without failing the test.
  lease.margin = length(lease) / 4ms * 1ms;
  const auto way = contract.cuttable_factory(lease);
  const auto one = client_of(way);
  const auto another = client_of(contract, lease);
  if (!one || !another) return;
  const Lock lock = one->lock(mutex, {.wait = contract.patience()});
  std::atomic<LocalTime> told_at{never};
  const std::stop_callback on_lost{lock.lost(), [&] { told_at = contract.now(); }};
  EXPECT_EQ(lock.loss(), std::nullopt);
  way.cut();
  const Lock next = another->lock(mutex, {.wait = contract.patience()});
  EXPECT_LT(told_at.load(), contract.now());
  EXPECT_FALSE(lock.held()) << safety_violation << "held twice";
  EXPECT_TRUE(lock.loss() == Loss::expired || lock.loss() == Loss::revoked);
  EXPECT_TRUE(lock) << "something to give back all the same";
  EXPECT_TRUE(grows(lock.fencing_token(), next.fencing_token()));
}

void a_leader_of_a_client_is_told_its_loss_and_leads_again(Contract& contract) {
  const auto way = contract.cuttable_factory(contract.short_lease());
  const auto client = client_of(way);
  if (!client) return;
  std::atomic<FencingToken> token{0};
  std::atomic<FencingToken> ended{0};
  const Election leader =
      client->elect(contract.fresh_name(),
                    {.on_elected = [&](const Leadership& me) { token = me.fencing_token(); },
                     .on_deposed =
                         [&](Loss why) {
                           if (why == Loss::expired || why == Loss::revoked) ended = token.load();
                         }});
  ASSERT_TRUE(contract.eventually([&] { return token != 0U && leader.is_leader(); }));
  const std::stop_token lost = leader.lost();
  way.cut();
  ASSERT_TRUE(contract.eventually([&] { return ended == token; }));
  EXPECT_TRUE(lost.stop_requested()) << safety_violation << "deposed before the loss signal";
  EXPECT_FALSE(leader.is_leader());
  way.mend();
  EXPECT_TRUE(contract.eventually([&] { return token > ended; }));
}

}  // namespace

ContractCases client_cases() {
  return {
      {"ALockOfAClientKeepsOthersOutUntilItIsGivenBack",
       a_lock_of_a_client_keeps_others_out_until_it_is_given_back},
      {"ACancelledWaitOfAClientLeavesNothingBehind",
       a_cancelled_wait_of_a_client_leaves_nothing_behind},
      {"ClosingAClientEndsItsWaitsAndKeepsItsLocks",
       closing_a_client_ends_its_waits_and_keeps_its_locks},
      {"ManyLocksAreTakenAndGivenBackWithoutBlocking",
       many_locks_are_taken_and_given_back_without_blocking},
      {"ALeaderOfAClientIsFoundByItsEndpoint", a_leader_of_a_client_is_found_by_its_endpoint},
      {"AClientWhoseIdAnotherUsesThrows",
       a_client_whose_id_another_uses_throws,
       {Capability::duplicate_ids}},
      {"ATtlOfASingleLockIsThatOfItsLeaseAlone",
       a_ttl_of_a_single_lock_is_that_of_its_lease_alone,
       {Capability::timed_leases}},
      {"ALockWithAShortTtlIsTakenOverAfterThatTtl",
       a_lock_with_a_short_ttl_is_taken_over_after_that_ttl,
       {Capability::timed_leases, Capability::cut_off}},
      {"ALockAtTheEndOfItsMaxHoldIsToldAndNotReleased",
       a_lock_at_the_end_of_its_max_hold_is_told_and_not_released},
      {"ALeaderAtTheEndOfItsMaxHoldStepsDownAndLeadsAgain",
       a_leader_at_the_end_of_its_max_hold_steps_down_and_leads_again},
      {"SeveralLocksAreHeldTogetherOrNoneIs", several_locks_are_held_together_or_none_is},
      {"ThoseWhoWantTheSameLocksInAnyOrderAllGetThem",
       those_who_want_the_same_locks_in_any_order_all_get_them},
      {"ALockOfAClientTellsItsLossBeforeTheNextOneHoldsIt",
       a_lock_of_a_client_tells_its_loss_before_the_next_one_holds_it,
       {Capability::cut_off}},
      {"ALeaderOfAClientIsToldItsLossAndLeadsAgain",
       a_leader_of_a_client_is_told_its_loss_and_leads_again,
       {Capability::cut_off}},
  };
}

}  // namespace simba::testkit::detail
