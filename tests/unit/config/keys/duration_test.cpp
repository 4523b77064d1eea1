#include "simba/config/duration.hpp"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/config/refusal.hpp"

namespace simba::config {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

std::string refusal_of_duration(std::string_view text) {
  return refusal_of([&] { parse_duration(text); });
}

TEST(Duration, HasAUnit) {
  EXPECT_EQ(parse_duration("500ms"), 500ms);
  EXPECT_EQ(parse_duration("10s"), 10s);
  EXPECT_EQ(parse_duration("2m"), 2min);
  EXPECT_EQ(parse_duration("1h"), 1h);
  EXPECT_EQ(parse_duration("0"), 0ms);
  EXPECT_EQ(parse_duration("007s"), 7s);
}

TEST(Duration, AsksForTheUnitThatIsMissing) {
  EXPECT_EQ(refusal_of_duration("5"), "\"5\" has no unit: did you mean 5s or 5ms?");
  EXPECT_EQ(refusal_of_duration("1500"), "\"1500\" has no unit: did you mean 1500s or 1500ms?");
  EXPECT_EQ(refusal_of([] { parse_signed_duration("-5"); }),
            "\"-5\" has no unit: did you mean -5s or -5ms?");
}

TEST(Duration, IsInMillisecondsWithoutAUnitWhereThatIsAsked) {
  EXPECT_EQ(parse_duration("1500", WithoutUnit::milliseconds), 1500ms);
  EXPECT_EQ(parse_duration("2s", WithoutUnit::milliseconds), 2s);
  EXPECT_EQ(parse_signed_duration("-5", WithoutUnit::milliseconds), -5ms);
}

TEST(Duration, HasAUnitInUrlsAndVariablesButNeedNotInFiles) {
  EXPECT_EQ(from_yaml("simba: {redis: {ttl: 5000, margin: 100, jitter-low: -5}}").plan().ttl, 5s);
  EXPECT_THAT(refusal_of_yaml("simba: {redis: {url: 'redis://h?ttl=5'}}"),
              HasSubstr("simba.redis.url: redis://h: parameter \"ttl\": \"5\" has no unit: did you "
                        "mean 5s or 5ms?"));
  EXPECT_THAT(refusal_of_url("redis://h?ttl=5"), HasSubstr("parameter \"ttl\": \"5\" has no unit"));
  EXPECT_THAT(refusal_of_url("redis://h", Environment{{{"SIMBA_REDIS_TTL", "5000"}}}),
              HasSubstr("variable SIMBA_REDIS_TTL: \"5000\" has no unit"));
  EXPECT_THAT(refusal_of([] { Configuration::from_url("redis://h").set("ttl", "5", "--ttl"); }),
              HasSubstr("--ttl: \"5\" has no unit"));
  EXPECT_EQ(refusal_of_url("redis://h?initial-delay=0&renew-grid=0"), "");
}

TEST(Duration, RefusesEverythingElseAndSaysWhatIsAllowed) {
  for (const auto* const text :
       {"", " ", "s", "ms", "1.5s", "1,5s", "1 s", " 1s", "1s ", "10S", "10sec", "1d", "1us",
        "PT10S", "+1s", "0x10", "1s2", "1e3", "--1"}) {
    EXPECT_THAT(refusal_of_duration(text),
                AllOf(HasSubstr(std::string{"\""} + text + "\""), HasSubstr("500ms, 10s, 2m, 1h")))
        << text;
  }
}

TEST(Duration, RefusesWhatIsNegative) {
  EXPECT_THAT(refusal_of_duration("-1s"), HasSubstr("\"-1s\" is negative"));
}

TEST(Duration, RefusesWhatDoesNotFit) {
  EXPECT_THAT(refusal_of_duration("9223372036854775808"), HasSubstr("too long"));
  EXPECT_THAT(refusal_of_duration("9223372036854775807s"), HasSubstr("too long"));
  EXPECT_THAT(refusal_of_duration("2562047788016h"), HasSubstr("too long"));
  EXPECT_THAT(refusal_of_duration("2305843009214ms"), HasSubstr("too long"))
      << "a quarter of what nanoseconds can count";
  EXPECT_EQ(parse_duration("2305843009213ms").count(), 2305843009213);
}

TEST(Duration, MayBeNegativeWhereThatHasAMeaning) {
  EXPECT_EQ(parse_signed_duration("-200ms"), -200ms);
  EXPECT_EQ(parse_signed_duration("1s"), 1s);
  EXPECT_THAT(refusal_of([] { parse_signed_duration("--1s"); }), HasSubstr("\"--1s\""));
}

TEST(Duration, IsWrittenAsItIsRead) {
  for (const auto span : {0ms, 1ms, 999ms, 1000ms, 1500ms, 60000ms, 90000ms, 3600000ms, -200ms}) {
    EXPECT_EQ(parse_signed_duration(to_text(span)), span);
  }
  EXPECT_EQ(to_text(2min), "2m");
  EXPECT_EQ(to_text(1500ms), "1500ms");
}

}  // namespace
}  // namespace simba::config
