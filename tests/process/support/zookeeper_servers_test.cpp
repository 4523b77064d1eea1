#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/jvm/curator_contender.hpp"
#include "support/patience.hpp"
#include "support/servers.hpp"
#include "support/zookeeper/zookeeper_console.hpp"

namespace simba::zookeeper {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using support::CuratorContender;
using support::eventually;
using support::ZooKeeperConsole;
using support::ZooKeeperEnsemble;
using support::ZooKeeperNodeKind;
using support::ZooKeeperServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A text that no other test of this run has.
std::string unique(const std::string& prefix) {
  static std::atomic<int> count{0};
  return fmt::format("{}-{}-{}", prefix, ::getpid(), ++count);
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

/// Where a server keeps its data, by its own account.
fs::path data_folder(std::uint16_t port) {
  constexpr std::string_view key = "dataDir=";
  const auto answer = support::four_letter_word(port, "conf");
  const auto begin = answer.find(key);
  if (begin == std::string::npos) {
    return {};
  }
  const auto path = answer.substr(begin + key.size());
  return fs::path{path.substr(0, path.find('\n'))}.parent_path();  // without "version-2"
}

TEST(ZooKeeperConnectString, NamesAllServersOfALocation) {
  support::Location location;
  location.port = 1;
  EXPECT_EQ(connect_string(location), "127.0.0.1:1");
  location.ports = {1, 65'535};
  EXPECT_EQ(connect_string(location), "127.0.0.1:1,127.0.0.1:65535");
}

TEST(ZooKeeperConsole, CreatesReadsListsAndRemovesNodes) {
  ZooKeeperConsole console{support::zookeeper_location()};
  const auto root = "/" + unique("console");

  EXPECT_FALSE(console.exists(root));
  EXPECT_THAT(console.children(root), IsEmpty());
  EXPECT_FALSE(console.remove(root));
  const auto first = console.create(root + "/z-", "one", ZooKeeperNodeKind::ephemeral_sequential);
  const auto second = console.create(root + "/a-", "two", ZooKeeperNodeKind::ephemeral_sequential);

  EXPECT_EQ(first, root + "/z-0000000000");
  EXPECT_THAT(console.children(root), ElementsAre("z-0000000000", "a-0000000001"));
  EXPECT_THAT(console.line(root), ElementsAre("one", "two"));
  const auto node = console.node(second);
  ASSERT_TRUE(node);
  EXPECT_EQ(node->data, "two");
  EXPECT_EQ(node->owner, console.session());
  EXPECT_GT(node->created_zxid, console.node(first)->created_zxid);
  EXPECT_EQ(console.node(root)->children, 2);
  EXPECT_LE(console.node(root)->owner, 0);
  console.set(second, "new");
  EXPECT_EQ(console.node(second)->data, "new");
  EXPECT_THAT(error_of([&] { console.remove(root); }), HasSubstr("not empty"));
  EXPECT_TRUE(console.remove(first));
  EXPECT_TRUE(console.remove(second));
  EXPECT_TRUE(console.remove(root));
}

TEST(ZooKeeperConsole, EndsTheSessionOfSomeoneElseAtOnce) {
  ZooKeeperConsole console{support::zookeeper_location()};
  auto victim = std::make_unique<ZooKeeperConsole>(support::zookeeper_location(), 2s);
  const auto path = "/" + unique("victim");
  victim->create(path, "", ZooKeeperNodeKind::ephemeral);

  console.end_session(victim->session());

  EXPECT_FALSE(console.exists(path));
  EXPECT_TRUE(eventually([&] {
    const auto error = error_of([&] { victim->exists(path); });
    return error.find("expired") != std::string::npos ||
           error.find("invalid zhandle state") != std::string::npos;
  }));
}

TEST(ZooKeeperConsole, CountsWhatTheServersReceive) {
  const ZooKeeperServer server;
  ZooKeeperConsole console{server.location()};
  const auto received = [&] {
    for (const auto& one : support::zookeeper_connections(server.location())) {
      if (one.session == console.session()) {
        return one.received;
      }
    }
    return std::int64_t{-1};
  };
  const auto own = received();
  const auto all = support::zookeeper_packets(server.location());

  for (int i = 0; i < 10; ++i) {
    console.exists("/");
  }

  EXPECT_EQ(support::zookeeper_packets(server.location()), all + 10 + 1);
  EXPECT_EQ(received(), own + 10);
  EXPECT_EQ(support::zookeeper_figure(server.port(), "zk_watch_count"), 0);
  EXPECT_EQ(support::zookeeper_figure(server.port(), "zk_no_such_figure"), -1);
}

TEST(ZooKeeperTestServer, KeepsItsNodesOnTheSamePortThroughAKillAndARestart) {
  ZooKeeperServer server;
  EXPECT_EQ(support::zookeeper_mode(server.port()), "standalone");
  ZooKeeperConsole{server.location()}.create("/kept", "v");

  server.kill();
  EXPECT_EQ(support::zookeeper_mode(server.port()), "");
  server.start();
  EXPECT_EQ(ZooKeeperConsole{server.location()}.node("/kept")->data, "v");
  server.restart();
  EXPECT_EQ(ZooKeeperConsole{server.location()}.node("/kept")->data, "v");
}

TEST(ZooKeeperTestServer, KeepsTheSessionThroughAPause) {
  ZooKeeperServer server;
  ZooKeeperConsole console{server.location()};

  server.pause();
  EXPECT_EQ(support::four_letter_word(server.port(), "ruok"), "");
  server.resume();

  EXPECT_TRUE(console.exists("/"));
}

TEST(ZooKeeperTestServer, TakesLinesOfConfigurationAndPropertiesOfJava) {
  const ZooKeeperServer server{{"tickTime=250", "-Dzookeeper.skipACL=yes"}};

  EXPECT_THAT(support::four_letter_word(server.port(), "conf"), HasSubstr("tickTime=250"));
  EXPECT_THAT(support::four_letter_word(server.port(), "envi"), HasSubstr("zookeeper.version"));
}

TEST(ZooKeeperTestServer, SaysWhyItDoesNotStart) {
  EXPECT_THAT(error_of([] { ZooKeeperServer({"tickTime=soon"}); }), HasSubstr("soon"));
}

class ZooKeeperTestEnsemble : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { servers = std::make_unique<ZooKeeperEnsemble>(); }
  static void TearDownTestSuite() { servers.reset(); }

  static std::unique_ptr<ZooKeeperEnsemble> servers;
};

std::unique_ptr<ZooKeeperEnsemble> ZooKeeperTestEnsemble::servers;

TEST_F(ZooKeeperTestEnsemble, HasOneLeaderAndTheSameNodesEverywhere) {
  ASSERT_EQ(servers->location().ports.size(), ZooKeeperEnsemble::size);
  const auto path = "/" + unique("everywhere");
  ZooKeeperConsole{servers->location()}.create(path, "v");

  std::size_t leaders = 0;
  for (std::size_t i = 0; i < ZooKeeperEnsemble::size; ++i) {
    leaders += support::zookeeper_mode(servers->node(i).port()) == "leader" ? 1U : 0U;
    ZooKeeperConsole console{servers->node(i).location()};
    console.sync();
    EXPECT_EQ(console.node(path)->data, "v");
  }
  EXPECT_EQ(leaders, 1U);
}

TEST_F(ZooKeeperTestEnsemble, ElectsAnotherLeaderAndTakesTheKilledOneBack) {
  const auto old = servers->leader();
  ZooKeeperConsole console{servers->node((old + 1) % ZooKeeperEnsemble::size).location()};
  console.create("/" + unique("before"), "v");

  servers->node(old).kill();
  EXPECT_TRUE(eventually([&] { return servers->has_leader(); }));
  EXPECT_NE(servers->leader(), old);
  EXPECT_FALSE(servers->all_serve());
  EXPECT_TRUE(eventually(
      [&] { return error_of([&] { console.create("/" + unique("after"), "v"); }) == "no error"; }));

  servers->node(old).start();
  EXPECT_TRUE(eventually([&] { return servers->all_serve(); }));
}

TEST_F(ZooKeeperTestEnsemble, StopsServingWithoutAMajority) {
  servers->node(0).stop();
  servers->node(1).stop();
  EXPECT_TRUE(eventually([&] { return !servers->has_leader(); }));

  servers->node(0).start();
  servers->node(1).start();
  EXPECT_TRUE(eventually([&] { return servers->all_serve(); }));
}

TEST(ZooKeeperTestEnsembleForReading, HasANodeThatReadsOnlyWhenTheOthersAreGone) {
  ZooKeeperEnsemble servers{{"-Dreadonlymode.enabled=true"}};

  servers.node(0).kill();
  servers.node(1).kill();

  EXPECT_TRUE(
      eventually([&] { return support::zookeeper_mode(servers.node(2).port()) == "read-only"; }));
}

TEST(ZooKeeperTestEnsembles, LeaveNothingBehindWhenTheirUserIsKilled) {
  const auto file = fs::temp_directory_path() / unique("simba-test-user");
  const pid_t user = ::fork();
  if (user == 0) {
    ZooKeeperEnsemble servers;
    std::ofstream{file} << servers.node(0).port() << ' ' << servers.node(2).port() << std::endl;
    ::pause();
  }
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  ASSERT_TRUE(eventually([&] {
    std::ifstream stream{file};
    return (stream >> first >> last) && stream.get() == '\n';
  }));
  const auto folder = data_folder(first);
  const auto other_folder = data_folder(last);
  EXPECT_TRUE(fs::exists(folder) && fs::exists(other_folder));

  ::kill(user, SIGKILL);

  EXPECT_TRUE(eventually([&] {
    return !fs::exists(folder.parent_path()) && !fs::exists(other_folder.parent_path());
  }));
  ::waitpid(user, nullptr, 0);
  fs::remove(file);
}

class CuratorTestContender : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = CuratorContender::missing(); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }

