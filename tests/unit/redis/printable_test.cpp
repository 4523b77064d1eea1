#include "redis/protocol/printable.hpp"

#include <string>

#include <gtest/gtest.h>

namespace simba::redis {
namespace {

using namespace std::string_view_literals;

TEST(RedisPrintable, BytesThatDoNotPrintAreReplaced) {
  EXPECT_EQ(printable("a b~"), "a b~");
  EXPECT_EQ(printable("a\0b\r\n\x1b[31m\x7f\xff"sv), "a?b???[31m??");
  EXPECT_EQ(printable(""), "");
}

TEST(RedisPrintable, ALongTextIsCut) {
  const std::string longest(200, 'x');
  EXPECT_EQ(printable(longest), longest);
  EXPECT_EQ(printable(longest + "y"), longest + "...");
}

}  // namespace
}  // namespace simba::redis
