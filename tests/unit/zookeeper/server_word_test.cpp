#include <gtest/gtest.h>

#include "zookeeper/admin/four_letter_word.hpp"

namespace simba::zookeeper {
namespace {

TEST(ServerWord, ReadsPlacesWithTheirPorts) {
  const auto places = places_in("zk1:2181,10.0.0.5:2182,::1:2183");
  ASSERT_EQ(places.size(), 3U);
  EXPECT_EQ(places[0].host, "zk1");
  EXPECT_EQ(places[0].port, "2181");
  EXPECT_EQ(places[1].host, "10.0.0.5");
  EXPECT_EQ(places[2].host, "::1");
  EXPECT_EQ(places[2].port, "2183");
  EXPECT_TRUE(places_in("").empty());
}

TEST(ServerWord, TellsThatNobodyIsThere) {
  using namespace std::chrono_literals;
  const auto answer = ask_four_letter_word({.host = "127.0.0.1", .port = "1"}, "srvr", 1s);
  EXPECT_EQ(answer.state, FourLetterAnswer::State::unreachable);
}

TEST(ServerWord, FindsTheVersionInWhatAServerTellsOfItself) {
  EXPECT_EQ(version_in("Zookeeper version: 3.8.0-5a02a05, built on 2022-02-25"), "3.8.0");
  EXPECT_EQ(version_in("This ZooKeeper instance is not currently serving requests"), "");
  EXPECT_TRUE(is_too_old("3.4.14"));
  EXPECT_FALSE(is_too_old("3.5.0"));
  EXPECT_FALSE(is_too_old(""));
  EXPECT_TRUE(is_too_old("3."));
}

}  // namespace
}  // namespace simba::zookeeper
