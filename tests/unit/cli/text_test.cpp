// What the command shows: names, tables, times, bounds, and where a configuration comes from.
#include <chrono>

#include <gtest/gtest.h>

#include "cli/common_options.hpp"
#include "cli/doctor/clock_offset.hpp"
#include "cli/terminal/duration.hpp"
#include "cli/terminal/mutex_entry.hpp"
#include "cli/terminal/printable.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/timestamps.hpp"

namespace simba::cli {
namespace {

using namespace std::chrono_literals;

TEST(CliPrintable, WritesOutWhatSteersATerminal) {
  EXPECT_EQ(printable("a\033[31mb\n\x7f"), "a\\x1b[31mb\\x0a\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");  // the same as ESC [
}

TEST(CliPrintable, LeavesLettersOfAllLanguagesAsTheyAre) {
  EXPECT_EQ(printable("Löwe \xc2\xa7"), "Löwe \xc2\xa7");
  EXPECT_EQ(width("Löwe"), 4U);
  EXPECT_EQ(padded("ö", 3), "ö  ");
}

TEST(CliTable, MakesColumnsAsWideAsTheirWidestCell) {
  const Output plain{Output::Form::json};  // has no colours
  Table table{{"A", "LONG", "C"}};
  table.add({{"wide"}, {"x"}, {"1"}});
  EXPECT_EQ(table.text(Palette{plain}), "A     LONG  C\nwide  x     1");
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

TEST(CliMoments, AreUtcForPrograms) {
  EXPECT_EQ(to_utc(WallTime{1'700'000'000'123ms}), "2023-11-14T22:13:20.123Z");
}

TEST(CliBound, IsNeverLessThanItIs) {
  EXPECT_EQ(at_most(19'381ms), "at most 19.4 s");
  EXPECT_EQ(at_most(1'500'001ns), "at most 2 ms");
  EXPECT_EQ(at_most(119'950ms), "at most 2 min");
  EXPECT_EQ(at_most(150s), "at most 3 min");
}

TEST(CliClockOffset, IsCountedFromTheMiddleOfTheRoundTrip) {
  const WallTime asked{1'000'000ms};
  TimedReport timed{.asked = asked, .answered = asked + 20ms};
  EXPECT_FALSE(clock_offset(timed));
  timed.report.server_time = StoreTime{1'000'110ms};
  const auto clock = clock_offset(timed);
  ASSERT_TRUE(clock);
  EXPECT_EQ(clock->offset, 100ms);
  EXPECT_EQ(clock->error, 11ms);
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