  const support::Location location = support::zookeeper_location();
  const std::string path = "/simba/" + unique("curator");
};

TEST_F(CuratorTestContender, HandsOverToItsLike) {
  ZooKeeperConsole console{location};
  CuratorContender one{location, path, "0:1@10.0.0.1"};
  CuratorContender two{location, path, "zwei-\u00e4"};
  EXPECT_EQ(one.leader(), "-");
  one.start();
  ASSERT_NE(one.said("acquired"), "") << one.transcript();
  two.start();
  ASSERT_TRUE(eventually([&] { return console.line(path).size() == 2; }));
  EXPECT_THAT(console.line(path), ElementsAre("0:1@10.0.0.1", "zwei-\u00e4"));
  EXPECT_TRUE(one.leads());
  EXPECT_FALSE(two.leads());
  EXPECT_EQ(two.leader(), "0:1@10.0.0.1");

  one.close();

  EXPECT_NE(two.said("acquired", 5s), "") << two.transcript();
  EXPECT_NE(one.said("released"), "");
  EXPECT_NE(one.said("closed"), "");
  EXPECT_EQ(one.leader(), "zwei-\u00e4");
  one.start();
  ASSERT_TRUE(eventually([&] { return console.line(path).size() == 2; }));
  two.close();
  EXPECT_NE(one.said("acquired", 5s), "") << one.transcript();
  EXPECT_EQ(one.quit(), 0) << one.transcript();
  EXPECT_EQ(two.quit(), 0) << two.transcript();
}

TEST_F(CuratorTestContender, StepsDownAsSoonAsItIsSuspended) {
  ZooKeeperServer server;
  CuratorContender one{server.location(), path, "one", 2s};
  one.start();
  ASSERT_NE(one.said("acquired"), "") << one.transcript();

  server.kill();
  EXPECT_NE(one.said("state SUSPENDED"), "") << one.transcript();
  EXPECT_TRUE(eventually([&] { return !one.leads(); }));
  server.start();

  EXPECT_NE(one.said("acquired"), "") << one.transcript();
}

}  // namespace
}  // namespace simba::zookeeper
