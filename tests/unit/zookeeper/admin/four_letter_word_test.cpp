#include "zookeeper/admin/four_letter_word.hpp"

#include <gtest/gtest.h>

namespace simba::zookeeper {
namespace {

TEST(FourLetterWord, TellsThatNobodyIsThere) {
  using namespace std::chrono_literals;
  const auto answer = ask_four_letter_word({.host = "127.0.0.1", .port = "1"}, "srvr", 1s);
  EXPECT_EQ(answer.state, FourLetterAnswer::State::unreachable);
}

TEST(FourLetterWord, FindsTheVersionInWhatAServerTellsOfItself) {
  EXPECT_EQ(version_in("Zookeeper version: 3.8.0-5a02a05, built on 2022-02-25"), "3.8.0");
  EXPECT_EQ(version_in("This ZooKeeper instance is not currently serving requests"), "");
  EXPECT_TRUE(is_too_old("3.4.14"));
  EXPECT_FALSE(is_too_old("3.5.0"));
  EXPECT_FALSE(is_too_old(""));
  EXPECT_TRUE(is_too_old("3."));
}

TEST(FourLetterWord, FindsTheTickInWhatAServerTellsOfItsConfiguration) {
  using namespace std::chrono_literals;
  EXPECT_EQ(tick_in("clientPort=2181\ntickTime=2000\nmaxClientCnxns=60\n"), 2s);
  EXPECT_EQ(tick_in("conf is not executed because it is not in the whitelist."), std::nullopt);
  EXPECT_EQ(tick_in("tickTime=-1\n"), std::nullopt);
  EXPECT_EQ(tick_in("tickTime=99999999999\n"), std::nullopt);
}

}  // namespace
}  // namespace simba::zookeeper
