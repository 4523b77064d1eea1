// Those who look on, and those who follow.
#include <gtest/gtest.h>

#include "testkit/contract/member.hpp"

namespace simba::testkit::detail {
namespace {

/// Every state names as "before" whom the state before it named as "after", and is a change.
void expect_unbroken(const std::vector<MutexState>& states) {
  std::string owner;
  for (const MutexState& state : states) {
    EXPECT_EQ(state.before().owner_id(), owner);
    EXPECT_TRUE(state.is_changed());
    owner = state.after().owner_id();
  }
}

void an_observer_sees_every_change_and_who_owns(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = contract.factory();
  const auto another = contract.factory();
  const auto third = contract.factory();
  Observer observer{contract, mutex, *third};
  observer.service().start();
  Member first{contract, mutex, *one};
  Member second{contract, mutex, *another};

  first.start();
  ASSERT_TRUE(observer.sees(first));
  EXPECT_TRUE(observer.service().has_owner());
  EXPECT_GE(observer.service().after_owner().fencing_token(), first.service().fencing_token());
  first.stop();
  ASSERT_TRUE(observer.sees(""));
  EXPECT_FALSE(observer.service().has_owner());
  second.start();
  ASSERT_TRUE(observer.sees(second));
  ASSERT_TRUE(second.has_acquired());
  first.start();
  second.stop();
  ASSERT_TRUE(observer.sees(first));
  EXPECT_TRUE(grows(second.tokens().back(), observer.service().after_owner().fencing_token()));
  first.stop();
  ASSERT_TRUE(observer.sees(""));

  const auto states = observer.states();
  expect_unbroken(states);
  // First, nobody, second, perhaps nobody for a moment, first, nobody.
  EXPECT_GE(states.size(), 5U);
  EXPECT_LE(states.size(), 6U);
}

void an_observer_in_the_factory_of_the_owner_sees_the_same(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto factory = contract.factory();
  Observer observer{contract, mutex, *factory};
  Member member{contract, mutex, *factory};
  observer.service().start();
  for (int life = 0; life < 3; ++life) {
    member.start();
    ASSERT_TRUE(observer.sees(member));
    member.stop();
    ASSERT_TRUE(observer.sees(""));
  }
  expect_unbroken(observer.states());
  EXPECT_EQ(observer.states().size(), 6U);
}

void an_observer_started_late_sees_the_present_owner(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = contract.factory();
  const auto another = contract.factory();
  Member member{contract, mutex, *one};
  member.start();
  ASSERT_TRUE(member.has_acquired());
  Observer late{contract, mutex, *another};
  late.service().start();
  ASSERT_TRUE(late.sees(member));
  EXPECT_EQ(late.states().size(), 1U);
  EXPECT_TRUE(late.service().has_owner());
  late.service().stop();
  EXPECT_TRUE(late.service().after_owner().owner_id().empty());
  late.service().start();
  EXPECT_TRUE(contract.eventually([&] { return late.states().size() == 2; }));
  EXPECT_TRUE(late.service().after_owner().is_owner(member.contender_id()));
}

void an_observer_does_not_contend(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = contract.factory();
  const auto another = contract.factory();
  Observer observer{contract, mutex, *one};
  observer.service().start();
  Member member{contract, mutex, *another};
  for (std::size_t life = 1; life <= 2; ++life) {
    member.start();
    ASSERT_TRUE(member.has_acquired(life)) << "the observer holds the mutex";
    ASSERT_TRUE(observer.sees(member));
    member.stop();
    ASSERT_TRUE(observer.sees(""));
  }
  for (const MutexState& state : observer.states()) {
    const std::string& owner = state.after().owner_id();
    EXPECT_TRUE(owner.empty() || owner == member.contender_id()) << owner;
  }
}

void a_follower_sees_who_leads(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = contract.factory();
  const auto another = contract.factory();
  Member first{contract, mutex, *one};
  Member second{contract, mutex, *another};
  Member third{contract, mutex, *another};
  first.start();
  ASSERT_TRUE(first.has_acquired());
  second.start();
  third.start();
  EXPECT_TRUE(second.sees(first));
  EXPECT_TRUE(third.sees(first));
  EXPECT_TRUE(second.service().has_owner());
  EXPECT_FALSE(second.service().is_owner());
  EXPECT_FALSE(second.service().is_in_ttl());
  EXPECT_TRUE(second.service().lost().stop_requested());

  first.stop();
  ASSERT_TRUE(contract.eventually(
      [&] { return second.service().is_owner() || third.service().is_owner(); }));
  const bool second_leads = second.service().is_owner();
  Member& leader = second_leads ? second : third;
  Member& follower = second_leads ? third : second;
  EXPECT_TRUE(follower.sees(leader));
  EXPECT_EQ(follower.acquisitions(), 0U);
}

}  // namespace

ContractCases observer_cases() {
  return {
      {"AnObserverSeesEveryChangeAndWhoOwns", an_observer_sees_every_change_and_who_owns},
      {"AnObserverInTheFactoryOfTheOwnerSeesTheSame",
       an_observer_in_the_factory_of_the_owner_sees_the_same},
      {"AnObserverStartedLateSeesThePresentOwner", an_observer_started_late_sees_the_present_owner},
      {"AnObserverDoesNotContend", an_observer_does_not_contend},
      {"AFollowerSeesWhoLeads", a_follower_sees_who_leads},
  };
}

}  // namespace simba::testkit::detail
