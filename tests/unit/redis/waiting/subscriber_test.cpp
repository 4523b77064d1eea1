#include "redis/waiting/subscriber.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/redis/fake_dialer.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;
using engine::Notice;
using testing::Contains;
using testing::IsEmpty;
using testing::SizeIs;

class RedisSubscriber : public testing::Test {
 protected:
  std::unique_ptr<engine::Watch> watch() {
    auto watch =
        subscriber_->watch({.mutex = "m", .contender_id = "w", .ttl = 10s, .transition = 6s},
                           [this](const Notice& notice) { notices_.push_back(notice); });
    fake_.world.run_ready();
    return watch;
  }

  FakeConnection& connection() { return fake_.connections.last(); }
  std::size_t opened() const { return fake_.connections.opened.size(); }

  /// Confirms every SUBSCRIBE and answers every PING that was sent.
  void serve() {
    for (const std::string& line : connection().take_sent()) {
      sent_.push_back(line);
      if (line == "PING") {
        connection().message(array_reply({text_reply("pong"), text_reply("")}));
        continue;
      }
      std::size_t from = line.find(' ') + 1;
      while (line.starts_with("SUBSCRIBE ") && from != 0) {
        const auto to = line.find(' ', from);
        connection().message(array_reply(
            {text_reply("subscribe"), text_reply(line.substr(from, to - from)), integer_reply(1)}));
        from = to == std::string::npos ? 0 : to + 1;
      }
    }
  }

  FakeDialer fake_;
  std::vector<Notice> notices_;
  std::vector<std::string> sent_;
  std::shared_ptr<Subscriber> subscriber_ =
      std::make_shared<Subscriber>(fake_.dialer(), Subscriptions::Grants::count);
};

TEST_F(RedisSubscriber, ConnectsWhenTheFirstOneWatches) {
  EXPECT_EQ(opened(), 0U);
  EXPECT_EQ(subscriber_->place_for("m", "w").inbox, "");
  const auto first = watch();
  const auto second = watch();
  ASSERT_EQ(opened(), 1U);
  EXPECT_EQ(connection().use, Connection::Use::subscriptions);
  connection().become_ready();
  serve();
  EXPECT_THAT(notices_, SizeIs(2));
  EXPECT_NE(subscriber_->place_for("m", "w").inbox, "");
}

TEST_F(RedisSubscriber, ConnectsAgainByItselfAndLetsEverybodyLookAgain) {
  const auto watching = watch();
  connection().become_ready();
  serve();
  notices_.clear();
  connection().fail({ErrorKind::in_doubt, "reset"});
  EXPECT_EQ(opened(), 1U);
  fake_.world.advance(50ms);
  ASSERT_EQ(opened(), 2U);
  connection().become_ready();
  serve();
  EXPECT_THAT(notices_, SizeIs(1));
}

TEST_F(RedisSubscriber, SaysOnceThatItCannotListen) {
  const auto watching = watch();
  for (int i = 0; i < 5; ++i) {
    connection().fail({ErrorKind::unavailable, "connection refused"});
    fake_.world.advance(1s);
  }
  EXPECT_GT(opened(), 4U);
  EXPECT_EQ(fake_.world.log().count("connection refused"), 1U);
}

TEST_F(RedisSubscriber, WhoIsLetInAndThrownOutAgainAndAgainTriesLessOftenAndSaysItOnce) {
  const auto watching = watch();
  for (int i = 0; i < 500; ++i) {
    if (!connection().closed()) {
      connection().become_ready();
      serve();
      connection().fail({ErrorKind::in_doubt, "reset"});
    }
    fake_.world.advance(20ms);
  }
  EXPECT_LT(opened(), 40U);  // in 10 s
  EXPECT_EQ(fake_.world.log().count("reset"), 1U);
}

TEST_F(RedisSubscriber, ARefusedSubscriptionIsTriedAgain) {
  const auto watching = watch();
  connection().become_ready();
  connection().message(error_reply("BUSY Redis is busy running a script."));
  EXPECT_TRUE(connection().closed());
  fake_.world.advance(1s);
  ASSERT_EQ(opened(), 2U);
  connection().become_ready();
  serve();
  EXPECT_THAT(notices_, SizeIs(1));
}

