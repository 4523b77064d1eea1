#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "process/redis/contenders.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "simba/testkit/recording_retriever.hpp"
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
                                    "GRANTED 1 2 3 4 5",
                                    "*3\r\n$7\r\nmessage\r\n"};
  messages.push_back(std::string(1'000'000, '@'));
  messages.push_back("granted " + std::string(1'000'000, '1'));
  return messages;
}

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
  wait_for_channels(2);  // its inbox and its own

  for (const std::string number : {"1", "2", "9223372036854775807", "123456789"}) {
    EXPECT_GT(publish("granted " + number + " 1894759757951204 600 400 1894759757951"), 1U);
  }
  publish("acquired@@" + service->contender_id());
  publish("released@@someone");
  const auto begin = now();
  ASSERT_TRUE(eventually([&] { return now() > begin + short_lease; }));

  EXPECT_EQ(waiter.acquisitions(), 0U);
  EXPECT_EQ(console_.value({"GET", owner_key("m")}), "someone");
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
