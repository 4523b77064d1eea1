#include "simba/schedule/cron.hpp"

#include <chrono>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "simba/core/error.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_days;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Cron::Time at(int year, unsigned month, unsigned day, std::chrono::seconds of_day = 0s) {
  return sys_days{std::chrono::year{year} / static_cast<int>(month) / static_cast<int>(day)} +
         of_day;
}

/// "2026-03-29 01:30"
std::string text(Cron::Time time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss of_day{time - day};
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%04d-%02u-%02u %02d:%02d",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(of_day.hours().count()),
                static_cast<int>(of_day.minutes().count()));
  return buffer.data();
}

std::vector<std::string> next(const Cron& cron, Cron::Time after, int count) {
  std::vector<std::string> times;
  for (std::optional<Cron::Time> time{after}; count > 0; --count) {
    time = cron.next(*time);
    if (!time) break;
    times.push_back(text(*time));
  }
  return times;
}

TEST(Cron, FollowsItsFields) {
  const auto from = at(2026, 1, 1);  // a Thursday
  EXPECT_THAT(next(Cron{"0 3 * * *"}, from, 2),
              ElementsAre("2026-01-01 03:00", "2026-01-02 03:00"));
  EXPECT_THAT(next(Cron{"*/20 9-10 * * mon-fri"}, at(2026, 1, 2, 9h), 6),
              ElementsAre("2026-01-02 09:20", "2026-01-02 09:40", "2026-01-02 10:00",
                          "2026-01-02 10:20", "2026-01-02 10:40", "2026-01-05 09:00"));
  EXPECT_THAT(next(Cron{"5,35 0 1 Jan,JUL *"}, from, 3),
              ElementsAre("2026-01-01 00:05", "2026-01-01 00:35", "2026-07-01 00:05"));
  EXPECT_THAT(next(Cron{"0 0 1-31/10 * *"}, from, 3),
              ElementsAre("2026-01-11 00:00", "2026-01-21 00:00", "2026-01-31 00:00"));
}

TEST(Cron, ATimeIsAlwaysAfterTheOneItIsAskedFor) {
  const Cron hourly{"0 * * * *"};
  EXPECT_EQ(hourly.next(at(2026, 1, 1, 3h)), at(2026, 1, 1, 4h));
  EXPECT_EQ(hourly.next(at(2026, 1, 1, 3h) - 1s), at(2026, 1, 1, 3h));
  EXPECT_EQ(hourly.next(at(2026, 1, 1, 3h) + 1s), at(2026, 1, 1, 4h));
}

TEST(Cron, ADayMatchesEitherDayFieldIfBothAreRestricted) {
  EXPECT_THAT(
      next(Cron{"0 0 13 * fri"}, at(2026, 2, 1), 4),
      ElementsAre("2026-02-06 00:00", "2026-02-13 00:00", "2026-02-20 00:00", "2026-02-27 00:00"));
  EXPECT_THAT(next(Cron{"0 0 */13 * fri"}, at(2026, 2, 1), 3),
              ElementsAre("2026-02-27 00:00", "2026-03-27 00:00", "2026-05-01 00:00"));
}

TEST(Cron, SundayIsZeroAndSevenAndEndsARange) {
  for (const auto* const field : {"0", "7", "sun", "sat-sun/2", "7-7"}) {
    const Cron cron{std::string{"0 0 * * "} + field};
    const bool saturday = std::string_view{field}.starts_with("sat");
    EXPECT_EQ(cron.next(at(2026, 1, 1)), saturday ? at(2026, 1, 3) : at(2026, 1, 4)) << field;
  }
  EXPECT_THAT(next(Cron{"0 0 * * fri-sun"}, at(2026, 1, 1), 3),
              ElementsAre("2026-01-02 00:00", "2026-01-03 00:00", "2026-01-04 00:00"));
}

TEST(Cron, KnowsTheLastDayAndTheNthWeekday) {
  EXPECT_THAT(next(Cron{"0 0 L * *"}, at(2028, 1, 31), 2),
              ElementsAre("2028-02-29 00:00", "2028-03-31 00:00"));
  EXPECT_THAT(next(Cron{"0 0 * * fri#2"}, at(2026, 1, 1), 2),
              ElementsAre("2026-01-09 00:00", "2026-02-13 00:00"));
  EXPECT_THAT(next(Cron{"0 0 * * 5L,mon#1"}, at(2026, 1, 1), 3),
              ElementsAre("2026-01-05 00:00", "2026-01-30 00:00", "2026-02-02 00:00"));
}

