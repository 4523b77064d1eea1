#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "process/redis/contenders.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "simba/testkit/recording_retriever.hpp"
#include "support/safety.hpp"
#include "support/servers.hpp"

namespace simba::redis::test {
namespace {

using support::eventually;
using support::now;
using support::RedisServer;
using support::scaled;
using testkit::RecordingContender;
using testkit::RecordingRetriever;

/// What none of Simba's contenders publishes.
std::vector<std::string> hostile_messages() {
  using namespace std::string_literals;
  std::vector<std::string> messages{"",
                                    "x",
                                    "acquired",
                                    "released",
                                    "acquired@@",
                                    "released@@",
                                    "acquired@@\n\x1b[31mred",
                                    "released@@a@@b",
                                    "released@@\0\xff"s,
                                    "acquired@@" + std::string(5'000, 'x'),
                                    "granted",
                                    "granted ",
                                    "granted 1",
                                    "granted 1 2 3 4",
                                    "granted 1 2 600 400 0",
                                    "granted 1 2 600 400 1794759757951 ",
                                    "granted -1 -1 -1 -1 -1",
                                    "granted 99999999999999999999 2 600 400 1794759757951",
                                    "granted 1 18446744073709551615 600 400 1794759757951",
                                    "granted 0000000000000000000000000000000000000001 "
                                    "18446744073709551615 600 400 1794759757951",
                                    "GRANTED 1 2 3 4 5",
                                    "*3\r\n$7\r\nmessage\r\n"};
  messages.push_back(std::string(1'000'000, '@'));
  messages.push_back("granted " + std::string(1'000'000, '1'));
  return messages;
}

/// Tokens of a forged grant: as great as can be, and one that the server could have given just now.
std::vector<std::string> forged_tokens() {
  const auto time = std::chrono::system_clock::now().time_since_epoch() + 1s;
  return {"18446744073709551615",
          std::to_string(std::chrono::floor<std::chrono::microseconds>(time).count())};
}

/// What a SplitMix64 yields, before and after a number that it has yielded.
class SplitMixGuess {
 public:
  explicit SplitMixGuess(std::uint64_t yielded) {
    std::uint64_t z = unshifted(yielded, 31) * inverse(0x94d049bb133111eb);
    z = unshifted(z, 27) * inverse(0xbf58476d1ce4e5b9);
    state_ = unshifted(z, 30);
  }

  std::uint64_t at(int place) const {
    std::uint64_t z = state_ + static_cast<std::uint64_t>(place) * 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  /// The x of which x ^ (x >> bits) was made.
  static std::uint64_t unshifted(std::uint64_t value, unsigned bits) {
    std::uint64_t x = value;
    for (unsigned known = bits; known < 64; known += bits) x = value ^ (x >> bits);
    return x;
  }

  static std::uint64_t inverse(std::uint64_t odd) {
    std::uint64_t x = odd;
    for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
    return x;
  }

  std::uint64_t state_ = 0;
};

class RedisMessages : public ::testing::Test {
 protected:
  RedisOptions options(std::shared_ptr<Logger> log) const {
    auto result = support::redis_options(server_.location(), short_contention());
    result.runtime = make_runtime({.log = std::move(log)});
    return result;
  }

  /// Publishes a text on every channel on which one of ours listens, and says how many these were.
  std::size_t publish(const std::string& text) {
    const auto channels = console_.ask({"PUBSUB", "CHANNELS", "simba:*"}).texts();
    for (const auto& channel : channels) {
      console_.ask({"PUBLISH", channel, text});
    }
    return channels.size();
  }

  /// Waits until so many channels have a listener.
  void wait_for_channels(std::size_t count) {
    ASSERT_TRUE(eventually([&] {
      return console_.ask({"PUBSUB", "CHANNELS", "simba:*"}).items.size() >= count;
    }));
  }

  /// Waits until the contender is in line and listens.
  void wait_until_in_line(const std::string& contender_id) {
    ASSERT_TRUE(eventually([&] {
      const auto entry = console_.ask({"HGET", owner_key("m") + ":waiters", contender_id}).text;
      return !entry.empty() && !entry.starts_with('-');
    }));
  }

  /// Lets the waiter look at the mutex; when it has, it has read all that was published before.
  void wait_for_a_look_of(const std::string& contender_id) {
    const auto calls = [&] {
      const auto stats = console_.value({"INFO", "commandstats"});
      return std::stol(support::info_value(stats, "cmdstat_evalsha").substr(6));
    };
    const auto before = calls();
    console_.ask({"PUBLISH", channel_of("m", contender_id), "released@@someone"});
    ASSERT_TRUE(eventually([&] { return calls() > before; }));
  }

  /// A user without any right to keys, who may see which channels there are, listen and publish.
  Console attacker() {
    console_.ask({"ACL", "SETUSER", "attacker", "on", ">" + server_.location().password,
                  "resetkeys", "&*", "-@all", "+publish", "+pubsub|channels", "+psubscribe"});
    return Console{server_.location(), server_.location().port, "attacker"};
  }

  const RedisServer server_;
  Console console_{server_.location()};
};

TEST_F(RedisMessages, HostileOnesUnderLoadCostNoMutualExclusionAndFewLines) {
  Contenders contenders;
  const auto with = support::redis_options(server_.location(), short_contention());
  contenders.add_process("other process", with);
  for (int i = 0; i < 3; ++i) {
    contenders.add(with);
  }
  RecordingRetriever observer{contenders.mutex()};
  const auto log = std::make_shared<testkit::CapturingLogger>();
  const auto factory = make_redis_factory(options(log));
  const auto observing = factory->create_mutex_retrieval_service(observer);
  observing->start();
  contenders.expect_all_take_part();

  const auto begin = now();
  for (const auto& message : hostile_messages()) {
    publish(message);
    contenders.expect_recovery("a message of bytes: " + std::to_string(message.size()));
  }
  contenders.expect_all_take_part();
  const auto periods = static_cast<std::size_t>((now() - begin) / 10s) + 1;

  EXPECT_GE(contenders.log().count("ignored"), 1U);
  EXPECT_LE(contenders.log().count("ignored"), 3 * periods) << contenders.log().text();
  EXPECT_GE(log->count("ignored"), 1U);
  EXPECT_LE(log->count("ignored"), periods) << log->text();
  for (const auto& line : contenders.log().lines()) {
    EXPECT_LT(line.message.size(), 1'000U);
    EXPECT_EQ(line.message.find('\x1b'), std::string::npos);
    EXPECT_EQ(line.message.find('\n'), std::string::npos);
  }
  for (const auto& owner : observer.owners()) {
    EXPECT_TRUE(owner.empty() || owner.find(':') != std::string::npos) << owner;
  }
  contenders.end();
}

TEST_F(RedisMessages, AForgedGrantMakesNobodyAnOwner) {
  const auto log = std::make_shared<testkit::CapturingLogger>();
  const auto factory = make_redis_factory(options(log));
  console_.ask({"SET", owner_key("m"), "someone", "PX", "60000"});
  RecordingContender waiter{"m"};
  const auto service = factory->create_mutex_contend_service(waiter);
  service->start();
  wait_until_in_line(service->contender_id());

  for (const char digit : {'0', '1', '9'}) {
    const std::string secret(40, digit);
    for (const auto& token : forged_tokens()) {
      EXPECT_GT(publish("granted " + secret + " " + token + " 600 400 1894759757951"), 1U);
    }
  }
  publish("acquired@@" + service->contender_id());
  publish("released@@someone");
  const auto begin = now();
  ASSERT_TRUE(eventually([&] { return now() > begin + short_lease; }));

  EXPECT_EQ(waiter.acquisitions(), 0U);
  EXPECT_EQ(console_.value({"GET", owner_key("m")}), "someone");
}

// Once the names of inboxes and the numbers of waiters came from one generator, so that who saw the
// one could compute the other.
TEST_F(RedisMessages, WhoMayPublishCannotComputeAGrantFromTheNameOfAnInbox) {
  const auto log = std::make_shared<testkit::CapturingLogger>();
  const auto factory = make_redis_factory(options(log));
  console_.ask({"SET", owner_key("m"), "someone", "PX", "60000"});
  RecordingContender waiter{"m"};
  const auto service = factory->create_mutex_contend_service(waiter);
  service->start();
  wait_until_in_line(service->contender_id());

  auto mallory = attacker();
  const auto inboxes = mallory.ask({"PUBSUB", "CHANNELS", "simba:inbox:*"}).texts();
  ASSERT_EQ(inboxes.size(), 1U);
  const std::string digits = inboxes[0].substr(std::string{"simba:inbox:"}.size());
  for (const std::size_t half : {0U, 16U}) {
    const SplitMixGuess guess{std::stoull(digits.substr(half, 16), nullptr, 16)};
    for (int place = -100; place <= 100; ++place) {
      const auto forge = [&](const std::string& secret) {
        for (const auto& token : forged_tokens()) {
          mallory.ask({"PUBLISH", inboxes[0],
                       "granted " + secret + " " + token + " 600 400 1894759757951"});
        }
      };
      forge(std::to_string(guess.at(place) >> 1U));
      forge(fmt::format("{:020}{:020}", guess.at(place), guess.at(place + 1)));
    }
  }
  wait_for_a_look_of(service->contender_id());

  EXPECT_EQ(waiter.acquisitions(), 0U) << support::safety_violation << "two owners";
  EXPECT_FALSE(service->is_owner()) << support::safety_violation << "two owners";
}

TEST_F(RedisMessages, WhoSeesAGrantCannotUseItAgain) {
  auto mallory = attacker();
  mallory.ask({"PSUBSCRIBE", "simba:inbox:*"});
  const auto log = std::make_shared<testkit::CapturingLogger>();
  const auto factory = make_redis_factory(options(log));
  const auto others = make_redis_factory(options(log));
  SimbaLocker owner{"m", *others};
  owner.acquire(scaled(10s));
  RecordingContender waiter{"m"};
  const auto service = factory->create_mutex_contend_service(waiter);
  service->start();
  wait_until_in_line(service->contender_id());
  owner.close();
  ASSERT_TRUE(waiter.wait_for_acquisitions(1, scaled(10s)));
  const auto seen = mallory.receive(scaled(10s));
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->items.size(), 4U);
  const std::string inbox = seen->items[2].text;
  const std::string grant = seen->items[3].text;
  ASSERT_TRUE(grant.starts_with("granted ")) << grant;
  service->stop();
  ASSERT_TRUE(eventually([&] { return console_.value({"GET", owner_key("m")}) == "nil"; }));

  console_.ask({"SET", owner_key("m"), "someone", "PX", "60000"});
  service->start();
  wait_until_in_line(service->contender_id());
  const std::size_t secret_ends = grant.find(' ', std::string{"granted "}.size());
  const std::size_t token_ends = grant.find(' ', secret_ends + 1);
  const auto token = std::stoull(grant.substr(secret_ends + 1, token_ends - secret_ends - 1));
  auto publisher = attacker();
  for (const auto later : {0ULL, 1ULL, 10'000'000ULL}) {
    const auto replayed =
        grant.substr(0, secret_ends + 1) + std::to_string(token + later) + grant.substr(token_ends);
    EXPECT_EQ(publisher.ask({"PUBLISH", inbox, replayed}).text, "2");
  }
  wait_for_a_look_of(service->contender_id());

  EXPECT_EQ(waiter.acquisitions(), 1U) << support::safety_violation << "two owners";
}

TEST_F(RedisMessages, AnObserverBelievesTheServerAndNotAMessage) {
  const auto log = std::make_shared<testkit::CapturingLogger>();
  const auto factory = make_redis_factory(options(log));
  RecordingRetriever observer{"m"};
  const auto observing = factory->create_mutex_retrieval_service(observer);
  observing->start();
  RecordingContender contender{"m"};
  const auto service = factory->create_mutex_contend_service(contender);
  service->start();
  ASSERT_TRUE(observer.wait_for_owner(service->contender_id(), scaled(10s)));

  for (int i = 0; i < 50; ++i) {
    publish("acquired@@liar");
    publish("released@@" + service->contender_id());
  }
  service->stop();
  ASSERT_TRUE(observer.wait_for_owner("", scaled(10s)));

  for (const auto& owner : observer.owners()) {
    EXPECT_NE(owner, "liar");
  }
  EXPECT_EQ(contender.releases(), 1U);
}

TEST_F(RedisMessages, AFloodOfWakeUpsDoesNotFloodTheServer) {
  const auto log = std::make_shared<testkit::CapturingLogger>();
  const auto factory = make_redis_factory(options(log));
  console_.ask({"SET", owner_key("m"), "someone", "PX", "60000"});
  RecordingContender waiter{"m"};
  const auto service = factory->create_mutex_contend_service(waiter);
  service->start();
  wait_for_channels(2);  // its inbox and its own
  const auto calls = [&] {
    const auto stats = console_.value({"INFO", "commandstats"});
    return std::stol(support::info_value(stats, "cmdstat_evalsha").substr(6));
  };

  const auto before = calls();
  const auto channel = channel_of("m", service->contender_id());
  for (int i = 0; i < 2'000; ++i) {
    console_.send({"PUBLISH", channel, "released@@someone"});
  }
  for (int i = 0; i < 2'000; ++i) {
    ASSERT_TRUE(console_.receive(10s));
  }

  EXPECT_LE(calls() - before, 2'100) << "more than one attempt for each message";
  EXPECT_EQ(waiter.acquisitions(), 0U);
  console_.ask({"DEL", owner_key("m")});
  console_.ask({"PUBLISH", channel, "released@@someone"});
  EXPECT_TRUE(waiter.wait_for_acquisitions(1, scaled(short_lease)));
}

}  // namespace
}  // namespace simba::redis::test
