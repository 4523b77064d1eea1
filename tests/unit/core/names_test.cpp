#include "simba/core/names.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"

namespace simba {
namespace {

using namespace std::string_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string refusal(std::string_view value, std::size_t limit = 66) {
  try {
    check_name("mutex name", value, limit);
  } catch (const InvalidArgumentError& error) {
    return error.what();
  }
  return "accepted";
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(CheckName, AcceptsSpacesQuotesBracesAndUnicode) {
  for (const auto* name : {"order lock", "'\"`;--", "{a}%s\\", "Zürich", "订单锁", "🔒", "a\nb",
                           "\xED\x9F\xBF", "\xEE\x80\x80", "\xF4\x8F\xBF\xBF", "\xC2\x80"}) {
    EXPECT_EQ(refusal(name), "accepted") << name;
  }
}

TEST(CheckName, CountsCharactersNotBytes) {
  EXPECT_EQ(refusal(repeated("锁", 66)), "accepted");
  EXPECT_THAT(refusal(repeated("锁", 67)), HasSubstr("67 characters, at most 66 allowed"));
  EXPECT_EQ(refusal(repeated("🔒", 3), 3), "accepted");
  EXPECT_THAT(refusal("abcd", 3), HasSubstr("4 characters, at most 3 allowed"));
}

TEST(CheckName, RefusesWhatIsBlank) {
  for (const auto* name : {"", " ", "\t\n\v\f\r", "\u0085", "\u00A0", "\u1680", "\u2000", "\u200A ",
                           "\u2028", "\u2029", "\u202F", "\u205F", "\u3000"}) {
    EXPECT_THAT(refusal(name), HasSubstr("must not be blank")) << name;
  }
  EXPECT_EQ(refusal("\u200B"), "accepted") << "has no width, but is no white space";
}

TEST(CheckName, RefusesNul) {
  EXPECT_THAT(refusal("ab\0cd"s),
              AllOf(HasSubstr("NUL"), HasSubstr("at byte 2"), HasSubstr("ab\\x00cd")));
}

TEST(CheckName, RefusesWhatIsNotWellFormedUtf8) {
  const std::vector<std::string> bad{
      "\x80",              // a continuation alone
      "\xC3",              // cut short
      "\xC3(",             // no continuation
      "\xE2\x82",          // cut short
      "\xF0\x9F\x94",      // cut short
      "\xC0\xAF",          // overlong
      "\xC1\xBF",          // overlong
      "\xE0\x9F\xBF",      // overlong
      "\xF0\x8F\xBF\xBF",  // overlong
      "\xED\xA0\x80",      // surrogate
      "\xED\xBF\xBF",      // surrogate
      "\xF4\x90\x80\x80",  // above U+10FFFF
      "\xF5\x80\x80\x80",  // above U+10FFFF
      "\xF8\x88\x80\x80\x80",
      "\xFF",
  };
  for (const auto& name : bad) {
    EXPECT_THAT(refusal("ab" + name), AllOf(HasSubstr("not valid UTF-8"), HasSubstr("at byte 2")));
  }
}

TEST(CheckName, NamesWhatIsWrongWithoutPrintingALongValueWhole) {
  const auto message = refusal(std::string(100'000, 'x'));
  EXPECT_THAT(message, HasSubstr("mutex name \"" + std::string(80, 'x') + "...\""));
  EXPECT_THAT(message, HasSubstr("100000"));
  EXPECT_LT(message.size(), 200U);
}

TEST(CheckName, EscapesWhatWouldSpoilALogLine) {
  const auto message = refusal("a\n\x1b[31m\u2028\x7F\xFF");
  EXPECT_THAT(message, HasSubstr(R"("a\x0a\x1b[31m\u{2028}\x7f\xff")"));
  EXPECT_THAT(message, Not(HasSubstr("\n")));
}

TEST(CheckNotBlank, AcceptsAnythingThatIsNotBlank) {
  EXPECT_NO_THROW(check_not_blank("contender id", " a"));
  EXPECT_NO_THROW(check_not_blank("contender id", "\xFF"));
  EXPECT_THROW(check_not_blank("contender id", " "), InvalidArgumentError);
}

}  // namespace
}  // namespace simba