TEST(Cron, KnowsTheNicknames) {
  const auto from = at(2026, 6, 17, 12h + 1min);  // a Wednesday
  EXPECT_EQ(Cron{"@hourly"}.next(from), at(2026, 6, 17, 13h));
  EXPECT_EQ(Cron{"@daily"}.next(from), at(2026, 6, 18));
  EXPECT_EQ(Cron{"@midnight"}.next(from), at(2026, 6, 18));
  EXPECT_EQ(Cron{"@weekly"}.next(from), at(2026, 6, 21));
  EXPECT_EQ(Cron{"@monthly"}.next(from), at(2026, 7, 1));
  EXPECT_EQ(Cron{"@yearly"}.next(from), at(2027, 1, 1));
  EXPECT_EQ(Cron{"@Annually"}.next(from), at(2027, 1, 1));
}

TEST(Cron, CountsInItsZone) {
  EXPECT_THAT(next(Cron{"0 3 * * *", "Europe/Berlin"}, at(2026, 7, 1), 1),
              ElementsAre("2026-07-01 01:00"));
  EXPECT_THAT(next(Cron{"0 3 * * *", "Asia/Kathmandu"}, at(2026, 7, 1), 1),
              ElementsAre("2026-07-01 21:15"));
}

// Berlin, 29 March 2026: 01:59 is followed by 03:00, which is 01:00 UTC.
TEST(Cron, AFixedTimeThatTheClocksSkipCountsOnceAfterTheGap) {
  EXPECT_THAT(next(Cron{"30 2 * * *", "Europe/Berlin"}, at(2026, 3, 28), 3),
              ElementsAre("2026-03-28 01:30", "2026-03-29 01:00", "2026-03-30 00:30"));
  EXPECT_THAT(next(Cron{"15,45 2,3 29 3 *", "Europe/Berlin"}, at(2026, 3, 28), 3),
              ElementsAre("2026-03-29 01:00", "2026-03-29 01:15", "2026-03-29 01:45"));
}

// Berlin, 25 October 2026: 02:59 is followed by 02:00, which is 01:00 UTC.
TEST(Cron, AFixedTimeThatOccursTwiceCountsTheFirstTime) {
  EXPECT_THAT(next(Cron{"30 2 * * *", "Europe/Berlin"}, at(2026, 10, 24, 12h), 2),
              ElementsAre("2026-10-25 00:30", "2026-10-26 01:30"));
  EXPECT_EQ(Cron("30 2 * * *", "Europe/Berlin").next(at(2026, 10, 25, 1h + 10min)),
            at(2026, 10, 26, 1h + 30min));
}

TEST(Cron, WhatRunsEveryHourOrEveryFewMinutesFollowsElapsedTime) {
  EXPECT_THAT(next(Cron{"30 * * * *", "Europe/Berlin"}, at(2026, 3, 28, 23h + 45min), 3),
              ElementsAre("2026-03-29 00:30", "2026-03-29 01:30", "2026-03-29 02:30"));
  EXPECT_THAT(next(Cron{"30 * * * *", "Europe/Berlin"}, at(2026, 10, 24, 23h + 45min), 3),
              ElementsAre("2026-10-25 00:30", "2026-10-25 01:30", "2026-10-25 02:30"));
  EXPECT_THAT(next(Cron{"*/30 2 * * *", "Europe/Berlin"}, at(2026, 3, 28, 23h), 1),
              ElementsAre("2026-03-30 00:00"));
}

// On Lord Howe Island clocks change by half an hour; Samoa skipped 30 December 2011.
TEST(Cron, KnowsZonesWithUnusualSteps) {
  EXPECT_THAT(next(Cron{"15 2 * * *", "Australia/Lord_Howe"}, at(2026, 10, 3), 1),
              ElementsAre("2026-10-03 15:30"));
  EXPECT_THAT(next(Cron{"0 12 * * *", "Pacific/Apia"}, at(2011, 12, 29), 3),
              ElementsAre("2011-12-29 22:00", "2011-12-30 10:00", "2011-12-30 22:00"));
}

TEST(Cron, FindsRareDays) {
  EXPECT_EQ(Cron{"0 0 29 2 *"}.next(at(2096, 3, 1)), at(2104, 2, 29));
  EXPECT_EQ(Cron{"0 0 * 2 fri#5"}.next(at(2026, 1, 1)), at(2036, 2, 29));
}

