// From one owner to the next, when the first gives the mutex back.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "simba/testkit/served_time.hpp"
#include "testkit/contract/member.hpp"

namespace simba::testkit::detail {
namespace {

/// Mostly: on a busy machine a few may take longer. What counts is the shorter of real time, and of
/// the time that the machine gave us from before the release on.
void a_release_reaches_a_waiter_within_the_stated_bound(Contract& contract) {
  constexpr std::size_t rounds = 10;
  const std::string mutex = contract.fresh_name();
  const auto one = contract.factory();
  const auto another = contract.factory();
  Member first{contract, mutex, *one};
  Member second{contract, mutex, *another};
  first.start();
  ASSERT_TRUE(first.has_acquired());
  Member* owner = &first;
  Member* waiter = &second;
  std::vector<std::chrono::nanoseconds> spans;
  while (spans.size() < rounds) {
    const std::size_t acquisitions = waiter->acquisitions();
    waiter->start();
    ASSERT_TRUE(waiter->sees(*owner));
    const ServedTime time;
    owner->stop();
    ASSERT_TRUE(waiter->has_acquired(acquisitions + 1));
    spans.push_back(std::min<std::chrono::nanoseconds>(
        time.now(), waiter->acquired_at() - owner->released_at()));
    ASSERT_LE(spans.back(), contract.hand_over() + contract.stall());
    std::swap(owner, waiter);
  }
  std::sort(spans.begin(), spans.end());
  EXPECT_LE(spans[rounds / 2], contract.hand_over());
}

void hand_over_passes_through_all_ten_waiters(Contract& contract) {
  constexpr std::size_t waiters = 10;
  const std::string mutex = contract.fresh_name();
  const auto one = contract.factory();
  const auto another = contract.factory();
  Members members;
  for (std::size_t i = 0; i <= waiters; ++i) {
    members.push_back(std::make_unique<Member>(contract, mutex, i % 2 == 0 ? *one : *another));
  }
  members.front()->start();
  ASSERT_TRUE(members.front()->has_acquired());
  for (std::size_t i = 1; i <= waiters; ++i) {
    members[i]->start();
    ASSERT_TRUE(members[i]->sees(*members.front()));
  }
  FencingToken last = 0;
  for (std::size_t i = 0; i <= waiters; ++i) {
    Member* owner = owner_among(contract, members);
    ASSERT_NE(owner, nullptr) << "the mutex came no further than to " << i << " of them";
    ASSERT_TRUE(owner->has_acquired());
    EXPECT_TRUE(grows(last, owner->tokens().back()));
    last = owner->tokens().back();
    owner->stop();
  }
  for (const auto& member : members) {
    EXPECT_EQ(member->acquisitions(), 1U);
    EXPECT_EQ(member->releases(), 1U);
  }
}

void on_released_returns_before_the_next_on_acquired_begins(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = contract.factory();
  const auto another = contract.factory();
  // A callback that takes a little gives a release that is sent too early the time to be seen.
  const auto linger = [&](Member&) {
    contract.within(std::chrono::milliseconds{5}, [] { return false; });
  };
  Member first{contract, mutex, *one, {.acquired = {}, .released = linger}};
  Member second{contract, mutex, *another, {.acquired = {}, .released = linger}};
  first.start();
  ASSERT_TRUE(first.has_acquired());
  Member* owner = &first;
  Member* waiter = &second;
  for (int round = 0; round < 10; ++round) {
    const std::size_t acquisitions = waiter->acquisitions();
    waiter->start();
    owner->stop();
    ASSERT_TRUE(waiter->has_acquired(acquisitions + 1));
    ASSERT_LE(owner->released_at(), waiter->acquired_at())
        << (owner->losses() == 0 ? safety_violation : "") << "on_released had not returned";
    std::swap(owner, waiter);
  }
}

void a_release_slower_than_the_lease_is_not_overtaken(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto lease = contract.short_lease();
  const auto one = contract.factory(lease);
  const auto another = contract.factory(lease);
  Member waiter{contract, mutex, *another};
  bool overtaken = true;
  Member owner{contract, mutex, *one, {.acquired = {}, .released = [&](Member&) {
                                         overtaken = waiter.acquires_within(length(lease) * 3 / 2);
                                       }}};
  owner.start();
  ASSERT_TRUE(owner.has_acquired());
  waiter.start();
  ASSERT_TRUE(waiter.sees(owner));
  owner.stop();
  EXPECT_FALSE(overtaken) << (owner.losses() == 0 ? safety_violation : "") << "two owners";
  ASSERT_TRUE(waiter.has_acquired());
  EXPECT_LE(owner.released_at(), waiter.acquired_at())
      << (owner.losses() == 0 ? safety_violation : "") << "on_released had not returned";
}

void a_waiter_that_stopped_is_passed_over(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = contract.factory();
  const auto another = contract.factory();
  Member owner{contract, mutex, *one};
  Member gone{contract, mutex, *another};
  Member waiter{contract, mutex, *another};
  owner.start();
  ASSERT_TRUE(owner.has_acquired());
  gone.start();
  ASSERT_TRUE(gone.sees(owner));
  waiter.start();
  ASSERT_TRUE(waiter.sees(owner));
  gone.stop();
  const ServedTime time;
  owner.stop();
  ASSERT_TRUE(waiter.has_acquired());
  EXPECT_LE(time.now(), contract.hand_over() + contract.stall());
  EXPECT_EQ(gone.acquisitions(), 0U);
}

/// Every owner goes back to the end of the queue. While one waits, no other comes twice; once more
/// is allowed, for one that came to the queue at the same moment.
void waiters_are_served_in_the_order_in_which_they_came(Contract& contract) {
  constexpr std::size_t contenders = 4;
  constexpr int terms = 40;
  const std::string mutex = contract.fresh_name();
  const auto factory = contract.factory();
  Members members;
  for (std::size_t i = 0; i < contenders; ++i) {
    members.push_back(std::make_unique<Member>(contract, mutex, *factory));
    members.back()->start();
  }
  // Who was overtaken by whom, and how often, since its own last turn. Counted from when each has
  // had one: to begin with, a store may need a moment until it listens.
  std::map<const Member*, std::map<const Member*, int>> overtaken;
  std::set<const Member*> served;
  const Member* previous = nullptr;
  for (int term = 0; term < terms; ++term) {
    Member* owner = owner_among(contract, members);
    ASSERT_NE(owner, nullptr);
    served.insert(owner);
    overtaken[owner].clear();
    for (const auto& member : members) {
      if (member.get() != owner && served.size() == contenders) {
        EXPECT_LE(++overtaken[member.get()][owner], 2) << "a waiter was overtaken in term " << term;
      }
    }
    if (previous != nullptr && previous != owner) {
      ASSERT_TRUE(previous->sees(*owner));
    }
    owner->stop();
    owner->start();
    previous = owner;
  }
  EXPECT_EQ(served.size(), contenders) << "someone never had a turn";
}

}  // namespace

ContractCases hand_over_cases() {
  return {
      {"AReleaseReachesAWaiterWithinTheStatedBound",
       a_release_reaches_a_waiter_within_the_stated_bound,
       {Capability::prompt_hand_over}},
      {"HandOverPassesThroughAllTenWaiters", hand_over_passes_through_all_ten_waiters},
      {"OnReleasedReturnsBeforeTheNextOnAcquiredBegins",
       on_released_returns_before_the_next_on_acquired_begins},
      {"AReleaseSlowerThanTheLeaseIsNotOvertaken",
       a_release_slower_than_the_lease_is_not_overtaken},
      {"AWaiterThatStoppedIsPassedOver",
       a_waiter_that_stopped_is_passed_over,
       {Capability::prompt_hand_over}},
      {"WaitersAreServedInTheOrderInWhichTheyCame",
       waiters_are_served_in_the_order_in_which_they_came,
       {Capability::fair_hand_over}},
  };
}

}  // namespace simba::testkit::detail
