#include "redis/connection/connection_requests.hpp"

#include <chrono>

#include <gtest/gtest.h>

namespace simba::redis {
namespace {

using namespace std::chrono_literals;

constexpr LocalTime start{10s};

TEST(ConnectionRequests, GatherWhatIsToBeWritten) {
  ConnectionRequests requests;
  EXPECT_TRUE(requests.idle());
  requests.add("abc", 1, {}, start);
  requests.add("def", 2, {}, start);
  EXPECT_EQ(requests.unwritten(), "abcdef");
  requests.wrote(4);
  EXPECT_EQ(requests.unwritten(), "ef");
  requests.add("g", 1, {}, start);
  EXPECT_EQ(requests.take_unwritten(), "efg");
  EXPECT_EQ(requests.unwritten(), "");
  EXPECT_FALSE(requests.idle());
}

TEST(ConnectionRequests, KnowWhichWereNotSent) {
  ConnectionRequests requests;
  requests.add("abc", 1, {}, start);
  requests.add("def", 1, {}, start);
  requests.add("ghi", 1, {}, start);
  requests.wrote(4);
  const auto all = requests.take_all();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_FALSE(requests.unsent(all[0]));
  EXPECT_FALSE(requests.unsent(all[1]));
  EXPECT_TRUE(requests.unsent(all[2]));
}

TEST(ConnectionRequests, AreAnsweredFromTheOldestOn) {
  ConnectionRequests requests;
  EXPECT_EQ(requests.wanted(), 0U);
  EXPECT_FALSE(requests.oldest());
  requests.add("a", 2, {}, start);
  requests.add("b", 1, {}, start + 1s);
  EXPECT_EQ(requests.wanted(), 2U);
  EXPECT_EQ(requests.pop().since, start);
  EXPECT_EQ(requests.wanted(), 1U);
  EXPECT_EQ(requests.oldest(), start + 1s);
  requests.restamp(start + 5s);
  EXPECT_EQ(requests.oldest(), start + 5s);
}

TEST(ConnectionRequests, WithoutRepliesAreOnlyWritten) {
  ConnectionRequests requests;
  requests.add("a", 0, {}, start);
  EXPECT_FALSE(requests.idle());
  requests.wrote(1);
  EXPECT_TRUE(requests.idle());
}

}  // namespace
}  // namespace simba::redis