TEST_F(RedisSubscriber, AConnectionThatIsSilentIsLeftForAnother) {
  fake_.settings->command_timeout = 3s;
  subscriber_ = std::make_shared<Subscriber>(fake_.dialer(), Subscriptions::Grants::count);
  const auto watching = watch();
  connection().become_ready();
  serve();
  fake_.world.advance(2s);  // a PING goes out and is not answered
  EXPECT_THAT(connection().take_sent(), Contains("PING"));
  fake_.world.advance(3s);
  EXPECT_TRUE(fake_.connections.opened[0]->closed());
  EXPECT_EQ(opened(), 2U);
}

TEST_F(RedisSubscriber, ThoseWhoComeAndGoDoNotPutOffThePings) {
  auto watching = watch();
  connection().become_ready();
  serve();
  sent_.clear();
  for (int i = 0; i < 50; ++i) {
    watching.reset();
    fake_.world.advance(100ms);
    watching = watch();
    serve();
  }
  EXPECT_GE(std::count(sent_.begin(), sent_.end(), "PING"), 4);
}

TEST_F(RedisSubscriber, PingsSlowlyOnceOnlyAnObserverIsLeft) {
  const auto observing =
      subscriber_->watch({.mutex = "m", .contender_id = {}}, [](const Notice&) {});
  auto waiting = subscriber_->watch(
      {.mutex = "m", .contender_id = "w", .ttl = 200ms, .transition = 100ms}, [](const Notice&) {});
  fake_.world.run_ready();
  connection().become_ready();
  const auto pings_in_ten_seconds = [&] {
    serve();
    sent_.clear();
    for (int i = 0; i < 1'000; ++i) {
      fake_.world.advance(10ms);
      serve();
    }
    return std::count(sent_.begin(), sent_.end(), "PING");
  };
  EXPECT_GT(pings_in_ten_seconds(), 400);
  waiting.reset();
  pings_in_ten_seconds();  // the subscription lingers for a while
  const auto pings = pings_in_ten_seconds();
  EXPECT_GE(pings, 9);
  EXPECT_LE(pings, 11);
  EXPECT_EQ(opened(), 1U);
}

TEST_F(RedisSubscriber, NobodyIsListenedForWhenNobodyWatches) {
  auto watching = watch();
  connection().become_ready();
  serve();
  watching.reset();
  fake_.world.advance(3s);
  serve();
  EXPECT_THAT(sent_, Contains("UNSUBSCRIBE simba:{m}:w"));
  sent_.clear();
  fake_.world.advance(1min);
  serve();
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_EQ(fake_.world.next_due(), never);
}

TEST_F(RedisSubscriber, GivesBackWhatNobodyClaims) {
  std::vector<std::string> given_back;
  subscriber_->on_unclaimed([&](const Subscriptions::Unclaimed& grant) {
    given_back.push_back(grant.mutex + " " + grant.contender_id);
  });
  auto watching = watch();
  connection().become_ready();
  serve();
  const auto place = subscriber_->place_for("m", "w");
  watching.reset();
  connection().message(
      array_reply({text_reply("message"), text_reply(place.inbox),
                   text_reply("granted " + place.secret + " 7 10000 6000 1700000000000")}));
  EXPECT_THAT(given_back, testing::ElementsAre("m w"));
}

TEST_F(RedisSubscriber, FollowsTheCommandsToAnotherServer) {
  const auto watching = watch();
  connection().become_ready();
  serve();
  subscriber_->follow({.port = 7000});
  EXPECT_EQ(opened(), 1U);
  fake_.source->endpoint.port = 7001;
  subscriber_->follow({.port = 7001});
  fake_.world.run_ready();
  ASSERT_EQ(opened(), 2U);
  EXPECT_TRUE(fake_.connections.opened[0]->closed());
  EXPECT_EQ(connection().endpoint.port, 7001);
}

TEST_F(RedisSubscriber, ClosingEndsTheConnectionAndTellsNobody) {
  const auto watching = watch();
  connection().become_ready();
  subscriber_->close();
  serve();
  EXPECT_EQ(fake_.connections.alive(), 0U);
  EXPECT_THAT(notices_, IsEmpty());
  fake_.world.advance(1min);
  EXPECT_EQ(opened(), 1U);
}

TEST_F(RedisSubscriber, IsGoneWithItsLastHolderAlsoWhileItConnects) {
  auto watching = watch();
  subscriber_.reset();
  EXPECT_EQ(fake_.connections.alive(), 1U);
  watching.reset();
  EXPECT_EQ(fake_.connections.alive(), 0U);
}

}  // namespace
}  // namespace simba::redis