TEST(Cron, EndsWhereDatesEnd) {
  EXPECT_EQ(Cron{"* * * * *"}.next(Cron::Time::max()), std::nullopt);
  EXPECT_NE(Cron{"* * * * *"}.next(Cron::Time::min()), std::nullopt);
}

struct Refusal {
  const char* expression;
  const char* reason;
};

class CronRefuses : public ::testing::TestWithParam<Refusal> {};

TEST_P(CronRefuses, WhatIsWrongInAFieldAndNamesIt) {
  const auto [expression, reason] = GetParam();
  EXPECT_THAT([&] { Cron{expression}; }, ThrowsMessage<InvalidArgumentError>(HasSubstr(reason)));
}

INSTANTIATE_TEST_SUITE_P(
    , CronRefuses,
    ::testing::Values(
        Refusal{"", "5 fields: minute, hour, day of month, month and day of week (got 0 in \"\")"},
        Refusal{"0 3 * *", "(got 4 in \"0 3 * *\")"}, Refusal{"0 0 3 * * *", "it has no seconds"},
        Refusal{"60 * * * *", "invalid minute \"60\": must be between 0 and 59"},
        Refusal{"* 24 * * *", "invalid hour \"24\": must be between 0 and 23"},
        Refusal{"* * 0 * *", "invalid day of month \"0\": must be between 1 and 31"},
        Refusal{"* * * 13 *", "invalid month \"13\": must be between 1 and 12, or a name from jan"},
        Refusal{"* * * * 8", "invalid day of week \"8\": must be between 0 and 7, or a name from"},
        Refusal{"* * * * noday", "invalid day of week \"noday\""},
        Refusal{"-1 * * * *", "invalid minute \"-1\""},
        Refusal{"1, * * * *", "invalid minute \"1,\": a value is missing"},
        Refusal{"* 22-2 * * *", "the range runs backwards; write 22-23,0-2"},
        Refusal{"5/15 * * * *", "a step needs a range; write 5-59/15"},
        Refusal{"*/0 * * * *", "the step after / must be a positive number"},
        Refusal{"*/x * * * *", "the step after / must be a positive number"},
        Refusal{"* * ? * *", "use * for \"any\""},
        Refusal{"* * * * fri#6", "the number after # must be between 1 and 5"},
        Refusal{"* L * * *", "invalid hour \"l\""}, Refusal{"0 0 30 2 *", "never occurs"},
        Refusal{"0 0 31 4,6,9,11 *", "never occurs"},
        Refusal{"@reboot", "unknown cron expression \"@reboot\" (known: @hourly"},
        Refusal{"99999999999999999999 * * * *", "invalid minute"},
        Refusal{"\x1b[2J * * * *", "invalid minute \"\\x1b[2j\""}));

TEST(Cron, AnUnknownZoneIsRefusedWithOneThatIsSimilar) {
  EXPECT_THAT([] { Cron("@daily", "Europe/Berln"); },
              ThrowsMessage<InvalidArgumentError>(
                  "unknown time zone \"Europe/Berln\"; did you mean Europe/Berlin?"));
  for (const auto* const zone : {"", "../../etc/passwd", "Nowhere/At_All_In_The_World"}) {
    EXPECT_THAT([&] { Cron("@daily", zone); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr("unknown time zone")));
  }
}

TEST(Cron, ShowsATimeWithItsOffset) {
  const Cron berlin{"@daily", "Europe/Berlin"};
  EXPECT_EQ(berlin.local_text(at(2026, 7, 1, 1h)), "2026-07-01T03:00:00+02:00");
  EXPECT_EQ(Cron("@daily", "America/St_Johns").local_text(at(2026, 1, 1)),
            "2025-12-31T20:30:00-03:30");
  EXPECT_EQ(Cron{"@daily"}.local_text(at(2026, 1, 1)), "2026-01-01T00:00:00+00:00");
}

TEST(Cron, ComparesAndPrintsWhatItWasGiven) {
  const Cron cron{" 0  3 * *\tMON ", "Europe/Berlin"};
  EXPECT_EQ(cron, Cron("0 3 * * MON", "Europe/Berlin"));
  EXPECT_NE(cron, Cron("0 3 * * MON"));
  std::ostringstream out;
  out << cron;
  EXPECT_EQ(out.str(), "0 3 * * MON in Europe/Berlin");
}

}  // namespace
}  // namespace simba
