#include "redis/protocol/message.hpp"

#include <string>
#include <string_view>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/protocol/resp_reader.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;
using testing::HasSubstr;

Message message(std::string_view bytes) {
  RespReader reader;
  reader.feed(bytes);
  return parse_message(reader.next().value());
}

/// What is logged of it.
template <typename Variant>
std::string unknown(const Variant& value) {
  const auto* const found = std::get_if<Unknown>(&value);
  return found == nullptr ? "it was understood" : found->what;
}

TEST(RedisMessage, AConfirmationNamesTheChannel) {
  const auto subscribed = message("*3\r\n$9\r\nsubscribe\r\n$9\r\nsimba:{m}\r\n:1\r\n");
  EXPECT_EQ(std::get<Subscribed>(subscribed).channel, "simba:{m}");
  const auto unsubscribed = message("*3\r\n$11\r\nunsubscribe\r\n$9\r\nsimba:{m}\r\n:0\r\n");
  EXPECT_EQ(std::get<Unsubscribed>(unsubscribed).channel, "simba:{m}");
}

TEST(RedisMessage, UnsubscribingFromNothingHasNoChannel) {
  const auto unsubscribed = message("*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n");
  EXPECT_EQ(std::get<Unsubscribed>(unsubscribed).channel, "");
}

TEST(RedisMessage, APublishedMessageHasChannelAndPayload) {
  const auto published =
      std::get<Published>(message("*3\r\n$7\r\nmessage\r\n$9\r\nsimba:{m}\r\n$3\r\na\0b\r\n"sv));
  EXPECT_EQ(published.channel, "simba:{m}");
  EXPECT_EQ(published.payload, "a\0b"sv);
}

TEST(RedisMessage, APongIsKnownBeforeAndAfterTheFirstSubscription) {
  EXPECT_TRUE(std::holds_alternative<Pong>(message("+PONG\r\n")));
  EXPECT_TRUE(std::holds_alternative<Pong>(message("*2\r\n$4\r\npong\r\n$0\r\n\r\n")));
}

TEST(RedisMessage, AnythingElseIsUnknownAndSaysWhatItWas) {
  EXPECT_THAT(unknown(message("+OK\r\n")), HasSubstr("a status: OK"));
  EXPECT_THAT(unknown(message("-NOPERM n\to\r\n")), HasSubstr("an error: NOPERM n\\x09o"));
  EXPECT_EQ(unknown(message(":1\r\n")), "an integer");
  EXPECT_EQ(unknown(message("$-1\r\n")), "nil");
  EXPECT_EQ(unknown(message("*0\r\n")), "an array of 0");
  EXPECT_EQ(unknown(message("*1\r\n:1\r\n")), "an array of 1");
  EXPECT_EQ(unknown(message("*2\r\n$2\r\na\x1b\r\n$1\r\nb\r\n")),
            "an array of 2 that begins with \"a\\x1b\"");
}

TEST(RedisMessage, AMessageOfAWrongShapeIsUnknown) {
  for (const std::string_view bytes : {
           "*2\r\n$7\r\nmessage\r\n$1\r\nc\r\n"sv,
           "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n:1\r\n"sv,
           "*3\r\n$7\r\nmessage\r\n$-1\r\n$1\r\np\r\n"sv,
           "*4\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\np\r\n$1\r\nq\r\n"sv,
           "*3\r\n$9\r\nsubscribe\r\n$-1\r\n:1\r\n"sv,
           "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n$1\r\n1\r\n"sv,
           "*3\r\n$8\r\npmessage\r\n$1\r\nc\r\n$1\r\np\r\n"sv,
           "*3\r\n$4\r\npong\r\n$0\r\n\r\n$0\r\n\r\n"sv,
       }) {
    EXPECT_THAT(unknown(message(bytes)), HasSubstr("an array of")) << bytes;
  }
}

TEST(RedisPayload, AnEventNamesAContender) {
  EXPECT_EQ(std::get<Acquired>(parse_payload("acquired@@0:42@10.0.0.5")).owner_id, "0:42@10.0.0.5");
  EXPECT_EQ(std::get<Released>(parse_payload("released@@löwe")).previous_owner_id, "löwe");
  EXPECT_EQ(std::get<Released>(parse_payload("released@@a@@b")).previous_owner_id, "a@@b");
}

