#include "redis/protocol/resp_reader.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"

namespace simba::redis {
namespace {

using namespace std::string_view_literals;
using testing::HasSubstr;

Reply text(Reply::Type type, std::string_view value) { return {type, std::string{value}}; }
Reply string(std::string_view value) { return text(Reply::Type::string, value); }
Reply integer(std::int64_t value) { return {Reply::Type::integer, {}, value}; }
Reply array(std::vector<Reply> elements) {
  return {Reply::Type::array, {}, 0, std::move(elements)};
}

std::vector<Reply> all_of(RespReader& reader) {
  std::vector<Reply> replies;
  while (auto reply = reader.next()) replies.push_back(std::move(*reply));
  return replies;
}

std::vector<Reply> read(std::string_view bytes) {
  RespReader reader;
  reader.feed(bytes);
  return all_of(reader);
}

/// What the reader says of bytes that it must refuse.
std::string refusal(std::string_view bytes, const RespLimits& limits = {}) {
  RespReader reader{limits};
  reader.feed(bytes);
  try {
    all_of(reader);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    return error.what();
  }
  return "it was accepted";
}

TEST(RespReader, GivesEachTypeOfReply) {
  EXPECT_EQ(read("+OK\r\n"), std::vector{text(Reply::Type::status, "OK")});
  EXPECT_EQ(read("-ERR no\r\n"), std::vector{text(Reply::Type::error, "ERR no")});
  EXPECT_EQ(read(":42\r\n"), std::vector{integer(42)});
  EXPECT_EQ(read(":-9223372036854775808\r\n"),
            std::vector{integer(std::numeric_limits<std::int64_t>::min())});
  EXPECT_EQ(read("$3\r\na\0b\r\n"sv), std::vector{string("a\0b"sv)});
  EXPECT_EQ(read("$0\r\n\r\n"), std::vector{string("")});
  EXPECT_EQ(read("$-1\r\n"), std::vector{Reply{}});
  EXPECT_EQ(read("*-1\r\n"), std::vector{Reply{}});
  EXPECT_EQ(read("*0\r\n"), std::vector{array({})});
}

TEST(RespReader, GivesNestedArrays) {
  EXPECT_EQ(read("*3\r\n*2\r\n:1\r\n*1\r\n$1\r\na\r\n*0\r\n$-1\r\n"),
            (std::vector{array({array({integer(1), array({string("a")})}), array({}), Reply{}})}));
}

TEST(RespReader, GivesEveryElementOfALongArray) {
  std::string bytes = "*1000\r\n";
  std::vector<Reply> expected;
  for (int i = 0; i < 1'000; ++i) {
    bytes += fmt::format("*2\r\n:{}\r\n$1\r\nx\r\n", i);
    expected.push_back(array({integer(i), string("x")}));
  }
  EXPECT_EQ(read(bytes), std::vector{array(expected)});
}

TEST(RespReader, GivesRepliesThatCameTogetherOneByOne) {
  RespReader reader;
  reader.feed("+a\r\n:1\r\n$1\r\nb\r\n");
  EXPECT_EQ(reader.next(), text(Reply::Type::status, "a"));
  EXPECT_EQ(reader.next(), integer(1));
  EXPECT_EQ(reader.next(), string("b"));
  EXPECT_EQ(reader.next(), std::nullopt);
}

TEST(RespReader, GivesAReplyThatCameInPieces) {
  constexpr std::string_view bytes = "*2\r\n$5\r\nhello\r\n*1\r\n:12\r\n+OK\r\n";
  RespReader reader;
  std::vector<Reply> replies;
  for (const char byte : bytes) {
    reader.feed({&byte, 1});
    for (auto& reply : all_of(reader)) replies.push_back(std::move(reply));
  }
  EXPECT_EQ(replies, read(bytes));
  EXPECT_EQ(replies.size(), 2U);
}

TEST(RespReader, GivesNothingBeforeAnythingCame) {
  RespReader reader;
  EXPECT_EQ(reader.next(), std::nullopt);
  reader.feed("");
  EXPECT_EQ(reader.next(), std::nullopt);
}

TEST(RespReader, RefusesWhatIsNoResp2) {
  for (const std::string_view bytes :
       {"HTTP/1.1 400\r\n"sv, "\r\n"sv, "\0"sv, ":x\r\n"sv, ":\r\n"sv,
        ":99999999999999999999\r\n"sv, "$x\r\n"sv, "*x\r\n"sv, "%1\r\n"sv, "#t\r\n"sv, ",1.5\r\n"sv,
        "_\r\n"sv, "(1\r\n"sv, "~1\r\n"sv, ">1\r\n"sv, "=5\r\ntxt:a\r\n"sv, "*2\r\n#t\r\n:1\r\n"sv,
        "*2\r\n,1.5\r\n:1\r\n"sv, "\x15\x03\x01"sv}) {
    EXPECT_THAT(refusal(bytes), HasSubstr("invalid RESP reply: ")) << bytes;
  }
}

TEST(RespReader, RefusesAStringThatDoesNotEndWhereTheServerSaid) {
  EXPECT_THAT(refusal("$3\r\nabcd\r\n"), HasSubstr("longer than announced"));
  EXPECT_THAT(refusal("*1\r\n$3\r\nabc\r+"), HasSubstr("longer than announced"));
}

TEST(RespReader, RefusesLengthsThatAreNegativeOrHuge) {
  for (const std::string_view bytes :
       {"*-2\r\n"sv, "$-2\r\n"sv, "*2147483647\r\n"sv, "*2147483648\r\n"sv,
        "*9223372036854775807\r\n"sv, "*18446744073709551615\r\n"sv, "$18446744073709551616\r\n"sv,
        "*-9223372036854775808\r\n"sv}) {
    EXPECT_THAT(refusal(bytes), HasSubstr("invalid RESP reply: ")) << bytes;
  }
}

TEST(RespReader, AHugeStringThatIsOnlyAnnouncedIsWaitedForUpToTheLimit) {
  for (const char* header : {"$2147483647\r\n", "$9223372036854775807\r\n"}) {
    RespReader reader{{.bytes = 100'000}};
    reader.feed(header);
    EXPECT_EQ(reader.next(), std::nullopt);
    reader.feed(std::string(99'000, 'x'));
    EXPECT_EQ(reader.next(), std::nullopt);
    reader.feed(std::string(1'000, 'x'));
    EXPECT_THROW(reader.next(), Error) << header;
  }
}

TEST(RespReader, CountsTheElementsOfAllArraysOfAReply) {
  const RespLimits limits{.elements = 4};
  constexpr std::string_view fits = "*2\r\n*2\r\n:1\r\n:2\r\n:3\r\n";
  RespReader reader{limits};
  reader.feed(fits);
  reader.feed(fits);
  EXPECT_EQ(all_of(reader).size(), 2U);

  EXPECT_THAT(refusal("*5\r\n", limits), HasSubstr("more than 4 elements"));
  EXPECT_THAT(refusal("*2\r\n*2\r\n:1\r\n:2\r\n*1\r\n", limits), HasSubstr("more than 4 elements"));
}

TEST(RespReader, CountsTheBytesOfAReplyHoweverItIsCut) {
  constexpr std::string_view reply = "*2\r\n$4\r\nabcd\r\n$4\r\nefgh\r\n";  // 24 bytes
  for (const std::size_t piece : {1U, 7U, 24U, 48U}) {
    for (const std::size_t limit : {23U, 24U}) {
      RespReader reader{{.bytes = limit}};
      const auto feed_all = [&] {
        std::size_t count = 0;
        const std::string bytes = fmt::format("{0}{0}", reply);
        for (std::size_t at = 0; at < bytes.size(); at += piece) {
          reader.feed(std::string_view{bytes}.substr(at, piece));
          count += all_of(reader).size();
        }
        return count;
      };
      if (limit == 24U) {
        EXPECT_EQ(feed_all(), 2U) << piece;
      } else {
        EXPECT_THROW(feed_all(), Error) << piece;
      }
    }
  }
}

TEST(RespReader, ALineThatDoesNotEndPassesTheLimit) {
  EXPECT_THAT(refusal("+" + std::string(200, 'x'), {.bytes = 200}), HasSubstr("200 bytes"));
}

TEST(RespReader, ALineThatDoesNotEndIsRefusedLongBeforeAText) {
  const RespLimits limits{.line = 200};
  EXPECT_THAT(refusal("+" + std::string(201, 'x'), limits),
              HasSubstr("line of it is longer than 200"));
  EXPECT_THAT(refusal("*2\r\n:1\r\n-" + std::string(201, 'x'), limits), HasSubstr("line"));
  EXPECT_EQ(refusal("+" + std::string(200, 'x'), limits), "it was accepted");
  EXPECT_EQ(refusal("*2\r\n:1\r\n$1000\r\n" + std::string(999, 'x'), limits), "it was accepted");
}

TEST(RespReader, RefusesArraysThatAreNestedTooDeep) {
  const auto nested = [](std::size_t depth) {
    std::string bytes;
    for (std::size_t i = 0; i < depth; ++i) bytes += "*1\r\n";
    return bytes + ":1\r\n";
  };
  constexpr auto most = RespLimits{}.depth;
  EXPECT_EQ(read(nested(most)).size(), 1U);
  for (const std::size_t depth : {most + 1, most + 2, std::size_t{2'000}, std::size_t{100'000}}) {
    EXPECT_THAT(refusal(nested(depth)), HasSubstr("invalid RESP reply: ")) << depth;
  }
}

TEST(RespReader, GivesWhatCameBeforeAFaultAndNothingAfterIt) {
  RespReader reader;
  reader.feed("+OK\r\n!\r\n+OK\r\n");
  EXPECT_EQ(reader.next(), text(Reply::Type::status, "OK"));
  EXPECT_THROW(reader.next(), Error);
  reader.feed("+OK\r\n");
  EXPECT_THROW(reader.next(), Error);
}

TEST(RespReader, MayEndInTheMiddleOfAReply) {
  RespReader reader;
  reader.feed("*3\r\n*2\r\n$1\r\na\r\n");
  EXPECT_EQ(reader.next(), std::nullopt);
}

}  // namespace
}  // namespace simba::redis
