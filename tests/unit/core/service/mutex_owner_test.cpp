#include "simba/core/mutex_owner.hpp"

#include <gtest/gtest.h>

#include "unit/core/doubles.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;

class MutexOwnerTest : public testing::Test {
 protected:
  std::shared_ptr<test::FixedClock> clock_ = std::make_shared<test::FixedClock>();
  MutexOwner owner_ = test::owner("me", test::local_lease(1s, 10s, 16s), clock_);
};

using MutexOwnerOfNobody = MutexOwnerTest;

TEST_F(MutexOwnerOfNobody, HasAnEmptyIdAndZeroes) {
  const auto& none = MutexOwner::none();
  EXPECT_EQ(none.owner_id(), "");
  EXPECT_EQ(none.acquired_at(), StoreTime{});
  EXPECT_EQ(none.ttl_at(), StoreTime{});
  EXPECT_EQ(none.transition_at(), StoreTime{});
  EXPECT_EQ(none.fencing_token(), 0U);
  EXPECT_EQ(none.local_lease(), LocalLease{});
}

TEST_F(MutexOwnerOfNobody, AnswersNoToEverything) {
  for (const auto& nobody : {MutexOwner::none(), MutexOwner{}}) {
    for (const auto* id : {"", "me"}) {
      EXPECT_FALSE(nobody.is_owner(id));
      EXPECT_FALSE(nobody.is_in_ttl(id));
      EXPECT_FALSE(nobody.is_in_transition_of(id));
    }
    EXPECT_FALSE(nobody.is_in_ttl());
    EXPECT_FALSE(nobody.is_in_transition());
    EXPECT_FALSE(nobody.has_owner());
  }
}

TEST_F(MutexOwnerOfNobody, StaysNobodyWhateverItsLeaseSays) {
  const auto odd = test::owner("", test::local_lease(1s, 10s, 16s), clock_);
  EXPECT_FALSE(odd.is_in_ttl());
  EXPECT_FALSE(odd.has_owner());
  const auto without_clock = test::owner("me", test::local_lease(1s, 10s, 16s), nullptr);
  EXPECT_FALSE(without_clock.is_in_ttl());
  EXPECT_FALSE(without_clock.has_owner());
}

TEST_F(MutexOwnerTest, KeepsWhatItWasGiven) {
  const StoreLease lease{StoreTime{1ms}, StoreTime{2ms}, StoreTime{3ms}};
  const auto local = test::local_lease(4s, 5s, 6s);
  const MutexOwner owner{"me", lease, local, 42, clock_};
  EXPECT_EQ(owner.owner_id(), "me");
  EXPECT_EQ(owner.acquired_at(), lease.acquired_at);
  EXPECT_EQ(owner.ttl_at(), lease.ttl_at);
  EXPECT_EQ(owner.transition_at(), lease.transition_at);
  EXPECT_EQ(owner.local_lease(), local);
  EXPECT_EQ(owner.fencing_token(), 42U);
}

TEST_F(MutexOwnerTest, IsOwnerUnderItsOwnIdOnly) {
  EXPECT_TRUE(owner_.is_owner("me"));
  EXPECT_FALSE(owner_.is_owner("you"));
  EXPECT_FALSE(owner_.is_owner(""));
}

TEST_F(MutexOwnerTest, IsInTtlUntilJustBeforeTheTtlEnds) {
  clock_->set(10s - 1ns);
  EXPECT_TRUE(owner_.is_in_ttl());
  EXPECT_TRUE(owner_.is_in_ttl("me"));
  EXPECT_FALSE(owner_.is_in_ttl("you"));
}

TEST_F(MutexOwnerTest, IsNoLongerInTtlAtTheVeryMomentTheTtlEnds) {
  clock_->set(10s);
  EXPECT_FALSE(owner_.is_in_ttl());
  EXPECT_FALSE(owner_.is_in_ttl("me"));
}

TEST_F(MutexOwnerTest, IsInTransitionAtTheVeryMomentTheTransitionEnds) {
  clock_->set(16s);
  EXPECT_TRUE(owner_.is_in_transition());
  EXPECT_TRUE(owner_.is_in_transition_of("me"));
  EXPECT_FALSE(owner_.is_in_transition_of("you"));
  EXPECT_TRUE(owner_.has_owner());
}

TEST_F(MutexOwnerTest, HasNoOwnerOnceTheTransitionHasPassed) {
  clock_->set(16s + 1ns);
  EXPECT_FALSE(owner_.is_in_transition());
  EXPECT_FALSE(owner_.is_in_transition_of("me"));
  EXPECT_FALSE(owner_.has_owner());
  EXPECT_TRUE(owner_.is_owner("me")) << "the id alone says nothing of time";
}

}  // namespace
}  // namespace simba
