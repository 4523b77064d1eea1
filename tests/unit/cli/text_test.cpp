// What the command shows: names, tables, times, bounds, and where a configuration comes from.
#include <chrono>

#include <gtest/gtest.h>

#include "cli/common_options.hpp"
#include "cli/errors.hpp"
#include "cli/output/mutex_entry.hpp"
#include "cli/output/printable.hpp"
#include "cli/output/times.hpp"

namespace simba::cli {
namespace {

using namespace std::chrono_literals;

TEST(CliTable, CountsCharactersNotBytes) {
  EXPECT_EQ(width("Löwe"), 4U);
  EXPECT_EQ(padded("ö", 3), "ö  ");
}

TEST(CliTable, MakesColumnsAsWideAsTheirWidestCell) {
  const Output plain{Output::Form::json};  // has no colours
  EXPECT_EQ(to_table({{.mutex = "a wide name", .owner_id = "ann", .fencing_token = 7}, {"b"}},
                     Palette{plain}),
            "MUTEX        OWNER  SINCE  LEFT     TOKEN\n"
            "a wide name  ann    -      session  7\n"
            "b            free   -      -        -");
}

TEST(CliEntry, TellsALeaseFromASession) {
  engine::MutexEntry entry{.mutex = "m", .owner_id = "ann", .fencing_token = 7, .left = 1500ms};
  EXPECT_EQ(to_json(entry).at("left_ms"), 1500);
  EXPECT_EQ(to_json(entry).at("session"), false);
  entry.left.reset();
  EXPECT_TRUE(to_json(entry).at("left_ms").is_null());
  EXPECT_EQ(to_json(entry).at("session"), true);
}

TEST(CliEntry, SaysNothingOfASinceThatIsNotKnown) {
  EXPECT_TRUE(to_json({.mutex = "m", .owner_id = "jvm"}).at("since").is_null());
  EXPECT_TRUE(to_json({.mutex = "m", .acquired_at = StoreTime{5s}}).at("since").is_null());
}

TEST(Moments, OfAStoreAreShownInUtc) {
  EXPECT_EQ(to_utc(shown(StoreTime{1'700'000'000'123ms})), "2023-11-14T22:13:20.123Z");
}

TEST(Moments, ThatMakeNoSenseAreShownAsTheNearestThatDo) {
  EXPECT_EQ(to_utc(shown(StoreTime::max())), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(to_utc(shown(StoreTime::min())), "1970-01-01T00:00:00.000Z");
}

TEST(CliDuration, ReadsTheFormsThatTheConfigurationKnows) {
  EXPECT_EQ(parse_duration("500ms", "--x"), 500ms);
  EXPECT_EQ(parse_duration("10s", "--x"), 10s);
  EXPECT_EQ(parse_duration("2m", "--x"), 2min);
  EXPECT_EQ(parse_duration("1h", "--x"), 1h);
  EXPECT_EQ(parse_duration("0", "--x"), 0ms);
}

TEST(CliDuration, RefusesEverythingElseAndNamesTheOption) {
  for (const auto* text : {"", "s", "-1s", "1.5s", "1 s", "5x", "10ss", "9223372036854775807h",
                           "99999999999999999999", "+1s", "250"}) {
    try {
      parse_duration(text, "--every");
      ADD_FAILURE() << text;
    } catch (const UsageError& e) {
      EXPECT_NE(std::string{e.what()}.find("--every: \"" + std::string{text} + "\""),
                std::string::npos);
    }
  }
}

TEST(CliDuration, IsShownInAUnitThatPeopleRead) {
  EXPECT_EQ(to_text(900ms), "900 ms");
  EXPECT_EQ(to_text(1500ms), "1.5 s");
  EXPECT_EQ(to_text(5s), "5 s");
  EXPECT_EQ(to_text(3min), "3 min");
}

TEST(CliBound, IsNeverLessThanItIs) {
  EXPECT_EQ(at_most(19'381ms), "at most 19.4 s");
  EXPECT_EQ(at_most(1'500'001ns), "at most 2 ms");
  EXPECT_EQ(at_most(119'950ms), "at most 2 min");
  EXPECT_EQ(at_most(150s), "at most 3 min");
}

TEST(CliClockOffset, IsCountedFromTheMiddleOfTheRoundTrip) {
  const WallTime asked{1'000'000ms};
  const auto clock = clock_offset(StoreTime{1'000'110ms}, asked, asked + 20ms);
  EXPECT_EQ(clock.offset, 100ms);
  EXPECT_EQ(clock.error, 11ms);
}

TEST(CliOrigin, FollowsTheOrderInWhichAStoreIsNamed) {
  const config::Environment named{{{"SIMBA_BACKEND", "redis://h"}, {"SIMBA_REDIS_TTL", "5s"}}};
  CommonOptions options;
  EXPECT_EQ(options.named_by({}), "default, because no store is configured");
  EXPECT_EQ(options.named_by(config::Environment{{{"SIMBA_REDIS_URL", "redis://h"}}}),
            "environment variables");
  EXPECT_EQ(options.named_by(named), "variable SIMBA_BACKEND");
  options.config = "simba.yaml";
  EXPECT_EQ(options.named_by({}), "file simba.yaml");
  EXPECT_EQ(options.named_by(named), "variable SIMBA_BACKEND, which overrides file simba.yaml");
  options.store = "redis";
  EXPECT_EQ(options.named_by(named), "option --store, in file simba.yaml");
  options.backend = "redis://h";
  EXPECT_EQ(options.named_by(named), "option --backend");
}

}  // namespace
}  // namespace simba::cli
