// What an owner makes of a store whose clock runs faster than allowed.
#include <chrono>

#include <gtest/gtest.h>

#include "unit/engine/machine_driver.hpp"

namespace simba::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr StoreTime store_begins{1'000'000ms};

class ContentionMachineClock : public testing::Test {
 protected:
  static ContentionOptions options(int allowed_ppm) {
    ContentionOptions options = MachineDriver::plain_options();
    options.clock_drift_ppm = allowed_ppm;
    return options;
  }

  LeaseRecord mine_at(StoreTime at) const {
    LeaseRecord record = driver_.mine(1);
    record.store_time = at;
    return record;
  }

  /// Owns since a request that the store has decided at `store_begins`.
  void own() {
    const Request request = driver_.started();
    first_sent_ = request.sent_at;
    driver_.answer(request, mine_at(store_begins));
  }

  /// The next renewal, answered after `round_trip`; the store's clock has run `stores` since the
  /// grant.
  Actions renew(nanoseconds round_trip, milliseconds stores) {
    const Request request = driver_.renewing();
    sent_ = request.sent_at;
    driver_.pass(round_trip);
    return driver_.answer(request, mine_at(store_begins + stores));
  }

  static int excess(const Actions& actions) {
    const auto* risk = find_event<AtRisk>(actions);
    return risk == nullptr ? 0 : risk->clock_excess_ppm;
  }

  /// How long it believes to own, from when its last renewal was sent.
  nanoseconds believed() { return driver_.machine().owned_until() - sent_; }

  MachineDriver driver_{options(500)};
  LocalTime first_sent_{};
  LocalTime sent_{};
};

TEST_F(ContentionMachineClock, WithinTheAllowanceChangesNothing) {
  own();
  EXPECT_EQ(excess(renew(0ms, 5'002ms)), 0) << "500 ppm of 5 s are 2.5 ms";
  EXPECT_EQ(believed(), 16s - 8ms - 500ms);
  EXPECT_EQ(excess(renew(0ms, 10'005ms)), 0);
}

TEST_F(ContentionMachineClock, RoundTripsAreNoEvidence) {
  own();
  // Decided as soon as the first was sent, and just before the answer to the second came.
  EXPECT_EQ(excess(renew(1s, 6'000ms)), 0);
  // Now the time of that long answer is missing, which makes the clock look slow.
  EXPECT_EQ(excess(renew(0ms, 10'000ms)), 0);
}

TEST_F(ContentionMachineClock, AClockThatIsTooFastIsToldOnceAndShortensLeases) {
  own();
  const Actions actions = renew(0ms, 5'401ms);  // 8 %, as chrony slews by default
  EXPECT_NEAR(excess(actions), 80'000 - 500, 1);
  EXPECT_EQ(find_event<AtRisk>(actions)->lease_left, 15'492ms - 5s) << "of the lease before";
  EXPECT_LE(believed(), nanoseconds{16s} * 100 / 108 - 500ms) << "the margin is kept";
  EXPECT_GE(believed(), nanoseconds{16s} * 91 / 100 - 500ms);
  const Actions again = renew(0ms, 10'802ms);
  EXPECT_EQ(find_event<AtRisk>(again), nullptr);
  EXPECT_LE(believed(), nanoseconds{16s} * 100 / 108 - 500ms);
  EXPECT_LT(sent_ - first_sent_, 10s) << "it also renews sooner";
}

TEST_F(ContentionMachineClock, AStepIsToldAndTheOwnerGoesOn) {
  own();
  const Actions actions = renew(0ms, milliseconds{1h});
  EXPECT_EQ(excess(actions), 100'000) << "no slew is faster";
  EXPECT_GE(believed(), nanoseconds{16s} * 89 / 100 - 500ms);
  EXPECT_EQ(renew(0ms, milliseconds{1h} + 4'500ms).lost, false);
  EXPECT_EQ(driver_.phase(), ContentionMachine::Phase::owning);
}

TEST_F(ContentionMachineClock, IsToldBeforeTheLossThatItExplains) {
  own();
  const Request request = driver_.renewing();
  LeaseRecord other = driver_.held("other", 2);
  other.store_time = store_begins + 1h;
  const Actions actions = driver_.answer(request, other);
  ASSERT_EQ(actions.events.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<AtRisk>(actions.events[0]));
  EXPECT_TRUE(std::holds_alternative<OwnershipLost>(actions.events[1]));
}

TEST_F(ContentionMachineClock, AnAnswerThatWasOvertakenIsNotCompared) {
  own();
  const Request late = driver_.renewing();
  driver_.pass(2s);
  const Actions timed_out = driver_.tick();
  const Request next = driver_.tick_at_wake().send.value_or(Request{});
  ASSERT_EQ(next.kind, Request::Kind::guard);
  const auto passed = std::chrono::floor<milliseconds>(driver_.now() - first_sent_);
  EXPECT_EQ(excess(driver_.answer(next, mine_at(store_begins + passed))), 0);
  EXPECT_EQ(excess(driver_.answer(late, mine_at(store_begins + passed))), 0);
  EXPECT_TRUE(find_event<RenewalFailed>(timed_out) != nullptr);
}

TEST_F(ContentionMachineClock, AStoreWithoutAClockOfItsOwnIsNotWatched) {
  driver_.own();
  const Request request = driver_.renewing();
  EXPECT_EQ(excess(driver_.answer(request, driver_.mine(1))), 0);
  EXPECT_EQ(driver_.machine().owned_until() - request.sent_at, 16s - 8ms - 500ms);
}

}  // namespace
}  // namespace simba::engine
