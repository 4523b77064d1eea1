#include "core/text.hpp"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace simba::detail {
namespace {

using namespace std::string_view_literals;

TEST(Printable, LeavesLettersOfAllLanguagesAsTheyAre) {
  for (const std::string_view text :
       {"", "order lock", "Löwe §", "订单锁", "🔒", "אבג", "C:\\new", "\u00a0\u200b\u2060"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, EscapesWhatSteersATerminalOrEndsALine) {
  EXPECT_EQ(printable("a\033[31mb\r\n\t\x7f"), R"(a\x1b[31mb\x0d\x0a\x09\x7f)");
  EXPECT_EQ(printable("a\0b"sv), R"(a\x00b)");
  EXPECT_EQ(printable("\u0080\u0085\u009b\u009f"), R"(\u{80}\u{85}\u{9b}\u{9f})");
  EXPECT_EQ(printable("\u2028\u2029"), R"(\u{2028}\u{2029})");
}

TEST(Printable, EscapesAC1ControlThatIsOneByte) {
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            R"(\x9b31m)");
  EXPECT_EQ(printable("\x84\x85\x9d"), R"(\x84\x85\x9d)");
}

TEST(Printable, EscapesWhatChangesTheDirectionOfText) {
  EXPECT_EQ(printable("\u202a\u202b\u202c\u202d\u202e"),
            R"(\u{202a}\u{202b}\u{202c}\u{202d}\u{202e})");
  EXPECT_EQ(printable("\u2066\u2067\u2068\u2069"), R"(\u{2066}\u{2067}\u{2068}\u{2069})");
  EXPECT_EQ(printable("\u200e\u200f\u061c"), R"(\u{200e}\u{200f}\u{61c})");
}

TEST(Printable, EscapesEachByteThatIsNotUtf8) {
  EXPECT_EQ(printable("a\xff\xc3(\xe2\x80"), R"(a\xff\xc3(\xe2\x80)");
  EXPECT_EQ(printable("\xc0\x9b\xed\xa0\x80"), R"(\xc0\x9b\xed\xa0\x80)");  // overlong, surrogate
}

TEST(Printable, OfWhatWasPrintedChangesNothing) {
  const std::string once = printable("\x1b\u202e\xff\\x41");
  EXPECT_EQ(printable(once), once);
}

TEST(Excerpt, CutsBetweenCharactersAndEscapes) {
  const std::string longest(200, 'x');
  EXPECT_EQ(excerpt(longest), longest);
  EXPECT_EQ(excerpt(longest + "y"), longest + "...");
  EXPECT_EQ(excerpt("abc\x1b", 6), "abc...");
  EXPECT_EQ(excerpt("abcd订", 6), "abcd...");
  EXPECT_EQ(excerpt("abc\x1b", 7), R"(abc\x1b)");
  EXPECT_EQ(excerpt("", 0), "");
  EXPECT_EQ(excerpt("a", 0), "...");
}

TEST(PercentEncoded, KeepsWhatHasNoMeaningInAUrl) {
  EXPECT_EQ(percent_encoded("aZ9-._~"), "aZ9-._~");
  EXPECT_EQ(percent_encoded("a b/ö"), "a%20b%2F%C3%B6");
  EXPECT_EQ(percent_encoded("/tmp/x=y", "/-._~"), "/tmp/x%3Dy");
}

TEST(HostText, PutsAnIpv6AddressInBrackets) {
  EXPECT_EQ(host_text("db", 6379), "db:6379");
  EXPECT_EQ(host_text("127.0.0.1", 1), "127.0.0.1:1");
  EXPECT_EQ(host_text("::1", 65535), "[::1]:65535");
  EXPECT_EQ(host_text("::1"), "[::1]");
}

TEST(ParseNumber, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_number<std::uint16_t>("65535"), 65535);
  EXPECT_EQ(parse_number<int>("-7"), -7);
  for (const std::string_view text : {"", " 1", "1 ", "+1", "1x", "65536", "-1", "0x1"}) {
    EXPECT_EQ(parse_number<std::uint16_t>(text), std::nullopt) << text;
  }
}

TEST(ParseVersion, ReadsUpToThreeNumbers) {
  EXPECT_EQ(parse_version("10.11.19-MariaDB"), (std::array{10U, 11U, 19U}));
  EXPECT_EQ(parse_version("9.7-rc1"), (std::array{9U, 7U, 0U}));
  EXPECT_EQ(parse_version("5"), (std::array{5U, 0U, 0U}));
  EXPECT_EQ(parse_version("3."), (std::array{3U, 0U, 0U}));
  EXPECT_EQ(parse_version("unknown"), (std::array{0U, 0U, 0U}));
}

TEST(EditDistance, CountsTheLettersThatDiffer) {
  EXPECT_EQ(edit_distance("ttl", "ttl"), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("tll", "ttl"), 1U);
  EXPECT_EQ(edit_distance("reids", "redis"), 1U);  // two are swapped
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Fnv1a, IsThatOfItsAuthors) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325U);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8U);
  EXPECT_EQ(fnv1a("bar", fnv1a("foo")), fnv1a("foobar"));
}

}  // namespace
}  // namespace simba::detail
