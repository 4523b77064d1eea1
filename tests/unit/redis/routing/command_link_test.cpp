#include "redis/routing/command_link.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/protocol/command.hpp"
#include "unit/redis/fake_dialer.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

const Error down{ErrorKind::unavailable, "connection refused"};

class RedisCommandLink : public testing::Test {
 protected:
  void send(const std::string& word) {
    link_->send(command({word}), 1, [this, word](const Replies& replies) {
      const auto* error = std::get_if<Error>(&replies);
      answers_.push_back(word + ": " +
                         (error != nullptr ? error->what() : std::get<0>(replies).at(0).text));
    });
    fake_.world.run_ready();
  }

  FakeConnection& connection() { return fake_.connections.last(); }
  std::size_t opened() const { return fake_.connections.opened.size(); }

  FakeDialer fake_;
  std::vector<Endpoint> ready_;
  std::vector<std::string> answers_;
  std::shared_ptr<CommandLink> link_ = std::make_shared<CommandLink>(
      fake_.dialer(), [this](const Endpoint& endpoint) { ready_.push_back(endpoint); });
};

TEST_F(RedisCommandLink, ConnectsAtTheFirstRequestAndSharesTheConnection) {
  EXPECT_EQ(opened(), 0U);
  send("A");
  send("B");
  ASSERT_EQ(opened(), 1U);
  EXPECT_EQ(connection().use, Connection::Use::commands);
  connection().become_ready();
  EXPECT_THAT(connection().take_sent(), ElementsAre("A", "B"));
  connection().answer(text_reply("1"));
  connection().answer(text_reply("2"));
  EXPECT_THAT(answers_, ElementsAre("A: 1", "B: 2"));
  EXPECT_THAT(ready_, ElementsAre(Endpoint{.port = 7000}));
}

TEST_F(RedisCommandLink, ItsConnectionsAreCountedUntilTheyEnd) {
  const auto counted = [this] { return fake_.world.runtime()->statistics->snapshot().connections; };
  send("A");
  EXPECT_EQ(counted(), ConnectionStatistics{}) << "not ready";
  connection().become_ready();
  EXPECT_EQ(counted(), (ConnectionStatistics{.open = 1, .opened = 1}));
  connection().fail(down);
  EXPECT_EQ(counted(), (ConnectionStatistics{.open = 0, .opened = 1}));
  fake_.world.advance(5s);
  send("B");
  connection().fail(down);
  EXPECT_EQ(counted(), (ConnectionStatistics{.open = 0, .opened = 1, .failed = 1}));
  fake_.world.advance(5s);
  send("C");
  connection().become_ready();
  link_.reset();
  EXPECT_EQ(counted(), (ConnectionStatistics{.open = 0, .opened = 2, .failed = 1}));
}

TEST_F(RedisCommandLink, KeepsTheOrderOfWhatCameWhileTheServerWasSearchedFor) {
  fake_.source->held = true;
  send("A");
  send("B");
  EXPECT_EQ(opened(), 0U);
  fake_.source->let_go();
  send("C");
  EXPECT_THAT(connection().take_sent(), ElementsAre("A", "B", "C"));
  EXPECT_EQ(fake_.source->searches, 1);
}

TEST_F(RedisCommandLink, AnswersWithTheErrorWhenNoServerIsFound) {
  fake_.source->error = std::make_unique<Error>(down);
  send("A");
  EXPECT_THAT(answers_, ElementsAre("A: connection refused"));
}

TEST_F(RedisCommandLink, AfterAFailureItAnswersAtOnceForAWhileAndThenTriesAgain) {
  send("A");
  connection().fail(down);
  send("B");
  EXPECT_EQ(opened(), 1U);
  EXPECT_THAT(answers_, ElementsAre("A: connection refused", "B: connection refused"));
  fake_.world.advance(30ms);
  send("C");
  EXPECT_EQ(opened(), 2U);
}

TEST_F(RedisCommandLink, FindsTheServerAnewAfterABreak) {
  send("A");
  connection().become_ready();
  connection().answer(text_reply("1"));
  connection().fail({ErrorKind::in_doubt, "reset"});
  fake_.source->endpoint.port = 7001;
  fake_.world.advance(30ms);
  send("B");
  connection().become_ready();
  EXPECT_THAT(ready_, ElementsAre(Endpoint{.port = 7000}, Endpoint{.port = 7001}));
}

TEST_F(RedisCommandLink, LeavingAServerNeedsNoPause) {
  send("A");
  connection().become_ready();
  link_->leave();
  EXPECT_TRUE(connection().closed());
  EXPECT_THAT(answers_, ElementsAre("A: the connection was closed"));
  send("B");
  EXPECT_EQ(opened(), 2U);
}

TEST_F(RedisCommandLink, AServerThatRefusesWhateverItIsAskedIsReconnectedToAFewTimesASecond) {
  const Error replica{ErrorKind::unavailable, "READONLY"};
  for (int i = 0; i < 2'000; ++i) {
    for (const char* word : {"A", "B", "C"}) send(word);
    auto& current = connection();
    current.become_ready();
    while (!current.closed() && current.pending() > 0) {
      current.answer(error_reply("READONLY"));
      link_->refused(replica);
    }
    fake_.world.advance(5ms);
  }
  EXPECT_LT(opened(), 30U);  // in 10 s
  EXPECT_GT(opened(), 10U);
}

