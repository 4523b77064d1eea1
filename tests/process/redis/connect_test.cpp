#include <future>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/redis/contenders.hpp"
#include "process/redis/fixed_reply_server.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "simba/testkit/served_time.hpp"
#include "support/ownership/grows.hpp"
#include "support/resident_memory.hpp"
#include "support/servers.hpp"

namespace simba::redis::test {
namespace {

using support::eventually;
using support::RedisServer;
using support::scaled;
using support::Tls;
using ::testing::HasSubstr;
using testkit::RecordingContender;
using testkit::ServedTime;

struct Told {
  ErrorKind kind = ErrorKind::internal;
  std::string text{"nothing"};
};

/// The first error with this text of a contender with these options. There may be others: an answer
/// that comes late is none.
Told error_with(const std::string& text, RedisOptions options) {
  const auto log = std::make_shared<testkit::CapturingLogger>();
  options.runtime = make_runtime({.log = log});
  options.contention = short_contention();
  options.connect_timeout = 100ms;
  const auto factory = make_redis_factory(options);
  RecordingContender contender{"m"};
  const auto service = factory->create_mutex_contend_service(contender);
  service->start();
  Told told;
  EXPECT_TRUE(eventually([&] {
    for (const auto& event : contender.events()) {
      if (const auto* failed = std::get_if<AcquireFailed>(&event)) {
        told = {failed->error.kind(), failed->error.what()};
        if (told.text.find(text) != std::string::npos) return true;
      }
    }
    return contender.acquisitions() > 0;
  })) << told.text;
  EXPECT_EQ(contender.acquisitions(), 0U);
  service->stop();
  if (!options.password.empty()) {
    EXPECT_TRUE(options.runtime->log->flush(10s));
    EXPECT_FALSE(log->contains(options.password.reveal()));
  }
  EXPECT_EQ(told.text.find('\n'), std::string::npos);
  EXPECT_LT(told.text.size(), 600U);
  std::cout << to_string(told.kind) << ": " << told.text << '\n';
  return told;
}

RedisOptions to_port(std::uint16_t port) {
  return support::redis_options(support::redis_location(), port);
}

TEST(RedisConnect, APlainClientAtAPortForTlsIsToldSo) {
  const RedisServer tls{Tls::on};
  auto options = support::redis_options(tls.location());
  options.tls = {};
  error_with("TLS", options);
}

TEST(RedisConnect, AClientWithTlsAtAPlainPortIsToldSo) {
  const RedisServer tls{Tls::on};
  auto options = support::redis_options(tls.location());
  options.endpoints.at(0).port = support::redis_location().port;
  error_with("TLS", options);
}

TEST(RedisConnect, AServerThatIsNoRedisIsRefused) {
  for (const std::string text :
       {"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", "220 mail.example ESMTP\r\n",
        "J\x01\x02\n8.0.36 mysql_native_password\r\n", "*1000000000\r\n", ":1\r\n"}) {
    SCOPED_TRACE(text);
    const FixedReplyServer other{text};
    const auto told = error_with("; is it a Redis server?", to_port(other.port()));
    EXPECT_THAT(told.text, HasSubstr(std::to_string(other.port())));
    EXPECT_EQ(told.kind, ErrorKind::configuration);
  }
  for (const std::string unfinished : {"\0\0\0\0", "$999999999999\r\n", "+OK"}) {
    SCOPED_TRACE(unfinished);
    const FixedReplyServer other{unfinished};
    error_with(std::to_string(other.port()), to_port(other.port()));
  }
  const support::Location sql = support::postgresql_location();
  error_with(std::to_string(sql.port), to_port(sql.port));
}

TEST(RedisConnect, AReplyWithoutEndCostsNeitherMemoryNorTime) {
  struct Reply {
    const char* name;
    std::string begin;
    std::string endless;
    const char* error = "it is longer than 8388608 bytes";
  };
  const std::string text(1'000, 'x');
  for (const auto& [name, begin, endless, error] :
       {Reply{"one text", "$400000000\r\n", text},
        Reply{"one line", "+", text, "a line of it is longer than 65536 bytes"},
        Reply{"many texts", "*131072\r\n", "$1000\r\n" + text + "\r\n"}}) {
    for (const std::string greeting : {"", "+OK\r\n+OK\r\n"}) {  // from the log-in on, or after it
      SCOPED_TRACE(std::string{name} + (greeting.empty() ? "" : " after the log-in"));
      const FixedReplyServer rogue{begin, greeting, endless};
      const auto begun = now();
      const std::size_t growth =
          support::growth_during([&] { error_with(error, to_port(rogue.port())); });
      EXPECT_LT(now() - begun, scaled(5s));
      EXPECT_LT(growth, 96U << 20U) << "8 MiB on each connection, and what is copied";
    }
  }
}

TEST(RedisConnect, AServerThatLoadsOrHasNoRoomIsTriedAgain) {
  for (const std::string text :
       {"LOADING Redis is loading the dataset in memory", "ERR max number of clients reached",
        "MISCONF Redis is configured to save RDB snapshots", "NOREPLICAS Not enough good replicas",
        "CLUSTERDOWN The cluster is down", "MASTERDOWN Link with MASTER is down"}) {
    const FixedReplyServer other{"-" + text + "\r\n"};
    const auto told =
        error_with(text.starts_with("ERR") ? "maxclients" : "; ", to_port(other.port()));
    EXPECT_EQ(told.kind, ErrorKind::unavailable) << told.text;
  }
}

TEST(RedisConnect, AServerThatReadsItsDataBackKeepsWhatIsHeld) {
  const RedisServer server;
  Console console{server.location()};
  console.ask({"CONFIG", "SET", "loading-process-events-interval-bytes", "1024"});
  console.ask({"CONFIG", "SET", "key-load-delay", "50"});
  console.ask({"DEBUG", "POPULATE", "10000"});
  auto options = support::redis_options(server.location());
  options.contention.ttl = 4'000ms;
  options.contention.transition = 2'000ms;
  const auto log = std::make_shared<testkit::CapturingLogger>();
  options.runtime = make_runtime({.log = log});
  const auto factory = make_redis_factory(options);
  SimbaLocker owner{"held", *factory};
  owner.acquire(scaled(10s));

  Console other{server.location()};
  console.send({"DEBUG", "RELOAD"});
  ASSERT_TRUE(eventually([&] {
    try {
      return other.value({"PING"}) != "PONG";
    } catch (const std::runtime_error&) {  // it has begun to load
      return true;
    }
  }));
  RecordingContender late{"new"};
  const auto service = factory->create_mutex_contend_service(late);
  service->start();

  EXPECT_TRUE(late.wait_for_acquisitions(1, scaled(10s)));
  EXPECT_TRUE(log->contains("LOADING")) << log->text();
  EXPECT_TRUE(owner.is_held());
}

TEST(RedisConnect, AClusterThatWasNotSaidToBeOneIsNamed) {
  auto location = support::redis_cluster_location();
  const auto ports = std::exchange(location.ports, {});
  int refusals = 0;
  for (const auto port : ports) {
    auto options = support::redis_options(location, port);
    options.runtime = make_runtime({.log = std::make_shared<testkit::CapturingLogger>()});
    const auto factory = make_redis_factory(options);
    try {
      static_cast<void>(SimbaLocker{"m", *factory}.try_acquire());
    } catch (const Error& error) {
      ++refusals;
      EXPECT_EQ(error.kind(), ErrorKind::configuration);
      EXPECT_THAT(error.what(), HasSubstr("set topology to cluster"));
    }
  }
  EXPECT_EQ(refusals, 2) << "of three nodes one holds the mutex";
}

TEST(RedisConnect, ASingleServerThatIsSaidToBeAClusterOrASentinelIsNamed) {
  auto options = support::redis_options(support::redis_location());
  options.topology = Topology::sentinel;
  options.sentinel_user = options.user;
  options.sentinel_password = options.password;
  error_with("sentinel", options);
}

TEST(RedisConnect, AUnixSocketLeadsToTheSameMutexes) {
  const auto location = support::redis_location();
  const auto mutex = unique("socket");
  auto options = support::redis_options(location);
  const auto by_port = make_redis_factory(options);
  options.endpoints = {Endpoint{.unix_socket = location.socket}};
  const auto by_socket = make_redis_factory(options);
  SimbaLocker owner{mutex, *by_port};
  owner.acquire(scaled(10s));
  SimbaLocker waiter{mutex, *by_socket};
  EXPECT_FALSE(waiter.try_acquire());
  auto acquired = std::async(std::launch::async, [&] { waiter.acquire(scaled(20s)); });
  Console console{location};
  ASSERT_TRUE(eventually([&] { return console.value({"ZCARD", line_key(mutex)}) == "1"; }));

  const auto taken = ServedTime::taken_by([&] {
    owner.close();
    acquired.get();
  });

  EXPECT_LT(taken, scaled(500ms));
  EXPECT_TRUE(support::grows(owner.fencing_token(), waiter.fencing_token()));
}

TEST(RedisConnect, TwoDatabasesDoNotSeeEachOther) {
  const auto location = support::redis_location();
  const auto mutex = unique("database");
  auto options = support::redis_options(location);
  const auto zero = make_redis_factory(options);
  options.database = 5;
  const auto five = make_redis_factory(options);
  SimbaLocker one{mutex, *zero};
  SimbaLocker two{mutex, *five};

  EXPECT_TRUE(one.try_acquire());
  EXPECT_TRUE(two.try_acquire());

  Console console{location};
  console.ask({"SELECT", "5"});
  EXPECT_EQ(console.value({"GET", owner_key(mutex)}), two.contender_id());
  SimbaLocker three{mutex, *five};
  auto acquired = std::async(std::launch::async, [&] { three.acquire(scaled(20s)); });
  ASSERT_TRUE(eventually([&] { return console.value({"ZCARD", line_key(mutex)}) == "1"; }));
  const auto taken = ServedTime::taken_by([&] {
    one.close();  // tells everyone who listens, in whichever database
    two.close();
    acquired.get();
  });
  EXPECT_LT(taken, scaled(500ms));
  EXPECT_TRUE(three.is_held());
}

TEST(RedisConnect, ConnectionsHaveTheNameOfTheClientAndThereAreTwo) {
  const auto location = support::redis_location();
  const auto mutex = unique("name");
  auto options = support::redis_options(location);
  options.client_name = unique("client");
  const auto factory = make_redis_factory(options);
  std::vector<std::unique_ptr<SimbaLocker>> owners;
  for (int i = 0; i < 20; ++i) {
    owners.push_back(std::make_unique<SimbaLocker>(fmt::format("{}-{}", mutex, i), *factory));
    owners.back()->acquire(scaled(10s));
  }
  RecordingContender waiter{mutex + "-0"};
  const auto service = factory->create_mutex_contend_service(waiter);
  service->start();
  Console console{location};
  const auto count = [&] {
    const auto list = console.value({"CLIENT", "LIST"});
    std::size_t found = 0;
    for (auto at = list.find("name=" + options.client_name); at != std::string::npos;
         at = list.find("name=" + options.client_name, at + 1)) {
      ++found;
    }
    return found;
  };

  EXPECT_TRUE(eventually([&] { return count() == 2; })) << count();
  EXPECT_TRUE(eventually([&] { return console.value({"ZCARD", line_key(mutex + "-0")}) == "1"; }));
  EXPECT_EQ(count(), 2U);
}

}  // namespace
}  // namespace simba::redis::test
