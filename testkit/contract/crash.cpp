// An owner vanishes: to the store that is the same as being cut off.
#include <atomic>
#include <stop_token>

#include <gtest/gtest.h>

#include "simba/locker/simba_locker.hpp"
#include "testkit/contract/member.hpp"

namespace simba::testkit::detail {
namespace {

void the_next_one_takes_over_within_the_bound(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto lease = contract.clear_lease();
  const auto one = contract.cuttable_factory(lease);
  const auto another = contract.factory(lease);
  Member owner{contract, mutex, *one};
  Member waiter{contract, mutex, *another};
  owner.start();
  ASSERT_TRUE(owner.has_acquired());
  waiter.start();
  ASSERT_TRUE(waiter.sees(owner));

  const LocalTime cut_at = contract.now();
  one.cut();
  ASSERT_TRUE(waiter.has_acquired());
  EXPECT_LE(waiter.acquired_at() - cut_at, contract.take_over(lease));
  EXPECT_TRUE(grows(owner.tokens().back(), waiter.tokens().back()));
}

void a_cut_off_owner_knows_it_before_the_next_one_owns(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  auto lease = contract.short_lease();
  // Wide, so that the thread that fires the signal may come late without failing the test.
  lease.margin = (lease.ttl + lease.transition) / 4;
  const auto one = contract.cuttable_factory(lease);
  const auto another = contract.factory(lease);
  Member owner{contract, mutex, *one};
  std::atomic<bool> two_owners{true};
  Member next{
      contract,
      mutex,
      *another,
      {.acquired = [&](Member&) { two_owners = owner.service().is_owner(); }, .released = {}}};
  owner.start();
  ASSERT_TRUE(owner.has_acquired());
  next.start();
  Gate fired;
  LocalTime fired_at{};
  const std::stop_callback on_lost{owner.service().lost(), [&] {
                                     fired_at = contract.now();
                                     fired.open();
                                   }};
  one.cut();
  ASSERT_TRUE(next.has_acquired());
  ASSERT_TRUE(fired.wait_for(contract.patience()));
  next.stop();
  EXPECT_FALSE(two_owners) << safety_violation << "two owners at once";
  EXPECT_LT(fired_at, next.acquired_at());
}

void the_loss_signal_fires_at_a_loss(Contract& contract) {
  const auto factory = contract.cuttable_factory(contract.short_lease());
  Member owner{contract, contract.fresh_name(), *factory};
  owner.start();
  ASSERT_TRUE(owner.has_acquired());
  const std::stop_token lost = owner.service().lost();
  EXPECT_FALSE(lost.stop_requested());
  factory.cut();
  EXPECT_TRUE(contract.eventually([&] { return lost.stop_requested(); }));
  EXPECT_FALSE(owner.service().is_owner());
  EXPECT_TRUE(owner.is_told_of_loss());
  EXPECT_TRUE(owner.has_released());
  EXPECT_TRUE(owner.service().running());
}

void a_cut_off_owner_contends_again_with_a_greater_token(Contract& contract) {
  const auto factory = contract.cuttable_factory(contract.short_lease());
  Member owner{contract, contract.fresh_name(), *factory};
  owner.start();
  ASSERT_TRUE(owner.has_acquired());
  factory.cut();
  ASSERT_TRUE(owner.has_released());
  factory.mend();
  ASSERT_TRUE(owner.has_acquired(2));
  EXPECT_TRUE(grows(owner.tokens()[0], owner.tokens()[1]));
  EXPECT_FALSE(owner.service().lost().stop_requested());
}

void a_locker_that_lost_stays_out_until_it_is_closed(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto lease = contract.short_lease();
  const auto one = contract.cuttable_factory(lease);
  const auto another = contract.factory(lease);
  SimbaLocker locker{mutex, *one};
  locker.acquire(contract.patience());
  const FencingToken token = locker.fencing_token();
  const std::stop_token lost = locker.lost();
  one.cut();
  ASSERT_TRUE(contract.eventually([&] { return lost.stop_requested(); }));
  EXPECT_FALSE(locker.is_held());
  one.mend();

  SimbaLocker next{mutex, *another};
  next.acquire(contract.patience());
  next.close();
  EXPECT_FALSE(contract.within(length(lease), [&] { return locker.is_held(); }));
  locker.close();
  locker.acquire(contract.patience());
  EXPECT_TRUE(grows(token, locker.fencing_token()));
}

void a_dead_waiter_delays_the_next_one_by_no_more_than_a_take_over(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto lease = contract.clear_lease();
  const auto one = contract.factory(lease);
  const auto another = contract.cuttable_factory(lease);
  Member owner{contract, mutex, *one};
  Member dead{contract, mutex, *another};
  Member waiter{contract, mutex, *one};
  owner.start();
  ASSERT_TRUE(owner.has_acquired());
  dead.start();
  ASSERT_TRUE(dead.sees(owner));
  waiter.start();
  ASSERT_TRUE(waiter.sees(owner));
  another.cut();
  owner.stop();
  ASSERT_TRUE(waiter.has_acquired());
  EXPECT_LE(waiter.acquired_at() - owner.released_at(), contract.take_over(lease));
  EXPECT_FALSE(dead.service().is_owner());
}

void an_observer_sees_a_crashed_owner_vanish(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto lease = contract.short_lease();
  const auto one = contract.cuttable_factory(lease);
  const auto another = contract.factory(lease);
  Member owner{contract, mutex, *one};
  Observer observer{contract, mutex, *another};
  observer.service().start();
  owner.start();
  ASSERT_TRUE(observer.sees(owner));
  one.cut();
  EXPECT_TRUE(observer.sees(""));
  EXPECT_FALSE(observer.service().has_owner());
}

}  // namespace

ContractCases crash_cases() {
  const auto crash = [](const char* name, ContractCase::Body body,
                        std::source_location where = std::source_location::current()) {
    return ContractCase{name, body, {Capability::cut_off}, where};
  };
  return {
      crash("TheNextOneTakesOverWithinTheBoundAfterACrash",
            the_next_one_takes_over_within_the_bound),
      crash("ACutOffOwnerKnowsItBeforeTheNextOneOwns",
            a_cut_off_owner_knows_it_before_the_next_one_owns),
      crash("TheLossSignalFiresAtALoss", the_loss_signal_fires_at_a_loss),
      crash("ACutOffOwnerContendsAgainWithAGreaterToken",
            a_cut_off_owner_contends_again_with_a_greater_token),
      crash("ALockerThatLostStaysOutUntilItIsClosed",
            a_locker_that_lost_stays_out_until_it_is_closed),
      crash("ADeadWaiterDelaysTheNextOneByNoMoreThanATakeOver",
            a_dead_waiter_delays_the_next_one_by_no_more_than_a_take_over),
      crash("AnObserverSeesACrashedOwnerVanish", an_observer_sees_a_crashed_owner_vanish),
  };
}

}  // namespace simba::testkit::detail
