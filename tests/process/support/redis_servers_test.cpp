#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sys/wait.h>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/redis/console.hpp"
#include "support/patience.hpp"
#include "support/servers.hpp"

namespace simba::redis::test {
namespace {

namespace fs = std::filesystem;
using support::eventually;
using support::RedisClusterServers;
using support::RedisSentinelServers;
using support::RedisServer;
using support::Tls;
using support::within;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The role of a node; empty where it does not answer.
std::string role(const support::Server& server) {
  try {
    return Console{server.location()}.ask({"ROLE"}).items.at(0).text;
  } catch (const std::runtime_error&) {
    return {};
  }
}

/// The text of the error of a call that must fail.
template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

TEST(RedisLocation, OfAGroupSurvivesTheWayThroughText) {
  support::Location location;
  location.ports = {1, 65'535};
  location.master_name = "m";

  const auto copy = support::parse_location(to_string(location));

  EXPECT_EQ(copy.ports, location.ports);
  EXPECT_EQ(copy.master_name, "m");
  EXPECT_EQ(support::redis_options(copy).topology, Topology::sentinel);
}

TEST(RedisConsole, GivesTextsNumbersArraysAndNothing) {
  Console console{support::redis_location()};
  const auto key = unique("key");

  EXPECT_EQ(console.value({"GET", key}), "nil");
  EXPECT_TRUE(console.ask({"GET", key}).nil);
  EXPECT_EQ(console.value({"RPUSH", key, "a", ""}), "2");
  EXPECT_THAT(console.ask({"LRANGE", key, "0", "-1"}).texts(), ElementsAre("a", ""));
  EXPECT_THAT(error_of([&] { console.ask({"GET", key}); }), HasSubstr("WRONGTYPE"));
  EXPECT_EQ(console.value({"DEL", key}), "1");
}

TEST(RedisConsole, ReceivesMessages) {
  Console listener{support::redis_location()};
  Console speaker{support::redis_location()};
  const auto channel = unique("channel");
  listener.ask({"SUBSCRIBE", channel});

  EXPECT_EQ(speaker.value({"PUBLISH", channel, "hello"}), "1");

  const auto message = listener.receive(10s);
  ASSERT_TRUE(message);
  EXPECT_THAT(message->texts(), ElementsAre("message", channel, "hello"));
  EXPECT_FALSE(listener.receive(1ms));
}

TEST(RedisTestServer, LetsInTheUserOfSimbaForItsOwnNamesOnly) {
  const auto location = support::redis_location();
  Console simba{location, location.port, "simba"};

  EXPECT_EQ(simba.value({"GET", owner_key(unique("m"))}), "nil");
  EXPECT_THAT(error_of([&] { simba.ask({"GET", "other"}); }), HasSubstr("NOPERM"));
  EXPECT_THAT(error_of([&] { simba.ask({"SUBSCRIBE", "other"}); }), HasSubstr("NOPERM"));
  EXPECT_THAT(error_of([&] { Console(location, location.port, "default"); }),
              HasSubstr("WRONGPASS"));
}

TEST(RedisTestServer, ComesBackOnTheSamePortWithoutItsDataAfterItWasKilled) {
  RedisServer server;
  Console before{server.location(), server.port()};
  before.ask({"SET", "k", "v"});

  server.kill();
  EXPECT_NE(error_of([&] { before.ask({"PING"}); }), "no error");
  EXPECT_THAT(error_of([&] { Console{server.location()}; }), HasSubstr("refused"));
  server.start();

  Console after{server.location(), server.port()};
  EXPECT_EQ(after.value({"GET", "k"}), "nil");
}

TEST(RedisTestServer, KeepsItsDataThroughAKillWithAnAppendOnlyFile) {
  RedisServer server{Tls::off, {"--appendonly", "yes", "--appendfsync", "always"}};
  Console{server.location()}.ask({"SET", "k", "v"});

  server.kill();
  server.start();
  EXPECT_EQ(Console{server.location()}.value({"GET", "k"}), "v");
  server.restart();
  EXPECT_EQ(Console{server.location()}.value({"GET", "k"}), "v");
}

TEST(RedisTestServer, DoesNotAnswerWhilePaused) {
  RedisServer server;
  Console console{server.location(), server.port()};

  server.pause();
  console.send({"PING"});
  EXPECT_FALSE(console.receive(200ms));
  server.resume();

  EXPECT_EQ(console.receive(10s)->text, "PONG");
}

TEST(RedisTestServer, LetsTheAdministratorDoHarm) {
  RedisServer server;
  Console console{server.location()};

  EXPECT_EQ(console.value({"DEBUG", "SLEEP", "0"}), "OK");
  EXPECT_EQ(console.value({"CONFIG", "SET", "maxmemory", "100mb"}), "OK");
  EXPECT_EQ(console.value({"SCRIPT", "FLUSH"}), "OK");
  EXPECT_EQ(console.value({"FLUSHALL"}), "OK");
  EXPECT_EQ(console.value({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}), "0");
}

TEST(RedisTestServer, SpeaksOnlyTlsOverTcpWhereAsked) {
  const RedisServer server{Tls::on};

  EXPECT_EQ(Console{server.location()}.value({"PING"}), "PONG");  // by the Unix socket
  EXPECT_NE(error_of([&] { Console(server.location(), server.port()); }), "no error");
  EXPECT_TRUE(fs::exists(server.location().certificates + "/ca.crt"));
  EXPECT_EQ(support::redis_options(server.location()).tls.mode, TlsMode::verify);
}

TEST(RedisTestServer, SaysWhyItDoesNotStart) {
  EXPECT_THAT(error_of([] {
                RedisServer(Tls::off, {"--no-such-option", "1"});
              }),
              HasSubstr("no-such-option"));
}

class RedisClusterTestServers : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { servers = std::make_unique<RedisClusterServers>(); }
  static void TearDownTestSuite() { servers.reset(); }

  static Console console(std::size_t node) { return Console{servers->node(node).location()}; }

  static std::unique_ptr<RedisClusterServers> servers;
};

std::unique_ptr<RedisClusterServers> RedisClusterTestServers::servers;

TEST_F(RedisClusterTestServers, KeepEachKeyOnTheNodeOfItsSlot) {
  EXPECT_EQ(servers->location().ports.size(), 3U);
  for (const std::string key : {"a", "b", "c", "d", "e", "f"}) {
    const auto right = servers->node_of(key);
    EXPECT_EQ(console(right).value({"SET", key, "v"}), "OK");
    EXPECT_THAT(error_of([&] { console((right + 1) % 3).ask({"GET", key}); }), HasSubstr("MOVED"));
  }
}

TEST_F(RedisClusterTestServers, MoveASlotWithItsKeys) {
  const auto key = owner_key("moved");
  const auto from = servers->node_of(key);
  const auto to = (from + 1) % 3;
  console(from).ask({"SET", key, "v"});
  std::string after_the_keys;

  servers->move_slot(key, to, [&](int phase) {
    if (phase == 1) {
      after_the_keys = error_of([&] { console(from).ask({"GET", key}); });
    }
  });

  EXPECT_THAT(after_the_keys, HasSubstr("ASK"));
  EXPECT_EQ(console(to).value({"GET", key}), "v");
  EXPECT_THAT(error_of([&] { console(from).ask({"GET", key}); }), HasSubstr("MOVED"));
  servers->move_slot(key, from);
  EXPECT_EQ(console(from).value({"GET", key}), "v");
}

TEST_F(RedisClusterTestServers, AreWholeAgainWhenANodeComesBack) {
  servers->node(1).kill();
  EXPECT_TRUE(eventually([&] {
    return support::info_value(console(0).value({"CLUSTER", "INFO"}), "cluster_state") == "fail";
  }));
  EXPECT_EQ(role(servers->node(1)), "");

  servers->node(1).start();

  EXPECT_TRUE(eventually([&] { return servers->is_ok(); }));
}

TEST(RedisSentinelTestServers, FailOverAndTakeTheOldMasterBackAsAReplica) {
  RedisSentinelServers servers;
  ASSERT_EQ(servers.location().ports.size(), 3U);
  ASSERT_EQ(servers.master(), 0U);
  ASSERT_EQ(role(servers.node(1)), "slave");
  Console{servers.node(0).location()}.ask({"SET", "k", "v"});
  Console{servers.node(0).location()}.ask({"WAIT", "1", "5000"});

  EXPECT_EQ(servers.failovers(), 0U);
  servers.node(0).kill();
  EXPECT_TRUE(eventually([&] {
    return servers.master(0) == 1 && servers.master(2) == 1 && role(servers.node(1)) == "master";
  }));
  EXPECT_EQ(servers.failovers(), 1U);
  EXPECT_EQ(Console{servers.node(1).location()}.value({"GET", "k"}), "v");

  servers.node(0).start();
  EXPECT_TRUE(eventually([&] { return role(servers.node(0)) == "slave"; }));
  servers.node(1).restart();
  servers.sentinel(0).restart();
  EXPECT_TRUE(eventually([&] {
    return role(servers.node(0)) != role(servers.node(1)) &&
           role(servers.node(servers.master())) == "master";
  }));
}

TEST(RedisGroups, LeaveNothingBehindWhenTheirUserIsKilled) {
  const auto file = fs::temp_directory_path() / unique("simba-test-user");
  const pid_t user = ::fork();
  if (user == 0) {
    RedisClusterServers servers;
    std::ofstream{file} << servers.node(0).location().socket << '\n'
                        << servers.node(2).location().socket << std::endl;
    ::pause();
  }
  std::string first;
  std::string last;
  ASSERT_TRUE(eventually([&] {
    std::ifstream stream{file};
    return std::getline(stream, first).good() && std::getline(stream, last).good();
  }));
  EXPECT_TRUE(fs::exists(first) && fs::exists(last));

  ::kill(user, SIGKILL);

  EXPECT_TRUE(eventually([&] {
    return !fs::exists(fs::path{first}.parent_path()) && !fs::exists(fs::path{last}.parent_path());
  }));
  ::waitpid(user, nullptr, 0);
  fs::remove(file);
}

}  // namespace
}  // namespace simba::redis::test
