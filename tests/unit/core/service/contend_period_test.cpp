#include "simba/core/contend_period.hpp"

#include <algorithm>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "unit/core/doubles.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using test::at;
using testing::AllOf;
using testing::HasSubstr;

/// Draws the lowest or the highest number there is.
class Extreme final : public Random {
 public:
  explicit Extreme(std::uint64_t value) : value_{value} {}
  std::uint64_t next() noexcept override { return value_; }

 private:
  const std::uint64_t value_;
};

ContendPeriod drawing_lowest(JitterBounds bounds = {}) {
  return {"me", std::make_shared<Extreme>(0), bounds};
}

ContendPeriod drawing_highest(JitterBounds bounds = {}) {
  return {"me", std::make_shared<Extreme>(std::numeric_limits<std::uint64_t>::max()), bounds};
}

const LocalLease lease = test::local_lease(0s, 10s, 16s);
const LocalLease without_transition = test::local_lease(0s, 10s, 10s);

TEST(ContendPeriod, LetsTheOwnerRenewAtTheEndOfItsTtlAtTheLatest) {
  EXPECT_EQ(ContendPeriod::next_owner_delay(lease, at(4s)), 6s);
  EXPECT_EQ(ContendPeriod::next_owner_delay(lease, at(11s)), -1s);
}

TEST(ContendPeriod, SpreadsContendersAroundTheEndOfTheTransition) {
  EXPECT_EQ(drawing_lowest().next_contender_delay(lease, at(4s)), 12s - 200ms);
  EXPECT_EQ(drawing_highest().next_contender_delay(lease, at(4s)), 13s - 1ns);
}

TEST(ContendPeriod, NeverComesEarlyWhereThereIsNoTransition) {
  EXPECT_EQ(drawing_lowest().next_contender_delay(without_transition, at(4s)), 6s);
  EXPECT_EQ(drawing_highest().next_contender_delay(without_transition, at(4s)), 7s - 1ns);
  const JitterBounds early{-300ms, -100ms};
  EXPECT_EQ(drawing_lowest(early).next_contender_delay(without_transition, at(4s)), 6s);
  const JitterBounds late{300ms, 400ms};
  EXPECT_EQ(drawing_lowest(late).next_contender_delay(without_transition, at(4s)), 6s + 300ms);
}

TEST(ContendPeriod, CoversTheWholeJitterAndNoMore) {
  const ContendPeriod period{"me", make_seeded_random(1)};
  nanoseconds least = nanoseconds::max();
  nanoseconds most = nanoseconds::min();
  for (int i = 0; i < 10'000; ++i) {
    const auto jitter = period.next_contender_delay(lease, at(16s));
    least = std::min(least, jitter);
    most = std::max(most, jitter);
  }
  EXPECT_GE(least, -200ms);
  EXPECT_LT(least, -195ms);
  EXPECT_LT(most, 1000ms);
  EXPECT_GT(most, 995ms);
}

TEST(ContendPeriod, TakesTheOwnersDelayWhereTheOwnerIsThisContender) {
  const auto period = drawing_lowest({0ms, 1000ms});
  EXPECT_EQ(period.next_delay(test::owner("me", lease), at(4s)), 6s);
  EXPECT_EQ(period.next_delay(test::owner("you", lease), at(4s)), 12s);
}

TEST(ContendPeriod, EnsuresADelayThatIsNotNegative) {
  const auto period = drawing_lowest();
  EXPECT_EQ(period.next_delay(test::owner("me", lease), at(20s)), -10s);
  EXPECT_EQ(period.ensure_next_delay(test::owner("me", lease), at(20s)), 0s);
  EXPECT_EQ(period.ensure_next_delay(test::owner("you", lease), at(20s)), 0s);
  EXPECT_EQ(period.ensure_next_delay(MutexOwner::none(), at(20s)), 0s);
  EXPECT_EQ(period.ensure_next_delay(test::owner("me", lease), at(4s)), 6s);
}

TEST(ContendPeriod, StopsAtTheLimitsOfItsTypeInsteadOfOverflowing) {
  const auto endless = test::local_lease(0s, 10s, never.time_since_epoch());
  EXPECT_EQ(drawing_highest().next_contender_delay(endless, at(0s)), nanoseconds::max());
  EXPECT_EQ(drawing_highest().next_contender_delay(endless, at(-1s)), nanoseconds::max());
  EXPECT_EQ(ContendPeriod::next_owner_delay(test::local_lease(0s, -2s, 0s), never),
            nanoseconds::min());
}

TEST(ContendPeriod, RefusesBoundsTheWrongWayRoundAndNamesBoth) {
  try {
    drawing_lowest({300ms, 200ms});
    FAIL() << "accepted";
  } catch (const InvalidArgumentError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("300 ms"), HasSubstr("200 ms")));
  }
  EXPECT_EQ(drawing_lowest({200ms, 200ms}).next_contender_delay(lease, at(16s)), 200ms);
}

TEST(ContendPeriod, RefusesBoundsThatWouldOverflow) {
  using std::chrono::milliseconds;
  EXPECT_THROW(drawing_lowest({0ms, milliseconds::max()}), InvalidArgumentError);
  EXPECT_THROW(drawing_lowest({milliseconds::min(), 0ms}), InvalidArgumentError);
}

}  // namespace
}  // namespace simba
