#include "cli/terminal/duration.hpp"

#include <gtest/gtest.h>

#include "cli/errors.hpp"

namespace simba::cli {
namespace {

using namespace std::chrono_literals;

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

}  // namespace
}  // namespace simba::cli
