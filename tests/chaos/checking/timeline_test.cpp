#include "chaos/checking/timeline.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simba::chaos {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t a_second = 1'000'000'000;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t result = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++result;
  }
  return result;
}

Ownership owns(int lane, std::uint64_t token, std::int64_t begin, std::int64_t end) {
  return {"c" + std::to_string(lane), lane, token, begin * a_second, end * a_second};
}

Evidence evidence(const std::vector<Ownership>& ownerships) {
  Evidence result{.mutex = "m"};
  for (const auto& one : ownerships) {
    result.records.push_back({.who = one.who, .lane = one.lane, .ownerships = {one}});
  }
  return result;
}

TEST(ChaosTimeline, ShowsOwnershipsWithTheirTokensAndFaultsWithTheirNames) {
  const auto page =
      timeline_page({.title = "a <store>", .begin = 0, .end = 20 * a_second, .lanes = 2},
                    {evidence({owns(0, 41, 1, 5), owns(1, 42, 6, 9)})},
                    {{.kind = "server & all killed",
                      .what = "port 1",
                      .begin = 4 * a_second,
                      .end = 6 * a_second}});
  EXPECT_EQ(count(page, "<svg"), 1U);
  EXPECT_EQ(count(page, "class=\"owner0\""), 2U);
  EXPECT_EQ(count(page, "class=\"fault\""), 1U);
  EXPECT_THAT(page, HasSubstr("token 41"));
  EXPECT_THAT(page, HasSubstr("server &amp; all killed"));
  EXPECT_THAT(page, HasSubstr("a &lt;store>"));
  EXPECT_THAT(page, Not(HasSubstr("class=\"wrong\"")));
  EXPECT_THAT(page, Not(HasSubstr("http"))) << "nothing is loaded from elsewhere";
}

TEST(ChaosTimeline, MarksTwoOwners) {
  const auto page = timeline_page({.title = "s", .begin = 0, .end = 20 * a_second, .lanes = 2},
                                  {evidence({owns(0, 1, 1, 5), owns(1, 2, 4, 9)})}, {});
  EXPECT_EQ(count(page, "class=\"wrong\""), 1U);
  EXPECT_THAT(page, HasSubstr("two owners: c0 token 1"));
}

TEST(ChaosTimeline, ShowsALongRoundInStrips) {
  const auto page = timeline_page({.title = "s", .begin = 0, .end = 600 * a_second, .lanes = 2},
                                  {evidence({owns(0, 1, 25, 35)})}, {});
  EXPECT_EQ(count(page, "<svg"), 20U);
  EXPECT_EQ(count(page, "class=\"owner0\""), 2U) << "in each strip that it reaches into";
}

}  // namespace
}  // namespace simba::chaos
