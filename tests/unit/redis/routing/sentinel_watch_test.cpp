#include "redis/routing/sentinel_watch.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/redis/fake_dialer.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(RedisSentinelSwitch, NamesTheNewMaster) {
  EXPECT_EQ(parse_switch("mymaster 10.0.0.1 6379 10.0.0.2 6380", "mymaster"),
            (Endpoint{.host = "10.0.0.2", .port = 6380}));
}

TEST(RedisSentinelSwitch, IsIgnoredWhereItIsOfAnotherMasterOrMakesNoSense) {
  for (const char* payload :
       {"", "mymaster", "mymaster a 1 b", "mymaster a 1 b 2 c", "other a 1 b 2", "mymaster a 1 b 0",
        "mymaster a 1 b 65536", "mymaster a 1 b 2x", "mymaster a 1  2", "mymaster a 1 b -1"}) {
    EXPECT_EQ(parse_switch(payload, "mymaster"), std::nullopt) << payload;
  }
}

class RedisSentinelWatch : public testing::Test {
 protected:
  RedisSentinelWatch() {
    RedisOptions options;
    options.topology = Topology::sentinel;
    options.endpoints = {{.port = 7001}, {.port = 7002}};
    watch_ = std::make_shared<SentinelWatch>(
        options, fake_.dialer(),
        SentinelWatch::Events{
            .on_listening = [this] { ++listening_; },
            .on_switched = [this](const Endpoint& master) { masters_.push_back(master.port); }});
  }

  void start() {
    watch_->start();
    fake_.world.run_ready();
  }

  FakeConnection& connection() { return fake_.connections.last(); }
  std::size_t opened() const { return fake_.connections.opened.size(); }

  void publish(const std::string& channel, const std::string& payload) {
    connection().message(
        array_reply({text_reply("message"), text_reply(channel), text_reply(payload)}));
  }

  FakeDialer fake_;
  int listening_ = 0;
  std::vector<int> masters_;
  std::shared_ptr<SentinelWatch> watch_;
};

TEST_F(RedisSentinelWatch, ListensToOneSentinelFromTheStartOn) {
  EXPECT_EQ(opened(), 0U);
  start();
  start();
  ASSERT_EQ(opened(), 1U);
  connection().become_ready();
  EXPECT_THAT(connection().take_sent(), ElementsAre("SUBSCRIBE +switch-master"));
  EXPECT_EQ(listening_, 0);
  connection().message(
      array_reply({text_reply("subscribe"), text_reply("+switch-master"), integer_reply(1)}));
  EXPECT_EQ(listening_, 1);
  publish("+switch-master", "mymaster 127.0.0.1 1 127.0.0.1 2");
  publish("+switch-master", "other 127.0.0.1 1 127.0.0.1 3");
  publish("elsewhere", "mymaster 127.0.0.1 1 127.0.0.1 4");
  EXPECT_THAT(masters_, ElementsAre(2));
}

TEST_F(RedisSentinelWatch, GoesToTheNextSentinelWhenOneBreaks) {
  start();
  connection().become_ready();
  connection().fail({ErrorKind::unavailable, "reset"});
  EXPECT_EQ(opened(), 1U);
  fake_.world.advance(1s);
  ASSERT_EQ(opened(), 2U);
  EXPECT_EQ(connection().endpoint.port, 7002);
}

TEST_F(RedisSentinelWatch, GoesToTheNextSentinelWhenOneIsSilent) {
  start();
  connection().become_ready();
  fake_.world.advance(1s);
  EXPECT_THAT(connection().take_sent(), ElementsAre("SUBSCRIBE +switch-master", "PING"));
  connection().message(array_reply({text_reply("pong"), text_reply("")}));
  fake_.world.advance(1s);
  fake_.world.advance(3s);
  ASSERT_EQ(opened(), 2U);
  EXPECT_TRUE(fake_.connections.opened[0]->closed());
}

TEST_F(RedisSentinelWatch, SaysOnceThatItMayNotListenAndTriesTheNext) {
  start();
  for (int i = 0; i < 3; ++i) {
    connection().become_ready();
    connection().message(error_reply("NOPERM no permissions"));
    fake_.world.advance(1s);
  }
  EXPECT_EQ(opened(), 4U);
  EXPECT_EQ(fake_.world.log().count("+subscribe &+switch-master"), 1U);
}

TEST_F(RedisSentinelWatch, ClosingEndsIt) {
  start();
  connection().become_ready();
  watch_->close();
  EXPECT_EQ(fake_.connections.alive(), 0U);
  fake_.world.advance(1min);
  EXPECT_EQ(opened(), 1U);
  start();
  EXPECT_EQ(opened(), 1U);
}

}  // namespace
}  // namespace simba::redis
