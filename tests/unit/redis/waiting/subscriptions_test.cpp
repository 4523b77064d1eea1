#include "redis/waiting/subscriptions.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/protocol/resp_reader.hpp"
#include "unit/redis/fake_connection.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;
using engine::Notice;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const engine::LeaseRequest waiter{.mutex = "m", .contender_id = "w", .ttl = 10s, .transition = 6s};
const engine::LeaseRequest observer{.mutex = "m"};

class RedisSubscriptions : public testing::Test {
 protected:
  /// Carries out the effects of a call: keeps what was sent, tells whom it concerns.
  Subscriptions::Effects& effects() {
    perform();
    return effects_;
  }

  void perform() {
    RespReader reader;
    reader.feed(effects_.commands);
    while (const auto command = reader.next()) {
      std::string line;
      for (const auto& word : command->elements) line += (line.empty() ? "" : " ") + word.text;
      sent_.push_back(line);
    }
    for (auto& warning : effects_.warnings) warnings_.push_back(warning);
    for (const auto& [mutex, id, token] : effects_.unclaimed) {
      given_back_.push_back(mutex + " " + id + " " + std::to_string(token));
    }
    for (const auto& delivery : effects_.deliveries) (*delivery.handler)(delivery.notice);
    effects_ = {};
  }

  Subscriptions::WatchId watch(const engine::LeaseRequest& request) {
    const auto id = subscriptions_.add(
        request, [this](const Notice& notice) { notices_.push_back(notice); }, now_, effects());
    perform();
    return id;
  }

  void connect() {
    subscriptions_.connected(now_, effects());
    perform();
    for (const auto& line : sent_) {
      const auto at = line.find("simba:inbox:");
      if (line.starts_with("SUBSCRIBE") && at != std::string::npos) inbox_ = line.substr(at, 44);
    }
  }

  void receive(const Reply& reply) {
    subscriptions_.received(reply, "Redis at here", now_, effects());
    perform();
  }

  void confirm(const std::string& channel) {
    receive(array_reply({text_reply("subscribe"), text_reply(channel), integer_reply(1)}));
  }

  void publish(const std::string& channel, const std::string& payload) {
    receive(array_reply({text_reply("message"), text_reply(channel), text_reply(payload)}));
  }

  void pong() { receive(array_reply({text_reply("pong"), text_reply("")})); }

  void tick() {
    subscriptions_.tick(now_, effects());
    perform();
  }

  Place place() { return subscriptions_.place_for("m", "w", now_); }

  /// A waiter that is connected, confirmed and has looked at the mutex again.
  void settle() {
    tell_time();
    watch(waiter);
    connect();
    confirm(inbox_);
    confirm("simba:{m}:w");
    pong();
    secret_ = place().secret;
    notices_.clear();
    sent_.clear();
  }

