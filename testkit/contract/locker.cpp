// SimbaLocker over this store.
#include <mutex>
#include <stop_token>
#include <thread>

#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/locker/simba_locker.hpp"
#include "testkit/contract/member.hpp"

namespace simba::testkit::detail {
namespace {

using std::chrono::milliseconds;

/// Begins a message about another holder: a broken rule of safety if `first` holds it, too.
const char* if_held(const SimbaLocker& first) { return first.is_held() ? safety_violation : ""; }

void acquire_with_a_timeout_throws_while_held_and_leaves_nothing(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = contract.factory();
  const auto another = contract.factory();
  SimbaLocker holder{mutex, *one};
  holder.acquire(contract.patience());
  SimbaLocker impatient{mutex, *another};
  try {
    impatient.acquire(milliseconds{50});
    ADD_FAILURE() << if_held(holder) << "acquired a lock that is held";
  } catch (const TimeoutError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find(mutex), std::string::npos) << message;
    EXPECT_NE(message.find(impatient.contender_id()), std::string::npos) << message;
    EXPECT_NE(message.find("50"), std::string::npos) << message;
  }
  EXPECT_FALSE(impatient.is_held());
  EXPECT_TRUE(holder.is_held());
  holder.close();

  // The one that gave up stands in nobody's way, neither in the queue nor as owner.
  SimbaLocker third{mutex, *one};
  const LocalTime begun = contract.now();
  third.acquire(contract.patience());
  if (contract.has(Capability::prompt_hand_over)) {
    EXPECT_LE(contract.now() - begun, contract.hand_over() + contract.stall());
  }
  EXPECT_FALSE(impatient.is_held());
}

void try_acquire_asks_once(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = contract.factory();
  const auto another = contract.factory();
  SimbaLocker first{mutex, *one};
  SimbaLocker second{mutex, *another};
  EXPECT_TRUE(first.try_acquire());
  EXPECT_TRUE(first.is_held());
  EXPECT_FALSE(second.try_acquire()) << if_held(first) << "held twice";
  EXPECT_FALSE(second.is_held());
  first.close();
  EXPECT_TRUE(second.try_acquire());
  EXPECT_TRUE(grows(first.fencing_token(), second.fencing_token()));
}

void a_locker_works_with_the_locks_of_the_standard_library(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = contract.factory();
  const auto another = contract.factory();
  SimbaLocker first{mutex, *one};
  SimbaLocker second{mutex, *another};
  SimbaLocker elsewhere{contract.fresh_name(), *one};
  {
    const std::unique_lock lock{first};
    EXPECT_TRUE(first.is_held());
    const std::unique_lock refused{second, std::try_to_lock};
    EXPECT_FALSE(refused.owns_lock()) << if_held(first) << "held twice";
    const std::unique_lock late{second, milliseconds{20}};
    EXPECT_FALSE(late.owns_lock()) << if_held(first) << "held twice";
    const std::unique_lock later{second, std::chrono::steady_clock::now() + milliseconds{20}};
    EXPECT_FALSE(later.owns_lock()) << if_held(first) << "held twice";
  }
  {
    const std::scoped_lock both{second, elsewhere};
    EXPECT_TRUE(second.is_held());
    EXPECT_TRUE(elsewhere.is_held());
  }
  EXPECT_FALSE(second.is_held());
  EXPECT_FALSE(elsewhere.is_held());
}

void a_waiting_locker_gets_the_lock_when_it_is_given_back(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = contract.factory();
  const auto another = contract.factory();
  SimbaLocker holder{mutex, *one};
  SimbaLocker waiter{mutex, *another};
  holder.acquire(contract.patience());
  std::atomic<bool> acquired{false};
  std::jthread thread{[&] { acquired = waiter.try_lock_for(contract.patience()); }};
  EXPECT_FALSE(contract.within(milliseconds{20}, [&] { return acquired.load(); }));
  holder.close();
  thread.join();
  EXPECT_TRUE(acquired);
  EXPECT_TRUE(waiter.is_held());
  EXPECT_FALSE(holder.is_held());
  EXPECT_TRUE(holder.lost().stop_requested());
  EXPECT_FALSE(waiter.lost().stop_requested());
}

void a_stop_request_ends_the_wait_and_leaves_nothing(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = contract.factory();
  const auto another = contract.factory();
  SimbaLocker holder{mutex, *one};
  SimbaLocker waiter{mutex, *another};
  holder.acquire(contract.patience());
  std::stop_source stop;
  std::atomic<bool> acquired{true};
  std::jthread thread{[&] { acquired = waiter.try_acquire(stop.get_token()); }};
  stop.request_stop();
  thread.join();
  EXPECT_FALSE(acquired);
  EXPECT_FALSE(waiter.is_held());
  holder.close();
  // What the waiter had under way may be granted, and given back, first. No lease ends meanwhile.
  EXPECT_TRUE(holder.try_lock_for(contract.patience()));
}

void a_second_acquire_on_a_held_locker_throws(Contract& contract) {
  const auto factory = contract.factory();
  SimbaLocker locker{contract.fresh_name(), *factory};
  locker.acquire(contract.patience());
  const FencingToken token = locker.fencing_token();
  EXPECT_THROW(locker.acquire(), IllegalStateError);
  EXPECT_THROW(locker.acquire(contract.patience()), IllegalStateError);
  EXPECT_THROW(static_cast<void>(locker.try_acquire()), IllegalStateError);
  EXPECT_TRUE(locker.is_held());
  EXPECT_EQ(locker.fencing_token(), token);
}

void a_locker_can_be_used_again_after_close(Contract& contract) {
  const auto factory = contract.factory();
  SimbaLocker locker{contract.fresh_name(), *factory};
  locker.close();
  FencingToken last = 0;
  for (int life = 0; life < 5; ++life) {
    locker.acquire();
    EXPECT_TRUE(locker.is_held());
    EXPECT_FALSE(locker.lost().stop_requested());
    EXPECT_TRUE(grows(last, locker.fencing_token()));
    last = locker.fencing_token();
    locker.close();
    locker.close();
    EXPECT_FALSE(locker.is_held());
    EXPECT_TRUE(locker.lost().stop_requested());
  }
}

}  // namespace

ContractCases locker_cases() {
  return {
      {"AcquireWithATimeoutThrowsWhileHeldAndLeavesNothing",
       acquire_with_a_timeout_throws_while_held_and_leaves_nothing},
      {"TryAcquireAsksOnce", try_acquire_asks_once},
      {"ALockerWorksWithTheLocksOfTheStandardLibrary",
       a_locker_works_with_the_locks_of_the_standard_library},
      {"AWaitingLockerGetsTheLockWhenItIsGivenBack",
       a_waiting_locker_gets_the_lock_when_it_is_given_back},
      {"AStopRequestEndsTheWaitAndLeavesNothing", a_stop_request_ends_the_wait_and_leaves_nothing},
      {"ASecondAcquireOnAHeldLockerThrows", a_second_acquire_on_a_held_locker_throws},
      {"ALockerCanBeUsedAgainAfterClose", a_locker_can_be_used_again_after_close},
  };
}

}  // namespace simba::testkit::detail
