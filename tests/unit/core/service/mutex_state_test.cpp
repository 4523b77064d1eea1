#include "simba/core/mutex_state.hpp"

#include <gtest/gtest.h>

#include "unit/core/doubles.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using test::owner;

TEST(MutexState, OfNobodyIsNoChangeAndHasNoOwner) {
  const auto& none = MutexState::none();
  EXPECT_FALSE(none.is_changed());
  EXPECT_FALSE(none.is_acquired(""));
  EXPECT_FALSE(none.is_released(""));
  EXPECT_FALSE(none.is_owner(""));
  EXPECT_EQ(none.before().owner_id(), "");
  EXPECT_EQ(none.after().owner_id(), "");
}

TEST(MutexState, IsAcquiredByTheOneWhoOwnsItNowAndDidNotBefore) {
  const MutexState state{MutexOwner::none(), owner("me")};
  EXPECT_TRUE(state.is_changed());
  EXPECT_TRUE(state.is_acquired("me"));
  EXPECT_FALSE(state.is_acquired("you"));
  EXPECT_FALSE(state.is_released("me"));
  EXPECT_FALSE(state.is_released("")) << "nobody has released it";
  EXPECT_TRUE(state.is_owner("me"));
}

TEST(MutexState, IsReleasedByTheOneWhoOwnedItAndDoesNotNow) {
  const MutexState state{owner("me"), MutexOwner::none()};
  EXPECT_TRUE(state.is_changed());
  EXPECT_TRUE(state.is_released("me"));
  EXPECT_FALSE(state.is_acquired("me"));
  EXPECT_FALSE(state.is_acquired("")) << "nobody has acquired it";
  EXPECT_FALSE(state.is_owner("me"));
}

TEST(MutexState, OfAHandOverIsReleasedByOneAndAcquiredByTheOther) {
  const MutexState state{owner("me"), owner("you")};
  EXPECT_TRUE(state.is_released("me"));
  EXPECT_TRUE(state.is_acquired("you"));
}

TEST(MutexState, OfARenewalIsNoChange) {
  const MutexState state{owner("me", test::local_lease(1s, 2s, 3s)),
                         owner("me", test::local_lease(1s, 4s, 5s))};
  EXPECT_FALSE(state.is_changed());
  EXPECT_FALSE(state.is_acquired("me"));
  EXPECT_FALSE(state.is_released("me"));
  EXPECT_TRUE(state.is_owner("me"));
}

TEST(MutexState, IsInTtlWhileTheOwnerAfterwardsIs) {
  const auto clock = std::make_shared<test::FixedClock>();
  const MutexState state{MutexOwner::none(), owner("me", test::local_lease(1s, 2s, 3s), clock)};
  clock->set(1s);
  EXPECT_TRUE(state.is_in_ttl("me"));
  EXPECT_FALSE(state.is_in_ttl("you"));
  clock->set(2s);
  EXPECT_FALSE(state.is_in_ttl("me"));
}

}  // namespace
}  // namespace simba