  /// The server's clock is at 1,700,000,000 s.
  void tell_time() { subscriptions_.saw_time(StoreTime{1'700'000'000s}, now_); }

  std::string grant(FencingToken token) const {
    return "granted " + secret_ + " " + std::to_string(token) + " 10000 6000 1700000000000";
  }

  LocalTime now_{1000s};
  Subscriptions subscriptions_{make_seeded_random(1), Subscriptions::Grants::count};
  std::vector<std::string> sent_;
  std::vector<std::string> warnings_;
  std::vector<Notice> notices_;
  std::vector<std::string> given_back_;
  std::string inbox_;
  std::string secret_;

 private:
  Subscriptions::Effects effects_;
};

TEST_F(RedisSubscriptions, SubscribesToTheInboxAndToTheChannelThatTheJvmLibraryWouldUse) {
  watch(waiter);
  EXPECT_THAT(sent_, IsEmpty());
  connect();
  EXPECT_THAT(sent_, ElementsAre("SUBSCRIBE " + inbox_ + " simba:{m}:w", "PING"));
}

TEST_F(RedisSubscriptions, AnObserverListensToAcquisitionsAndReleases) {
  watch(observer);
  connect();
  EXPECT_THAT(sent_[0], HasSubstr("simba:{m}"));
  EXPECT_THAT(sent_[0], HasSubstr("simba:releases:{m}"));
}

TEST_F(RedisSubscriptions, AWaiterLooksAgainWhenItsSubscriptionIsConfirmedAndMayThenStandInLine) {
  watch(waiter);
  connect();
  EXPECT_EQ(place().inbox, "");
  confirm(inbox_);
  EXPECT_THAT(notices_, IsEmpty());
  EXPECT_EQ(place().inbox, "");
  confirm("simba:{m}:w");
  ASSERT_THAT(notices_, SizeIs(1));
  EXPECT_EQ(notices_[0].kind, Notice::Kind::changed);
  EXPECT_EQ(place().inbox, inbox_);
}

TEST_F(RedisSubscriptions, ALeaseThatIsGrantedCountsFromTheLastPingThatWasAnsweredBefore) {
  settle();
  const LocalTime first_ping = now_;
  now_ += 700ms;
  publish(inbox_, grant(7));
  ASSERT_THAT(notices_, SizeIs(1));
  EXPECT_EQ(notices_[0].kind, Notice::Kind::granted);
  const auto& record = notices_[0].record.value();
  EXPECT_EQ(record.owner_id, "w");
  EXPECT_EQ(record.fencing_token, 7U);
  EXPECT_EQ(record.ttl_left, 10s);
  EXPECT_EQ(record.transition_left, 16s);
  EXPECT_EQ(record.lease.acquired_at, StoreTime{1'700'000'000'000ms});
  EXPECT_EQ(record.counted_from, first_ping);
}

TEST_F(RedisSubscriptions, APingThatIsNotAnsweredYetSaysNothingOfWhenAGrantHappened) {
  settle();
  const LocalTime first_ping = now_;
  now_ += 1s;
  tick();
  EXPECT_THAT(sent_, ElementsAre("PING"));
  now_ += 100ms;
  publish(inbox_, grant(7));
  EXPECT_EQ(notices_.at(0).record->counted_from, first_ping);
  pong();
  secret_ = place().secret;
  publish(inbox_, grant(8));
  EXPECT_EQ(notices_.at(1).record->counted_from, first_ping + 1s);
}

TEST_F(RedisSubscriptions, BeforeTheFirstPongAGrantIsOnlyAHint) {
  tell_time();
  watch(waiter);
  connect();
  confirm(inbox_);
  confirm("simba:{m}:w");
  secret_ = place().secret;
  notices_.clear();
  publish(inbox_, grant(7));
  ASSERT_THAT(notices_, SizeIs(1));
  EXPECT_EQ(notices_[0].kind, Notice::Kind::changed);
  EXPECT_FALSE(notices_[0].record);
}

TEST_F(RedisSubscriptions, AGrantOnlyCountsOnTheInboxAndUnderTheSecretOfAWait) {
  settle();
  publish("simba:{m}:w", grant(7));
  publish(inbox_, "granted " + std::string(secret_length, '0') + " 7 10000 6000 1700000000000");
  publish(inbox_, "released@@x");
  EXPECT_THAT(notices_, IsEmpty());
}

TEST_F(RedisSubscriptions, ASecretIsGoodForOneGrant) {
  settle();
  publish(inbox_, grant(7));
  ASSERT_THAT(notices_, SizeIs(1));
  publish(inbox_, grant(8));
  EXPECT_THAT(notices_, SizeIs(1));
  EXPECT_THAT(given_back_, IsEmpty());
  EXPECT_NE(place().secret, secret_);
  publish(inbox_, grant(9));
  EXPECT_THAT(notices_, SizeIs(1));
  secret_ = place().secret;
  EXPECT_EQ(place().secret, secret_) << "it is of the whole wait";
  publish(inbox_, grant(10));
  ASSERT_THAT(notices_, SizeIs(2));
  EXPECT_EQ(notices_[1].record->fencing_token, 10U);
}

TEST_F(RedisSubscriptions, AGrantThatIsGivenBackIsGivenBackOnce) {
  settle();
  subscriptions_.remove(1, now_);
  place();
  publish(inbox_, grant(7));
  publish(inbox_, grant(8));
  EXPECT_THAT(given_back_, ElementsAre("m w 7"));
}

// Who listens to all channels may have seen the grant that was lost with the connection.
TEST_F(RedisSubscriptions, ASecretEndsWithTheConnection) {
  settle();
  const std::string retired = grant(8);
  subscriptions_.remove(1, now_);
  secret_ = place().secret;
  watch(waiter);
  const std::string lost = grant(9);
  subscriptions_.disconnected();
  connect();
  confirm(inbox_);
  confirm("simba:{m}:w");
  pong();
  EXPECT_NE(place().secret, secret_);
  notices_.clear();
  publish(inbox_, retired);
  publish(inbox_, lost);
  EXPECT_THAT(notices_, IsEmpty());
  EXPECT_THAT(given_back_, IsEmpty());
}

TEST_F(RedisSubscriptions, ATokenFarAheadOfTheServersClockMakesTheWaiterAsk) {
  constexpr FencingToken told = 1'700'000'000'000'000;
  settle();
  now_ += 10s;
  publish(inbox_, grant(told + 70'000'000));
  secret_ = place().secret;
  publish(inbox_, grant(told + 70'000'001));
  ASSERT_THAT(notices_, SizeIs(2));
  EXPECT_EQ(notices_[0].kind, Notice::Kind::granted);
  EXPECT_EQ(notices_[1].kind, Notice::Kind::changed);
  EXPECT_FALSE(notices_[1].record);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("clock")));
}

TEST_F(RedisSubscriptions, AGrantThatComesBeforeTheWatchIsKeptForIt) {
  tell_time();
  watch(waiter);
  const auto lingering = watch(waiter);
  connect();
  confirm(inbox_);
  confirm("simba:{m}:w");
  pong();
  subscriptions_.remove(lingering, now_);
  subscriptions_.remove(lingering - 1, now_);
  secret_ = place().secret;
  notices_.clear();
  publish(inbox_, grant(7));
  EXPECT_THAT(notices_, IsEmpty());
  watch(waiter);
  ASSERT_THAT(notices_, SizeIs(1));
  EXPECT_EQ(notices_[0].kind, Notice::Kind::granted);
}

TEST_F(RedisSubscriptions, WhoComesBackSoonNeitherSubscribesNorLooksTwice) {
  settle();
  subscriptions_.remove(1, now_);
  now_ += 500ms;
  EXPECT_EQ(place().inbox, inbox_);
  watch(waiter);
  EXPECT_THAT(notices_, IsEmpty());
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(RedisSubscriptions, WhoWatchesWithoutHavingAskedSinceTheSubscriptionLooksAgain) {
  settle();
  subscriptions_.remove(1, now_);
  watch(waiter);
  EXPECT_THAT(notices_, SizeIs(1));
}

TEST_F(RedisSubscriptions, AWakeUpBetweenTheAnswerAndTheWatchIsNotLost) {
  settle();
  subscriptions_.remove(1, now_);
  place();
  publish("simba:{m}:w", "released@@jvm");
  watch(waiter);
  EXPECT_THAT(notices_, SizeIs(1));
}

TEST_F(RedisSubscriptions, TheJvmLibraryWakesAWaiter) {
  settle();
  publish("simba:{m}:w", "released@@jvm");
  ASSERT_THAT(notices_, SizeIs(1));
  EXPECT_EQ(notices_[0].kind, Notice::Kind::changed);
  EXPECT_FALSE(notices_[0].record);
}

TEST_F(RedisSubscriptions, AnObserverIsToldOfAcquisitionsAndReleases) {
  watch(observer);
  connect();
  confirm(inbox_);
  confirm("simba:{m}");
  EXPECT_THAT(notices_, IsEmpty());
  confirm("simba:releases:{m}");
  EXPECT_THAT(notices_, SizeIs(1));
  publish("simba:{m}", "acquired@@x");
  publish("simba:releases:{m}", "released@@x");
  EXPECT_THAT(notices_, SizeIs(3));
}

TEST_F(RedisSubscriptions, ASubscriptionThatNobodyNeedsEndsAfterAWhile) {
  settle();
  subscriptions_.remove(1, now_);
  now_ += 1'900ms;
  tick();
  EXPECT_FALSE(subscriptions_.empty());
  now_ += 100ms;
  sent_.clear();
  tick();
  EXPECT_THAT(sent_, ElementsAre("UNSUBSCRIBE simba:{m}:w"));
  EXPECT_TRUE(subscriptions_.empty());
}

TEST_F(RedisSubscriptions, AConfirmationOfAnEarlierSubscriptionIsNotTakenForTheNewOne) {
  watch(waiter);
  connect();
  confirm(inbox_);
  subscriptions_.remove(1, now_);
  now_ += 2s;
  tick();         // gives the channel up before it is confirmed,
  watch(waiter);  // and asks for it again
  confirm("simba:{m}:w");
  EXPECT_THAT(notices_, IsEmpty());
  confirm("simba:{m}:w");
  EXPECT_THAT(notices_, SizeIs(1));
}

TEST_F(RedisSubscriptions, AfterABreakEverybodySubscribesAndLooksAgainUnderANewInbox) {
  settle();
  const std::string old_inbox = inbox_;
  subscriptions_.disconnected();
  EXPECT_EQ(place().inbox, "");
  connect();
  EXPECT_NE(inbox_, old_inbox);
  publish(old_inbox, grant(7));
  EXPECT_THAT(notices_, IsEmpty());
  confirm(inbox_);
  confirm("simba:{m}:w");
  EXPECT_THAT(notices_, SizeIs(1));
  EXPECT_EQ(place().inbox, inbox_);
}

TEST_F(RedisSubscriptions, AGrantAfterABreakDoesNotCountFromAPingBeforeIt) {
  settle();
  subscriptions_.disconnected();
  now_ += 5s;
  connect();
  confirm(inbox_);
  confirm("simba:{m}:w");
  secret_ = place().secret;
  notices_.clear();
  publish(inbox_, grant(7));
  EXPECT_EQ(notices_.at(0).kind, Notice::Kind::changed);
  pong();
  secret_ = place().secret;
  publish(inbox_, grant(8));
  EXPECT_EQ(notices_.at(1).record->counted_from, now_);
}

TEST_F(RedisSubscriptions, ShortLeasesArePingedForOften) {
  watch({.mutex = "m", .contender_id = "w", .ttl = 1s, .transition = 600ms});
  EXPECT_EQ(subscriptions_.interval(), 100ms);
  watch({.mutex = "m", .contender_id = "x", .ttl = 1h, .transition = 0s});
  EXPECT_EQ(subscriptions_.interval(), 100ms);
}

TEST_F(RedisSubscriptions, PingsAsSeldomAsThoseWhoAreLeftNeedIt) {
  watch(observer);
  EXPECT_EQ(subscriptions_.interval(), 1s);
  const auto quick = watch({.mutex = "m", .contender_id = "w", .ttl = 200ms, .transition = 100ms});
  const auto slower = watch({.mutex = "m", .contender_id = "x", .ttl = 1s, .transition = 600ms});
  EXPECT_EQ(subscriptions_.interval(), 20ms);
  subscriptions_.remove(quick, now_);
  now_ += 2s;
  tick();
  EXPECT_EQ(subscriptions_.interval(), 100ms);
  subscriptions_.remove(slower, now_);
  now_ += 2s;
  tick();
  EXPECT_EQ(subscriptions_.interval(), 1s) << "only an observer is left";
}

TEST_F(RedisSubscriptions, APingWithoutAPongIsSeen) {
  settle();
  EXPECT_EQ(subscriptions_.unanswered_since(), never);
  now_ += 1s;
  tick();
  const LocalTime pinged = now_;
  now_ += 1s;
  tick();
  EXPECT_EQ(subscriptions_.unanswered_since(), pinged);
}

TEST_F(RedisSubscriptions, WhatIsNotUnderstoodIsIgnoredAndLoggedOnceInAWhile) {
  settle();
  for (int i = 0; i < 100; ++i) {
    publish("simba:{m}:w", "garbage");
    publish(inbox_, std::string(100'000, 'x'));
    publish("simba:{m}:w", "released@@");
    receive(integer_reply(5));
    receive(array_reply({}));
  }
  EXPECT_THAT(notices_, IsEmpty());
  EXPECT_THAT(warnings_, SizeIs(1));
  now_ += 10s;
  publish("simba:{m}:w", "garbage");
  EXPECT_THAT(warnings_, SizeIs(2));
}

TEST_F(RedisSubscriptions, ARefusedSubscriptionEndsTheConnectionAndNamesTheRuleThatIsMissing) {
  watch(waiter);
  connect();
  auto& refused = effects();
  subscriptions_.received(
      error_reply("NOPERM this user has no permissions to access one of the channels used"),
      "Redis at here", now_, refused);
  ASSERT_TRUE(refused.refused);
  EXPECT_THAT(refused.refused->what(), HasSubstr("&simba:*"));
}

TEST_F(RedisSubscriptions, ALateGrantOfOneWaitIsNotForTheNextServiceOfTheSameName) {
  settle();
  const std::string late = grant(7);
  subscriptions_.remove(1, now_);
  EXPECT_NE(place().secret, secret_);
  watch(waiter);
  publish(inbox_, late);
  EXPECT_THAT(notices_, IsEmpty());
  EXPECT_THAT(given_back_, ElementsAre("m w 7"));
}

TEST_F(RedisSubscriptions, AGrantToOneWhoHasStoppedIsGivenBack) {
  settle();
  subscriptions_.remove(1, now_);
  publish(inbox_, grant(7));
  EXPECT_THAT(given_back_, ElementsAre("m w 7"));
}

TEST_F(RedisSubscriptions, AGrantThatNoWatchComesForIsGivenBackInTheEnd) {
  settle();
  subscriptions_.remove(1, now_);
  secret_ = place().secret;
  publish(inbox_, grant(7));
  EXPECT_THAT(given_back_, IsEmpty());
  now_ += 3s;
  tick();
  EXPECT_THAT(given_back_, ElementsAre("m w 7"));
}

TEST(RedisSubscriptionsWithReplicas, AGrantIsOnlyAHint) {
  Subscriptions subscriptions{make_seeded_random(1), Subscriptions::Grants::are_hints};
  Subscriptions::Effects effects;
  std::vector<Notice> notices;
  const LocalTime now{1000s};
  subscriptions.saw_time(StoreTime{1'700'000'000s}, now);
  subscriptions.add(
      waiter, [&](const Notice& notice) { notices.push_back(notice); }, now, effects);
  subscriptions.connected(now, effects);
  const auto from = effects.commands.find("simba:inbox:");
  const std::string inbox = effects.commands.substr(from, 44);
  const auto receive = [&](std::vector<Reply> parts) {
    effects = {};
    subscriptions.received(array_reply(std::move(parts)), "here", now, effects);
    for (const auto& delivery : effects.deliveries) (*delivery.handler)(delivery.notice);
  };
  receive({text_reply("subscribe"), text_reply(inbox), integer_reply(1)});
  receive({text_reply("subscribe"), text_reply("simba:{m}:w"), integer_reply(2)});
  receive({text_reply("pong"), text_reply("")});
  const auto secret = subscriptions.place_for("m", "w", now).secret;
  notices.clear();
  receive({text_reply("message"), text_reply(inbox),
           text_reply("granted " + secret + " 7 10000 6000 1700000000000")});
  ASSERT_THAT(notices, SizeIs(1));
  EXPECT_EQ(notices[0].kind, Notice::Kind::changed);
}

}  // namespace
}  // namespace simba::redis
