// The store is out of reach for a while, and everyone lives on.
#include <gtest/gtest.h>

#include "testkit/contract/member.hpp"

namespace simba::testkit::detail {
namespace {

void an_outage_shorter_than_the_lease_loses_nothing(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto lease = contract.short_lease();
  const auto one = contract.cuttable_factory(lease);
  const auto another = contract.factory(lease);
  Member owner{contract, mutex, *one};
  Member waiter{contract, mutex, *another};
  owner.start();
  ASSERT_TRUE(owner.has_acquired());
  waiter.start();
  one.cut();
  ASSERT_TRUE(owner.is_told_of_trouble());
  one.mend();
  EXPECT_FALSE(waiter.acquires_within(length(lease) * 3 / 2));
  EXPECT_TRUE(owner.service().is_owner());
  EXPECT_EQ(owner.acquisitions(), 1U);
  EXPECT_EQ(owner.releases(), 0U);
  EXPECT_EQ(owner.losses(), 0U);
}

void a_service_started_during_an_outage_acquires_after_it(Contract& contract) {
  const auto factory = contract.cuttable_factory(contract.calm_lease());
  Member member{contract, contract.fresh_name(), *factory};
  factory.cut();
  const LocalTime begun = contract.now();
  member.start();
  EXPECT_LT(contract.now() - begun, contract.stall() / 2) << "start() waited for the store";
  EXPECT_FALSE(member.service().is_owner());
  factory.mend();
  EXPECT_TRUE(member.has_acquired());
}

void stop_returns_within_the_bound_during_an_outage(Contract& contract) {
  const auto lease = contract.calm_lease();
  const auto bound = worst_cases(ContentionPlan{lease}).stop + contract.stall();
  const auto factory = contract.cuttable_factory(lease);
  const std::string mutex = contract.fresh_name();
  Member owner{contract, mutex, *factory};
  Member waiter{contract, mutex, *factory};
  Observer observer{contract, mutex, *factory};
  owner.start();
  ASSERT_TRUE(owner.has_acquired());
  waiter.start();
  ASSERT_TRUE(waiter.sees(owner));
  observer.service().start();
  ASSERT_TRUE(observer.sees(owner));
  factory.cut();
  for (MutexRetrievalService* service :
       {static_cast<MutexRetrievalService*>(&owner.service()),
        static_cast<MutexRetrievalService*>(&waiter.service()), &observer.service()}) {
    const LocalTime begun = contract.now();
    service->stop();
    EXPECT_LE(contract.now() - begun, bound);
  }
  EXPECT_FALSE(owner.service().is_owner());
  EXPECT_EQ(owner.releases(), 1U);
}

/// The release could not be sent, but the lease runs out all the same.
void a_release_that_did_not_get_through_ends_with_the_lease(Contract& contract) {
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
  one.cut();
  owner.stop();
  ASSERT_TRUE(waiter.has_acquired());
  EXPECT_LE(waiter.acquired_at() - owner.released_at(),
            worst_cases(ContentionPlan{lease}).hand_over_without_notice);
}

void stop_in_on_released_after_a_loss_ends_the_service(Contract& contract) {
  const auto factory = contract.cuttable_factory(contract.short_lease());
  Member owner{contract,
               contract.fresh_name(),
               *factory,
               {.acquired = {}, .released = [](Member& self) { self.stop(); }}};
  owner.start();
  ASSERT_TRUE(owner.has_acquired());
  factory.cut();
  ASSERT_TRUE(owner.has_released());
  EXPECT_EQ(owner.service().status(), ServiceStatus::initial);
  factory.mend();
  EXPECT_EQ(owner.releases(), 1U);
  owner.start();
  EXPECT_TRUE(owner.has_acquired(2));
}

}  // namespace

ContractCases outage_cases() {
  const auto outage = [](const char* name, ContractCase::Body body,
                         std::source_location where = std::source_location::current()) {
    return ContractCase{name, body, {Capability::cut_off}, where};
  };
  return {
      outage("AnOutageShorterThanTheLeaseLosesNothing",
             an_outage_shorter_than_the_lease_loses_nothing),
      outage("AServiceStartedDuringAnOutageAcquiresAfterIt",
             a_service_started_during_an_outage_acquires_after_it),
      outage("StopReturnsWithinTheBoundDuringAnOutage",
             stop_returns_within_the_bound_during_an_outage),
      outage("AReleaseThatDidNotGetThroughEndsWithTheLease",
             a_release_that_did_not_get_through_ends_with_the_lease),
      outage("StopInOnReleasedAfterALossEndsTheService",
             stop_in_on_released_after_a_loss_ends_the_service),
  };
}

}  // namespace simba::testkit::detail
