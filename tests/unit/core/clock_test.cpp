#include "simba/core/clock.hpp"

#include <ctime>

#include <gtest/gtest.h>

namespace simba {
namespace {

LocalTime boot_time() {
  timespec ts{};
  clock_gettime(CLOCK_BOOTTIME, &ts);
  return LocalTime{std::chrono::seconds{ts.tv_sec} + std::chrono::nanoseconds{ts.tv_nsec}};
}

TEST(SystemClock, CountsTheTimeSinceBootSleepIncluded) {
  const auto clock = make_system_clock();
  const auto before = boot_time();
  const auto now = clock->now();
  EXPECT_LE(before, now);
  EXPECT_LE(now, boot_time());
}

TEST(SystemClock, NeverGoesBack) {
  const auto clock = make_system_clock();
  auto last = clock->now();
  for (int i = 0; i < 10'000; ++i) {
    const auto now = clock->now();
    ASSERT_LE(last, now);
    last = now;
  }
}

}  // namespace
}  // namespace simba