TEST_F(RedisCommandLink, APauseIsShortAgainAfterAConnectionThatHasLasted) {
  for (int i = 0; i < 10; ++i) {
    send("A");
    connection().fail(down);
    fake_.world.advance(1s);
  }
  send("B");
  connection().become_ready();
  fake_.world.advance(1s);
  connection().fail(down);
  fake_.world.advance(30ms);
  send("C");
  EXPECT_FALSE(connection().closed());
}

TEST_F(RedisCommandLink, AHostThatIsNotPermittedIsNotConnectedTo) {
  fake_.settings->permitted_hosts = {"10.0.3.*", "*.redis.internal", "here"};
  for (const char* host : {"10.0.4.1", "110.0.3.1", "redis.internal", "a.redis.internal.evil",
                           "here.evil", "her", ""}) {
    fake_.source->endpoint.host = host;
    send(host);
    EXPECT_EQ(opened(), 0U) << host;
    EXPECT_THAT(answers_.back(), testing::HasSubstr("not in permitted_hosts"));
    fake_.world.advance(2s);
  }
  for (const char* host : {"10.0.3.1", "a.redis.internal", "here"}) {
    fake_.source->endpoint.host = host;
    send("A");
    EXPECT_EQ(connection().endpoint.host, host);
    link_->leave();
  }
}

TEST_F(RedisCommandLink, AHostThatWouldBeSentThePasswordUnencryptedIsNotConnectedTo) {
  fake_.settings->password = Secret{"hunter2"};
  for (const char* host : {"10.0.3.1", "redis.example", "127.0.0.1.example", "/run/redis"}) {
    fake_.source->endpoint.host = host;
    send(host);
    EXPECT_EQ(opened(), 0U) << host;
    EXPECT_THAT(answers_.back(),
                testing::AllOf(testing::HasSubstr(host), testing::HasSubstr("set tls.mode"),
                               testing::Not(testing::HasSubstr("hunter2"))));
    fake_.world.advance(2s);
  }
  fake_.source->endpoint.host = "127.0.0.1";
  send("B");
  EXPECT_EQ(connection().endpoint.host, "127.0.0.1");
  link_->leave();
  fake_.settings->tls.mode = TlsMode::off;
  fake_.source->endpoint.host = "10.0.3.1";
  send("C");
  EXPECT_EQ(connection().endpoint.host, "10.0.3.1");
}

TEST_F(RedisCommandLink, AServerCanBeLeftWhileItIsConnectedTo) {
  send("A");
  auto& slow = connection();
  link_->leave();
  EXPECT_TRUE(slow.closed());
  EXPECT_THAT(answers_, ElementsAre("A: the connection was closed"));
  send("B");
  EXPECT_EQ(opened(), 2U);
}

TEST_F(RedisCommandLink, WhatWaitsForASearchThatIsGivenUpIsSentToWhatTheNextOneFinds) {
  fake_.source->held = true;
  send("A");
  link_->leave();
  fake_.world.run_ready();
  EXPECT_EQ(fake_.source->searches, 2);
  fake_.source->let_go();
  ASSERT_EQ(opened(), 1U);
  EXPECT_THAT(connection().take_sent(), ElementsAre("A"));
}

TEST_F(RedisCommandLink, NewsOfAnEarlierConnectionAreNotHeard) {
  send("A");
  auto& old = connection();
  old.become_ready();
  link_->leave();
  send("B");
  old.fail(down);
  send("C");
  connection().become_ready();
  EXPECT_THAT(connection().take_sent(), ElementsAre("B", "C"));
}

TEST_F(RedisCommandLink, ClosingAnswersEverythingAndRefusesTheRest) {
  fake_.source->held = true;
  send("A");
  link_->close();
  EXPECT_THAT(answers_, ElementsAre("A: the Redis store is closed"));
  fake_.source->let_go();
  EXPECT_EQ(fake_.connections.alive(), 0U);
  send("B");
  EXPECT_THAT(answers_,
              ElementsAre("A: the Redis store is closed", "B: the Redis store is closed"));
}

TEST_F(RedisCommandLink, ClosingClosesTheConnection) {
  send("A");
  connection().become_ready();
  link_->close();
  EXPECT_EQ(fake_.connections.alive(), 0U);
  EXPECT_THAT(answers_, ElementsAre("A: the connection was closed"));
}

TEST_F(RedisCommandLink, AHandlerMaySendAgain) {
  link_->send(command({"A"}), 1, [this](const Replies& /*replies*/) { send("B"); });
  fake_.world.run_ready();
  connection().become_ready();
  connection().answer(text_reply("1"));
  EXPECT_THAT(connection().take_sent(), ElementsAre("A", "B"));
}

}  // namespace
}  // namespace simba::redis
