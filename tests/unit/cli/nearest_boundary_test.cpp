// Which boundary the key of --once-per is.
#include "cli/nearest_boundary.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/errors.hpp"

namespace simba::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_days;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// A time of November 2026 in UTC.
std::chrono::sys_seconds november(unsigned day, std::chrono::seconds of_day) {
  return sys_days{std::chrono::year{2026} / std::chrono::November / std::chrono::day{day}} + of_day;
}

TEST(NearestBoundary, IsTheSameALittleBeforeAndAfterMidnight) {
  for (const std::chrono::seconds off : {-11h - 59min + 0s, -1h + 0s, 0s}) {
    EXPECT_EQ(nearest_boundary(24h, "UTC", november(20, off)), "2026-11-20T00:00:00+00:00");
    EXPECT_EQ(nearest_boundary(24h, "UTC", november(20, -off)), "2026-11-20T00:00:00+00:00");
  }
  EXPECT_EQ(nearest_boundary(24h, "UTC", november(20, 12h)), "2026-11-21T00:00:00+00:00");
}

TEST(NearestBoundary, OfADayIsTheMidnightOfTheZone) {
  EXPECT_EQ(nearest_boundary(24h, "Europe/Berlin", november(20, -1h - 5min)),
            "2026-11-20T00:00:00+01:00");
  EXPECT_EQ(nearest_boundary(24h, "Asia/Kathmandu", november(20, 20h)),
            "2026-11-21T00:00:00+05:45");
}

TEST(NearestBoundary, OfHoursAndMinutesIsCountedFromTheMidnightOfTheZone) {
  EXPECT_EQ(nearest_boundary(12h, "Europe/Berlin", november(20, 11h + 2min)),
            "2026-11-20T12:00:00+01:00");
  EXPECT_EQ(nearest_boundary(1h, "Asia/Kolkata", november(20, 10h + 29min)),
            "2026-11-20T16:00:00+05:30");
  EXPECT_EQ(nearest_boundary(15min, "UTC", november(20, 10h + 7min)), "2026-11-20T10:00:00+00:00");
  EXPECT_EQ(nearest_boundary(15min, "UTC", november(20, 10h + 8min)), "2026-11-20T10:15:00+00:00");
  EXPECT_EQ(nearest_boundary(1min, "UTC", november(20, 10h + 59s)), "2026-11-20T10:01:00+00:00");
}

TEST(NearestBoundary, OfAWeekIsTheNightBeforeMonday) {
  EXPECT_EQ(nearest_boundary(168h, "UTC", november(19, 0s)), "2026-11-16T00:00:00+00:00");
  EXPECT_EQ(nearest_boundary(168h, "UTC", november(20, 0s)), "2026-11-23T00:00:00+00:00");
}

TEST(NearestBoundary, IsOneForBothHoursThatAreTheSameAndForAMidnightThatDoesNotExist) {
  // 2026-10-25 in Berlin has 25 hours.
  const sys_days back{std::chrono::year{2026} / 10 / 25};
  EXPECT_EQ(nearest_boundary(12h, "Europe/Berlin", back + 30min), "2026-10-25T00:00:00+02:00");
  EXPECT_EQ(nearest_boundary(12h, "Europe/Berlin", back + 1h + 30min), "2026-10-25T00:00:00+02:00");
  // In Beirut the clocks go from 0:00 to 1:00.
  const sys_days gap{std::chrono::year{2026} / 3 / 29};
  EXPECT_EQ(nearest_boundary(24h, "Asia/Beirut", gap - 3h), "2026-03-29T01:00:00+03:00");
  EXPECT_EQ(nearest_boundary(24h, "Asia/Beirut", gap - 1h), "2026-03-29T01:00:00+03:00");
}

TEST(NearestBoundary, HoursOfARepeatedHourAreTwo) {
  const sys_days back{std::chrono::year{2026} / 10 / 25};
  EXPECT_EQ(nearest_boundary(1h, "Europe/Berlin", back), "2026-10-25T02:00:00+02:00");
  EXPECT_EQ(nearest_boundary(1h, "Europe/Berlin", back + 1h), "2026-10-25T02:00:00+01:00");
}

TEST(NearestBoundary, RefusesPeriodsWithoutBoundaries) {
  const auto refuses = ThrowsMessage<UsageError>(HasSubstr("--once-per must be"));
  for (const std::chrono::milliseconds period :
       std::vector<std::chrono::milliseconds>{0ms, 1ms, 90s, 7min, 90min, 5h, 36h, 367 * 24h}) {
    EXPECT_THAT([&] { nearest_boundary(period, "UTC", november(20, 0s)); }, refuses)
        << period.count();
  }
  EXPECT_THAT([] { nearest_boundary(24h, "Mars/Olympus", november(20, 0s)); },
              ThrowsMessage<UsageError>(HasSubstr("unknown time zone \"Mars/Olympus\"")));
}

}  // namespace
}  // namespace simba::cli
