#include "redis/protocol/command.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "redis/protocol/resp_reader.hpp"

namespace simba::redis {
namespace {

using namespace std::string_view_literals;

TEST(RedisCommand, IsAnArrayOfStringsWithTheirLengths) {
  EXPECT_EQ(command({"PING"}), "*1\r\n$4\r\nPING\r\n");
  EXPECT_EQ(command({"SET", "simba:{m}", "0:1@host"}),
            "*3\r\n$3\r\nSET\r\n$9\r\nsimba:{m}\r\n$8\r\n0:1@host\r\n");
}

TEST(RedisCommand, ArgumentsMayBeEmptyOrHoldAnyBytes) {
  EXPECT_EQ(command({"", "\0\r\n$5\xff"sv}), "*2\r\n$0\r\n\r\n$6\r\n\0\r\n$5\xff\r\n"sv);
}

TEST(RedisCommand, CommandsAreAppendedToEachOther) {
  std::string out = command({"MULTI"});
  const std::array<std::string_view, 2> words{"GET", "a"};
  append_command(out, words);
  append_command(out, words);
  EXPECT_EQ(out, command({"MULTI"}) + command({"GET", "a"}) + command({"GET", "a"}));
}

TEST(RedisCommand, IsReadBackAsTheSameWords) {
  const std::string long_word(70'000, 'x');
  RespReader reader;
  reader.feed(command({"EVAL", long_word, "\r\n", ""}));
  const auto reply = reader.next();
  ASSERT_TRUE(reply.has_value());
  std::vector<std::string> words;
  for (const Reply& element : reply->elements) words.push_back(element.text);
  EXPECT_EQ(words, (std::vector<std::string>{"EVAL", long_word, "\r\n", ""}));
}

}  // namespace
}  // namespace simba::redis
