#include "redis/admin/admin_answers.hpp"

#include <array>
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "unit/redis/fake_connection.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;

TEST(RedisAdminAnswers, FindAValueInTheLinesOfInfo) {
  const std::string info = "# Server\r\nredis_version:7.0.15\r\nredis_version_x:1\r\nempty:\r\n";
  EXPECT_EQ(value_in(info, "redis_version"), "7.0.15");
  EXPECT_EQ(value_in(info, "redis"), "");
  EXPECT_EQ(value_in(info, "empty"), "");
  EXPECT_EQ(value_in("a:\033[31m", "a"), "?[31m");
}

TEST(RedisAdminAnswers, TellAnOldVersion) {
  EXPECT_TRUE(is_too_old("6.0.16"));
  EXPECT_TRUE(is_too_old("5"));
  EXPECT_FALSE(is_too_old("6.2.0"));
  EXPECT_FALSE(is_too_old("10.0"));
}

TEST(RedisAdminAnswers, ReadTheTimeOfAServer) {
  EXPECT_EQ(server_time(array_reply({text_reply("1700000000"), text_reply("123456")})),
            StoreTime{1'700'000'000'123ms});
}

TEST(RedisAdminAnswers, BelieveNoTimeThatIsNone) {
  for (const auto* const seconds : {"9223372036854775807", "-9223372036854775808", "0", "soon"}) {
    EXPECT_FALSE(server_time(array_reply({text_reply(seconds), text_reply("1")}))) << seconds;
  }
  EXPECT_FALSE(server_time(array_reply({text_reply("1"), text_reply("9223372036854775807")})));
  EXPECT_FALSE(server_time(Reply{}));
}

TEST(RedisAdminAnswers, KnowTheMutexOfAKey) {
  EXPECT_EQ(mutex_of("simba:{orders}"), "orders");
  EXPECT_EQ(mutex_of("simba:{orders}:fence"), "orders");
  EXPECT_EQ(mutex_of("simba:{a}:fence}"), "a}:fence");
  EXPECT_EQ(mutex_of("simba:{}"), "");
  EXPECT_EQ(mutex_of("simba:{orders}:queue"), "");
}

TEST(RedisAdminAnswers, HaveTheLastTokenOfAFreeMutex) {
  const std::array<Reply, 2> replies{
      array_reply({text_reply(""), text_reply("0"), integer_reply(0), integer_reply(0),
                   integer_reply(0), text_reply("1700000000"), text_reply("0"), text_reply("0")}),
      text_reply("41")};
  const auto entry = entry_in(replies, "m");
  EXPECT_EQ(entry.owner_id, "");
  EXPECT_EQ(entry.fencing_token, 41U);
  EXPECT_EQ(entry.left, 0ms);
}

TEST(RedisAdminAnswers, RefuseWhatIsNoAnswer) {
  const std::array<Reply, 2> replies{text_reply("x"), Reply{}};
  EXPECT_THROW(entry_in(replies, "m"), Error);
}

}  // namespace
}  // namespace simba::redis
