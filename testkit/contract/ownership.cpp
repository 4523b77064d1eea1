// What it means to own a mutex, and to own it no longer.
#include <atomic>
#include <stop_token>
#include <utility>

#include <gtest/gtest.h>

#include "simba/locker/simba_locker.hpp"
#include "testkit/contract/member.hpp"

namespace simba::testkit::detail {
namespace {

void a_contender_acquires_and_releases(Contract& contract) {
  const auto factory = contract.factory();
  Member member{contract, contract.fresh_name(), *factory};
  const MutexContendService& service = member.service();
  EXPECT_FALSE(service.is_owner());
  EXPECT_EQ(service.fencing_token(), 0U);
  EXPECT_TRUE(service.lost().stop_requested());

  member.start();
  ASSERT_TRUE(member.has_acquired());
  EXPECT_TRUE(service.running());
  EXPECT_TRUE(service.is_owner());
  EXPECT_TRUE(service.is_in_ttl());
  EXPECT_TRUE(service.has_owner());
  EXPECT_TRUE(service.after_owner().is_owner(member.contender_id()));
  EXPECT_GT(service.fencing_token(), 0U);
  EXPECT_EQ(service.fencing_token(), member.tokens().front());
  EXPECT_FALSE(service.lost().stop_requested());

  member.stop();
  EXPECT_EQ(member.releases(), 1U);
  EXPECT_EQ(service.status(), ServiceStatus::initial);
  EXPECT_FALSE(service.has_owner());
  EXPECT_TRUE(service.after_owner().owner_id().empty());
}

void a_released_mutex_is_free_for_anyone(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = contract.factory();
  const auto another = contract.factory();
  Member first{contract, mutex, *one};
  Member second{contract, mutex, *another};
  first.start();
  ASSERT_TRUE(first.has_acquired());
  first.stop();
  second.start();
  ASSERT_TRUE(second.has_acquired());
  EXPECT_FALSE(first.service().is_owner()) << safety_violation << "after stop()";
}

void a_service_started_again_acquires_again_with_a_greater_token(Contract& contract) {
  const auto factory = contract.factory();
  Member member{contract, contract.fresh_name(), *factory};
  for (std::size_t life = 1; life <= 5; ++life) {
    member.start();
    ASSERT_TRUE(member.has_acquired(life));
    EXPECT_TRUE(member.service().is_owner());
    member.stop();
    ASSERT_EQ(member.releases(), life);
  }
  const auto tokens = member.tokens();
  ASSERT_EQ(tokens.size(), 5U);
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    EXPECT_TRUE(grows(tokens[i - 1], tokens[i]));
  }
}

void renewal_holds_ownership_past_the_lease(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto lease = contract.short_lease();
  const auto one = contract.factory(lease);
  const auto another = contract.factory(lease);
  Member owner{contract, mutex, *one};
  Member waiter{contract, mutex, *another};
  owner.start();
  ASSERT_TRUE(owner.has_acquired());
  waiter.start();

  EXPECT_FALSE(waiter.acquires_within(2 * length(lease)));
  EXPECT_TRUE(owner.service().is_owner());
  EXPECT_FALSE(owner.service().lost().stop_requested());
  EXPECT_EQ(owner.acquisitions(), 1U);
  EXPECT_EQ(owner.releases(), 0U);
  EXPECT_EQ(owner.service().fencing_token(), owner.tokens().front());
}

void fencing_tokens_grow_with_every_acquisition(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = contract.factory();
  const auto another = contract.factory();
  FencingToken last = 0;
  for (int round = 0; round < 15; ++round) {
    for (const auto* factory : {&one, &another}) {
      SimbaLocker locker{mutex, **factory};
      locker.acquire(contract.patience());
      ASSERT_TRUE(grows(last, locker.fencing_token()));
      last = locker.fencing_token();
    }
  }
}

void two_mutexes_do_not_disturb_each_other(Contract& contract) {
  const auto factory = contract.factory();
  const auto other_factory = contract.factory();
  const std::string busy = contract.fresh_name();
  Member quiet{contract, contract.fresh_name(), *factory};
  quiet.start();
  ASSERT_TRUE(quiet.has_acquired());

  // The other mutex changes hands inside this factory and outside it.
  for (int round = 0; round < 3; ++round) {
    Member inside{contract, busy, *factory};
    inside.start();
    ASSERT_TRUE(inside.has_acquired());
    Member outside{contract, busy, *other_factory};
    outside.start();
    inside.stop();
    ASSERT_TRUE(outside.has_acquired());
  }
  EXPECT_TRUE(quiet.service().is_owner());
  EXPECT_EQ(quiet.acquisitions(), 1U);
  EXPECT_EQ(quiet.releases(), 0U);
  EXPECT_EQ(quiet.service().fencing_token(), quiet.tokens().front());
}

/// Even if the mutex comes by a hand-over, while the waiter is still being told of the one
/// before.
void ownership_has_begun_when_on_acquired_begins(Contract& contract) {
  const int rounds = contract.has(Capability::prompt_hand_over) ? 50 : 5;
  const std::string mutex = contract.fresh_name();
  const auto one = contract.factory();
  const auto another = contract.factory();
  std::atomic<int> looks{0};
  std::atomic<int> not_owner{0};
  std::atomic<int> lost{0};
  std::atomic<int> other_token{0};
  const auto look = [&](Member& self) {
    not_owner += self.service().is_owner() && self.service().is_in_ttl() ? 0 : 1;
    lost += self.service().lost().stop_requested() ? 1 : 0;
    other_token += self.service().fencing_token() == self.tokens().back() ? 0 : 1;
    ++looks;
  };
  Member first{contract, mutex, *one, {.acquired = look, .released = {}}};
  Member second{contract, mutex, *another, {.acquired = look, .released = {}}};
  Member* owner = &first;
  Member* waiter = &second;
  owner->start();
  for (int round = 1; round <= rounds; ++round) {
    ASSERT_TRUE(contract.eventually([&] { return looks == round; }));
    waiter->start();
    owner->stop();
    std::swap(owner, waiter);
  }
  ASSERT_TRUE(contract.eventually([&] { return looks == rounds + 1; }));
  EXPECT_EQ(not_owner, 0);
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(other_token, 0);
}

void ownership_ends_before_on_released_begins(Contract& contract) {
  const auto factory = contract.factory();
  bool owner = true;
  bool in_ttl = true;
  bool lost = false;
  Member member{
      contract, contract.fresh_name(), *factory, {.acquired = {}, .released = [&](Member& self) {
                                                    owner = self.service().is_owner();
                                                    in_ttl = self.service().is_in_ttl();
                                                    lost = self.service().lost().stop_requested();
                                                  }}};
  member.start();
  ASSERT_TRUE(member.has_acquired());
  member.stop();
  EXPECT_EQ(member.releases(), 1U);
  EXPECT_FALSE(owner);
  EXPECT_FALSE(in_ttl);
  EXPECT_TRUE(lost);
}

void nobody_is_owner_after_stop(Contract& contract) {
  const auto factory = contract.factory();
  Member member{contract, contract.fresh_name(), *factory};
  for (std::size_t life = 1; life <= 3; ++life) {
    member.start();
    ASSERT_TRUE(member.has_acquired(life));
    member.stop();
    EXPECT_FALSE(member.service().is_owner());
    EXPECT_FALSE(member.service().is_in_ttl());
    EXPECT_TRUE(member.service().lost().stop_requested());
    EXPECT_EQ(member.service().fencing_token(), member.tokens().back());
  }
}

void the_loss_signal_fires_at_stop_before_the_next_one_owns(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto one = contract.factory();
  const auto another = contract.factory();
  Member owner{contract, mutex, *one};
  Member waiter{contract, mutex, *another};
  owner.start();
  ASSERT_TRUE(owner.has_acquired());
  waiter.start();
  Gate fired;
  LocalTime fired_at{};
  const std::stop_callback on_lost{owner.service().lost(), [&] {
                                     fired_at = contract.now();
                                     fired.open();
                                   }};
  owner.stop();
  ASSERT_TRUE(fired.wait_for(contract.patience()));
  ASSERT_TRUE(waiter.has_acquired());
  EXPECT_LE(fired_at, waiter.acquired_at());
}

void a_service_outlives_its_factory(Contract& contract) {
  auto factory = contract.factory();
  Member member{contract, contract.fresh_name(), *factory};
  factory.reset();
  member.start();
  ASSERT_TRUE(member.has_acquired());
  member.stop();
  EXPECT_EQ(member.releases(), 1U);
}

}  // namespace

