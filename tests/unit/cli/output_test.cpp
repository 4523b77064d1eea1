#include "cli/output/output.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "core/text.hpp"

namespace simba::cli {
namespace {

std::string line_with(std::string_view name) { return to_line({{"mutex", std::string{name}}}); }

// The attack: names that steer a terminal, forge a line or reverse its direction, in --json.
TEST(CliJsonLine, EscapesWhatSteersATerminal) {
  using Case = std::pair<std::string_view, std::string_view>;
  for (const auto& [name, escaped] : std::array<Case, 9>{{
           {"red\033[31m", R"(red\u001b[31m)"},
           {"\a\b\x7f", R"(\u0007\b\u007f)"},
           {"one\ntwo\r", R"(one\ntwo\r)"},
           {"\xc2\x9b"
            "31m",
            R"(\u009b31m)"},                       // the same as ESC [, in one character
           {"\u202egnp.exe", R"(\u202egnp.exe)"},  // right to left from here on
           {"\u2066isolated\u2069", R"(\u2066isolated\u2069)"},
           {"\u2028\u2029", R"(\u2028\u2029)"},
           {"\u200f\u061c", R"(\u200f\u061c)"},
           {"\xc2\x85", R"(\u0085)"},
       }}) {
    const std::string line = line_with(name);
    EXPECT_EQ(line, "{\"mutex\":\"" + std::string{escaped} + "\"}");
    EXPECT_EQ(detail::printable(line), line);
    EXPECT_EQ(Json::parse(line).at("mutex"), name) << "what is escaped is not changed";
  }
}

TEST(CliJsonLine, ReplacesBytesThatAreNotUtf8) {
  for (const std::string_view bytes : {"\x9b", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    const std::string line = line_with("a" + std::string{bytes} + "31m");
    EXPECT_EQ(detail::printable(line), line);
    const std::string read = Json::parse(line).at("mutex");
    EXPECT_TRUE(read.starts_with("a\uFFFD") && read.ends_with("31m")) << line;
  }
}

TEST(CliJsonLine, LeavesOrdinaryTextReadable) {
  EXPECT_EQ(line_with("Löwe 🦁"), R"({"mutex":"Löwe 🦁"})");
}

}  // namespace
}  // namespace simba::cli
