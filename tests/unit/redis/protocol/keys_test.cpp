#include "redis/protocol/keys.hpp"

#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace simba::redis {
namespace {

using namespace std::string_view_literals;

// The numbers are what CLUSTER KEYSLOT of a Redis 7.0 answers.

TEST(RedisSlot, IsTheChecksumOfTheKey) {
  EXPECT_EQ(slot_of(""), 0);
  EXPECT_EQ(slot_of("foo"), 12182);
  EXPECT_EQ(slot_of("bar"), 5061);
  EXPECT_EQ(slot_of("x"), 16287);
  EXPECT_EQ(slot_of("123456789"), 12739);
  EXPECT_EQ(slot_of("\xFF\xFE\x80"), 11813);
}

TEST(RedisSlot, IsTheSameForAllKeysOfAMutex) {
  EXPECT_EQ(slot_of("m"), 15627);
  EXPECT_EQ(slot_of("simba:{m}"), 15627);
  EXPECT_EQ(slot_of("simba:{m}:contender"), 15627);
  EXPECT_EQ(slot_of(record_key("m")), 15627);
  EXPECT_EQ(slot_of("simba:{Mutex mit ä}"), 8056);
}

TEST(RedisSlot, CountsOnlyWhatIsInTheFirstBraces) {
  EXPECT_EQ(slot_of("foo{bar}{zap}"), slot_of("bar"));
  EXPECT_EQ(slot_of("}{x}"), slot_of("x"));
  EXPECT_EQ(slot_of("foo{{bar}}zap"), 4015);
  EXPECT_EQ(slot_of("{bar"), 4015);
  EXPECT_EQ(slot_of("{{}"), 4092);
}

TEST(RedisSlot, CountsTheWholeKeyWhereTheBracesAreEmptyOrOpen) {
  EXPECT_EQ(slot_of("{}"), 15257);
  EXPECT_EQ(slot_of("a{}b{c}"), 7353);
  EXPECT_EQ(slot_of("foo{bar"), 15278);
  EXPECT_EQ(slot_of("foo}bar{"), 11073);
  EXPECT_EQ(slot_of("a{"), 14311);
}

TEST(RedisSlot, TakesANulForAByteLikeAnyOther) {
  EXPECT_EQ(slot_of("a\0b{}"sv), 15647);
  EXPECT_EQ(slot_of("\0{a\0b}"sv), slot_of("a\0b"sv));
}

}  // namespace
}  // namespace simba::redis