ContractCases ownership_cases() {
  return {
      {"AContenderAcquiresAndReleases", a_contender_acquires_and_releases},
      {"AReleasedMutexIsFreeForAnyone", a_released_mutex_is_free_for_anyone},
      {"AServiceStartedAgainAcquiresAgainWithAGreaterToken",
       a_service_started_again_acquires_again_with_a_greater_token},
      {"RenewalHoldsOwnershipPastTheLease", renewal_holds_ownership_past_the_lease},
      {"FencingTokensGrowWithEveryAcquisition", fencing_tokens_grow_with_every_acquisition},
      {"TwoMutexesDoNotDisturbEachOther", two_mutexes_do_not_disturb_each_other},
      {"OwnershipHasBegunWhenOnAcquiredBegins", ownership_has_begun_when_on_acquired_begins},
      {"OwnershipEndsBeforeOnReleasedBegins", ownership_ends_before_on_released_begins},
      {"NobodyIsOwnerAfterStop", nobody_is_owner_after_stop},
      {"TheLossSignalFiresAtStopBeforeTheNextOneOwns",
       the_loss_signal_fires_at_stop_before_the_next_one_owns},
      {"AServiceOutlivesItsFactory", a_service_outlives_its_factory},
  };
}

}  // namespace simba::testkit::detail
