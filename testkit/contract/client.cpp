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

using std::chrono::milliseconds;

/// Empty, and the test is skipped, if the factories of the store are none of the engine's.
std::optional<Client> client_of(const Contract& contract, const ContentionOptions& lease) {
  try {
    return Client{std::shared_ptr<MutexServiceFactory>{contract.factory(lease)}};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    [] { GTEST_SKIP() << "clients need an engine::LeaseServiceFactory"; }();
    return std::nullopt;
  }
}

std::optional<Client> client_of(const Contract& contract) {
  return client_of(contract, contract.calm_lease());
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
  };
}

}  // namespace simba::testkit::detail