TEST(RedisPayload, AnEventWithoutAValidContenderIsUnknown) {
  for (const std::string_view payload :
       {"acquired@@"sv, "released@@ "sv, "acquired@@a\0b"sv, "acquired@@\xff\xfe"sv}) {
    EXPECT_THAT(unknown(parse_payload(payload)), HasSubstr("contender id")) << payload;
  }
  EXPECT_THAT(unknown(parse_payload("acquired@@" + std::string(100'000, 'x'))),
              HasSubstr("contender id"));
}

TEST(RedisPayload, AGrantHasASecretAndFourNumbers) {
  const std::string secret = "0123456789012345678901234567890123456789";
  const auto grant = std::get<Grant>(
      parse_payload("granted " + secret + " 18446744073709551615 10000 6000 1700000000123"));
  EXPECT_EQ(grant.secret, secret);
  EXPECT_EQ(grant.token, 18'446'744'073'709'551'615U);
  EXPECT_EQ(grant.ttl, 10s);
  EXPECT_EQ(grant.transition, 6s);
  EXPECT_EQ(grant.at.time_since_epoch(), 1'700'000'000'123ms);

  const auto least = std::get<Grant>(parse_payload("granted " + secret + " 1 1 0 0"));
  EXPECT_EQ(least.transition, 0ms);
  const auto longest =
      std::get<Grant>(parse_payload("granted " + secret + " 1 31536000000 31536000000 5"));
  EXPECT_EQ(longest.ttl, std::chrono::days{365});
}

TEST(RedisPayload, AGrantWithoutAnythingLikeASecretIsUnknown) {
  const std::string secret = "0123456789012345678901234567890123456789";
  for (const std::string& word :
       {std::string{}, std::string{"1"}, secret + "0", secret.substr(1), "-" + secret.substr(1),
        "a" + secret.substr(1), " " + secret, std::string(1'000'000, '1')}) {
    EXPECT_THAT(unknown(parse_payload("granted " + word + " 2 3 4 5")),
                HasSubstr("a malformed grant"))
        << word.substr(0, 50);
  }
}

TEST(RedisPayload, AGrantOutOfBoundsIsUnknown) {
  EXPECT_THAT(unknown(parse_payload("granted ")), HasSubstr("a malformed grant"));
  const std::string begin = "granted 0123456789012345678901234567890123456789";
  for (const std::string_view rest :
       {""sv, " 2 3 4"sv, " 2 3 4 5 "sv, " 2 3 4 5 6"sv, "  2 3 4 5"sv, " 0 3 4 5"sv, " 2 0 4 5"sv,
        " -2 3 4 5"sv, " +2 3 4 5"sv, " 2 3 -4 5"sv, " 2 3 4 5x"sv, " 0x2 3 4 5"sv,
        " 18446744073709551616 3 4 5"sv, " 2 31536000001 4 5"sv, " 2 3 31536000001 5"sv,
        " 2 3 4 253402300800001"sv, " 2 3 4 5\0"sv}) {
    EXPECT_THAT(unknown(parse_payload(begin + std::string{rest})), HasSubstr("a malformed grant"))
        << rest;
  }
}

TEST(RedisPayload, AnythingElseIsUnknownAndShownWithoutHarm) {
  EXPECT_EQ(unknown(parse_payload("")), "an unknown event: ");
  EXPECT_EQ(unknown(parse_payload("acquired@x")), "an unknown event: acquired@x");
  EXPECT_EQ(unknown(parse_payload("ACQUIRED@@x")), "an unknown event: ACQUIRED@@x");
  EXPECT_EQ(unknown(parse_payload("\x1b[2J\n")), "an unknown event: \\x1b[2J\\x0a");
  EXPECT_LT(unknown(parse_payload(std::string(1'000'000, 'x'))).size(), 300U);
}

}  // namespace
}  // namespace simba::redis
