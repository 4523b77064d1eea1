#include "simba/schedule/schedule_config.hpp"

#include <gmock/gmock.h>

#include "schedule/abstract_scheduler_impl.hpp"
#include "simba/core/error.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using detail::later;
using detail::next_run;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr LocalTime start{1h};

TEST(ScheduleConfig, RateAndDelayKeepWhatTheyAreGiven) {
  const auto rate = ScheduleConfig::rate(1s, 2s);
  EXPECT_EQ(rate.strategy, ScheduleConfig::Strategy::fixed_rate);
  EXPECT_EQ(rate.initial_delay, 1s);
  EXPECT_EQ(rate.period, 2s);
  const auto delay = ScheduleConfig::delay(0s, 1ns);
  EXPECT_EQ(delay.strategy, ScheduleConfig::Strategy::fixed_delay);
  EXPECT_EQ(delay.initial_delay, 0s);
  EXPECT_EQ(delay.period, 1ns);
}

TEST(ScheduleConfig, ANegativeInitialDelayIsRefusedWithItsBound) {
  const auto refused =
      ThrowsMessage<InvalidArgumentError>("initial_delay must not be negative (got -5 ns)");
  EXPECT_THAT([] { ScheduleConfig::rate(-5ns, 1s); }, refused);
  EXPECT_THAT([] { ScheduleConfig::delay(-5ns, 1s); }, refused);
}

TEST(ScheduleConfig, APeriodOfZeroOrLessIsRefusedWithItsBound) {
  EXPECT_THAT([] { ScheduleConfig::rate(0s, 0s); },
              ThrowsMessage<InvalidArgumentError>("period must be positive (got 0 ns)"));
  EXPECT_THAT([] { ScheduleConfig::delay(0s, -7ns); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("-7 ns")));
}

TEST(ScheduleConfig, OneThatWasLeftEmptyIsRefused) {
  EXPECT_THROW(ScheduleConfig{}.check(), InvalidArgumentError);
}

TEST(NextRun, WithFixedDelayComesAPeriodAfterTheEnd) {
  const auto config = ScheduleConfig::delay(1s, 10s);
  EXPECT_EQ(next_run(config, start, start), start + 10s);
  EXPECT_EQ(next_run(config, start, start + 25s), start + 35s);
}

TEST(NextRun, WithFixedRateStaysOnTheGrid) {
  const auto config = ScheduleConfig::rate(1s, 10s);
  EXPECT_EQ(next_run(config, start, start), start + 10s);
  EXPECT_EQ(next_run(config, start, start + 3s), start + 10s);
  EXPECT_EQ(next_run(config, start, start + 10s - 1ns), start + 10s);
}

TEST(NextRun, WithFixedRateLeavesOutWhatARunHasCovered) {
  const auto config = ScheduleConfig::rate(1s, 10s);
  EXPECT_EQ(next_run(config, start, start + 10s), start + 20s) << "it is strictly later";
  EXPECT_EQ(next_run(config, start, start + 47s), start + 50s);
}

TEST(NextRun, BeforeTheFirstOneIsTheFirstOne) {
  EXPECT_EQ(next_run(ScheduleConfig::rate(1s, 10s), start, start - 1s), start);
}

TEST(NextRun, BeyondTheEndOfTimeIsNever) {
  const auto forever = std::chrono::nanoseconds::max();
  EXPECT_EQ(next_run(ScheduleConfig::delay(0s, forever), start, start), never);
  EXPECT_EQ(next_run(ScheduleConfig::rate(0s, forever), start, start + 1s), never);
  EXPECT_EQ(next_run(ScheduleConfig::rate(0s, 1s), never, start), never);
  EXPECT_EQ(later(LocalTime{-5ns}, forever), never - 5ns);
}

TEST(ScheduleConfig, OfSharedSlotsSaysWhatDiffersFromTheDefaults) {
  EXPECT_EQ(to_string(ScheduleConfig::shared(Cron{"0 3 * * *", "Europe/Berlin"})),
            "0 3 * * * in Europe/Berlin");
  EXPECT_EQ(to_string(ScheduleConfig::shared_rate(
                5s, 10s, {.promise = SlotPromise::at_least_once, .missed = MissedSlots::skip})),
            "every 10s, first after 5s, at least once, missed: skip");
}

TEST(ScheduleConfig, OfSharedSlotsIsChecked) {
  EXPECT_THROW(ScheduleConfig::shared_rate(0s, 0s), InvalidArgumentError);
  EXPECT_THROW(ScheduleConfig::shared_rate(0s, 1500us), InvalidArgumentError);
  EXPECT_THROW(ScheduleConfig::shared_rate(1us, 1s), InvalidArgumentError);
  EXPECT_THROW(ScheduleConfig::shared_rate(0s, 24h * 40'000), InvalidArgumentError);
  EXPECT_THROW(ScheduleConfig::shared(Cron{"@daily"}, {.history = 0}), InvalidArgumentError);
  EXPECT_THROW(ScheduleConfig::shared_rate(0s, 10s, {.jitter = 10s}), InvalidArgumentError)
      << "each slot would be a missed one when the next comes";
  ScheduleConfig config = ScheduleConfig::rate(0s, 1s);
  config.slots.history = 3;
  EXPECT_THROW(config.check(), InvalidArgumentError);
  config = ScheduleConfig::rate(0s, 1s);
  config.cron = Cron{"@daily"};
  EXPECT_THROW(config.check(), InvalidArgumentError);
}

}  // namespace
}  // namespace simba
