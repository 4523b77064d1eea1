#include <atomic>
#include <chrono>
#include <dlfcn.h>
#include <future>
#include <memory>
#include <mutex>
#include <netdb.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/zookeeper/client_peer.hpp"
#include "simba/testkit/served_time.hpp"
#include "support/location.hpp"
#include "support/proxy/fault_proxy.hpp"

namespace {

/// While true the host "stuck.invalid" is looked up without end.
std::atomic<bool> stuck = true;
std::atomic<bool> looked_up = false;  // it is, or was

}  // namespace

/// In place of the C library's, also for the ZooKeeper library.
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints,
                           addrinfo** result) {
  if (host != nullptr && std::string_view{host} == "stuck.invalid") {
    looked_up = true;
    stuck.wait(true);
    return EAI_NONAME;
  }
  using Function = int(const char*, const char*, const addrinfo*, addrinfo**);
  static auto* const real = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(host, service, hints, result);
}

namespace simba::zookeeper::test {
namespace {

using support::FaultProxy;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A client that reaches its server through a proxy, and one without it.
class ZooKeeperClientInTrouble : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(observer.connects());
    ASSERT_EQ(code_of(observer.create(top)), Code::ok);
  }

  /// A session that is soon over.
  Settings short_settings() const {
    Settings settings = settings_of(proxy.port());
    settings.session_timeout = support::scaled(1s);
    return settings;
  }

  const support::Location location = support::zookeeper_location();
  const std::string top =
      fmt::format("/{}-{}-{}", testing::UnitTest::GetInstance()->current_test_info()->name(),
                  ::getpid(), std::chrono::steady_clock::now().time_since_epoch().count());
  FaultProxy proxy{location.host, location.port};
  Peer observer{settings_of(location)};
};

/// Waits until the library has tried to connect in vain: that is when it answers.
void wait_for_a_vain_try(Peer& peer) {
  for (bool inside_the_call = true; inside_the_call;) {
    auto future = peer.sync();
    inside_the_call = future.wait_for(0s) == std::future_status::ready;
    ASSERT_EQ(code_of(std::move(future)), Code::connection_loss);
  }
}

/// Keeps the lines.
class KeptLog final : public Logger {
 public:
  bool enabled(LogLevel /*level*/) const noexcept override { return true; }
  void log(LogLevel /*level*/, std::string_view message) noexcept override {
    const std::lock_guard lock{mutex_};
    text_.append(message).append("\n");
  }
  std::string text() const {
    const std::lock_guard lock{mutex_};
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

TEST_F(ZooKeeperClientInTrouble, FindsItsSessionAgainAfterALostConnection) {
  Peer peer{settings_of(proxy.port())};
  ASSERT_TRUE(peer.connects());
  const auto session = peer.last<Connected>().session;
  EXPECT_EQ(code_of(peer.create(top + "/e-", "", NodeKind::ephemeral_sequential)), Code::ok);
  EXPECT_EQ(code_of(peer.get(top + "/e-0000000000", Watching::yes)), Code::ok);

  proxy.cut();
  ASSERT_TRUE(peer.eventually_told({"connected", "lost"}));
  EXPECT_EQ(code_of(peer.sync()), Code::connection_loss);
  EXPECT_EQ(code_of(observer.remove(top + "/e-0000000000")), Code::ok);
  proxy.mend();

  // The watch is still there, and tells what happened meanwhile.
  ASSERT_TRUE(
      peer.eventually_told({"connected", "lost", "connected", "removed " + top + "/e-0000000000"}));
  EXPECT_EQ(peer.last<Connected>().session, session);
}

TEST_F(ZooKeeperClientInTrouble, AnswersWhatWasUnderWayBeforeItIsConnectedAgain) {
  Peer peer{settings_of(proxy.port())};
  ASSERT_TRUE(peer.connects());
  proxy.black_hole();
  auto under_way = peer.sync();
  std::atomic<std::size_t> events_then = 0;
  peer.client->create(top + "/a", "", NodeKind::persistent,
                      [&](Code code, const std::string&, const NodeStat&) {
                        EXPECT_EQ(code, Code::connection_loss);
                        events_then = peer.events().size();
                      });
  proxy.reset_all();
  proxy.mend();
  EXPECT_EQ(code_of(std::move(under_way)), Code::connection_loss);
  ASSERT_TRUE(peer.eventually_told({"connected", "lost", "connected"}));
  EXPECT_LE(events_then, 2U);
  EXPECT_GT(events_then, 0U);
}

TEST_F(ZooKeeperClientInTrouble, TellsThatItsSessionIsOver) {
  Peer peer{short_settings()};
  ASSERT_TRUE(peer.connects());
  EXPECT_EQ(code_of(peer.create(top + "/e-", "", NodeKind::ephemeral_sequential)), Code::ok);
  proxy.cut();
  ASSERT_TRUE(support::eventually([&] { return wait(observer.children(top)).names.empty(); }));
  proxy.mend();
  ASSERT_TRUE(peer.eventually_told({"connected", "lost", "expired"}));
  EXPECT_EQ(code_of(peer.get(top)), Code::session_expired);
  EXPECT_EQ(code_of(peer.create(top + "/b")), Code::session_expired);
}

TEST_F(ZooKeeperClientInTrouble, NoticesAServerThatDoesNotAnswer) {
  Peer peer{short_settings()};
  ASSERT_TRUE(peer.connects());
  proxy.black_hole();
  EXPECT_EQ(code_of(peer.sync()), Code::connection_loss);
  EXPECT_TRUE(peer.eventually_told({"connected", "lost"}));
}

TEST_F(ZooKeeperClientInTrouble, TriesOnInSilenceWhileNobodyListens) {
  proxy.cut();
  Peer peer{short_settings()};
  for (int i = 0; i < 3; ++i) wait_for_a_vain_try(peer);
  EXPECT_THAT(peer.events(), IsEmpty());
  const auto begun = support::now();
  peer.client->close();
  peer.connector->wait_until_closed();
  EXPECT_LT(support::now() - begun, support::scaled(5s));
  EXPECT_THAT(peer.events(), IsEmpty());
}

TEST_F(ZooKeeperClientInTrouble, SaysWhoItIsAlsoWhereNobodyListenedAtFirst) {
  proxy.cut();
  Peer peer{with_user(settings_of(proxy.port()), "owner", NodeAcl::creator)};
  wait_for_a_vain_try(peer);
  proxy.mend();
  ASSERT_TRUE(peer.connects());
  EXPECT_EQ(code_of(peer.create(top + "/a")), Code::ok);
  EXPECT_EQ(code_of(observer.get(top + "/a")), Code::no_auth);
  proxy.reset_all();
  ASSERT_TRUE(peer.eventually_told({"connected", "lost", "connected"}));
  EXPECT_EQ(code_of(peer.get(top + "/a")), Code::ok);
}

TEST_F(ZooKeeperClientInTrouble, CloseAnswersWhatIsUnderWay) {
  Peer peer{settings_of(proxy.port())};
  ASSERT_TRUE(peer.connects());
  EXPECT_EQ(code_of(peer.exists(top + "/a", Watching::yes)), Code::no_node);
  proxy.black_hole();
  std::vector<Peer::Future> under_way;
  under_way.push_back(peer.create(top + "/a"));
  under_way.push_back(peer.remove(top));
  under_way.push_back(peer.children(top, Watching::yes));
  under_way.push_back(peer.get(top, Watching::yes));
  under_way.push_back(peer.exists(top, Watching::yes));
  under_way.push_back(peer.sync());

  const testkit::ServedTime time;
  peer.client->close();
  EXPECT_LT(time.now(), support::scaled(1s));
  for (auto& each : under_way) EXPECT_EQ(code_of(std::move(each)), Code::closing);
  EXPECT_EQ(code_of(peer.sync()), Code::closing);
  peer.connector->wait_until_closed();
  EXPECT_LT(time.now(), support::scaled(8s));
  EXPECT_THAT(peer.events(), ElementsAre("connected"));
}

TEST_F(ZooKeeperClientInTrouble, MayBeClosedByOneThreadWhileOthersUseIt) {
  for (int round = 0; round < 10; ++round) {
    Peer peer{settings_of(proxy.port())};
    ASSERT_TRUE(peer.connects());
    std::atomic<int> sent = 0;
    std::atomic<int> answered = 0;
    std::atomic<bool> closed = false;
    std::vector<std::thread> users;
    for (int i = 0; i < 3; ++i) {
      users.emplace_back([&] {
        while (!closed) {
          if (sent - answered > 50) continue;
          ++sent;
          peer.client->get(top, Watching::yes,
                           [&](Code, const std::string&, const NodeStat&) { ++answered; });
        }
      });
    }
    EXPECT_TRUE(support::eventually([&] { return answered > 100; }));
    peer.client->close();
    closed = true;
    for (auto& user : users) user.join();
    peer.connector->wait_until_closed();
    EXPECT_EQ(sent, answered);
  }
}

TEST_F(ZooKeeperClientInTrouble, LogsWhatAHandlerThrowsAndGoesOn) {
  const auto log = std::make_shared<KeptLog>();
  Peer peer{settings_of(proxy.port()), log};
  ASSERT_TRUE(peer.connects());
  peer.client->sync([](Code) { throw std::runtime_error{"by intent"}; });
  EXPECT_EQ(code_of(peer.sync()), Code::ok);
  EXPECT_TRUE(
      support::eventually([&] { return log->text().find("by intent") != std::string::npos; }));
}

TEST(ZooKeeperClientWithoutAServer, FailsWhereNoHostCanBeFound) {
  Peer peer{with_user(settings_of("no-such-host.invalid:2181"), "me", NodeAcl::open)};
  ASSERT_TRUE(peer.eventually_told({"failed"}));
  const Error error = peer.last<Failed>().error;
  EXPECT_EQ(error.kind(), ErrorKind::unavailable);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("no-such-host.invalid:2181"),
                                  HasSubstr("`connect_string`"), Not(HasSubstr("a-password"))));
  EXPECT_EQ(code_of(peer.sync()), Code::session_expired);
}

TEST(ZooKeeperClientWithoutAServer, NeedsOnlyOneHostThatCanBeFound) {
  const auto location = support::zookeeper_location();
  Peer peer{settings_of("no-such-host.invalid:2181," + support::connect_string(location))};
  EXPECT_TRUE(peer.connects());
}

TEST(ZooKeeperClientWithoutAServer, ClosedWhileItOpensTellsNothing) {
  for (int i = 0; i < 20; ++i) {
    Peer peer{settings_of(support::zookeeper_location())};
    peer.client->close();
    EXPECT_EQ(code_of(peer.sync()), Code::closing);
    peer.connector->wait_until_closed();
    EXPECT_THAT(peer.events(), IsEmpty());
  }
}

TEST(ZooKeeperClientWithoutAServer, LeavesALookUpBehindThatDoesNotEnd) {
  const auto log = std::make_shared<KeptLog>();
  const auto location = support::zookeeper_location();
  Settings settings = settings_of("stuck.invalid:2181," + support::connect_string(location));
  settings.connection_timeout = 100ms;
  const auto runtime = make_runtime({.log = log});
  auto connector = make_c_connector(settings, runtime);
  std::atomic<int> told = 0;
  auto held = std::make_shared<int>();
  auto client = connector->connect([&told, held](const ClientEvent&) { ++told; });
  const std::weak_ptr<int> session = std::exchange(held, nullptr);

  ASSERT_TRUE(support::eventually([] { return looked_up.load(); }));
  const testkit::ServedTime time;
  client->close();
  EXPECT_LT(time.now(), support::scaled(1s));
  connector->wait_until_closed();
  EXPECT_LT(time.now(), support::scaled(8s));
  runtime->log->flush(10s);
  EXPECT_TRUE(support::eventually(
      [&] { return log->text().find("host name lookup") != std::string::npos; }));
  client.reset();
  connector.reset();

  EXPECT_FALSE(session.expired());
  stuck = false;
  stuck.notify_all();
  EXPECT_TRUE(support::eventually([&] { return session.expired(); }));
  EXPECT_EQ(told, 0);
}

TEST(ZooKeeperClientOfAnEnsemble, DoesNotTakeAServerThatCanOnlyBeRead) {
  support::ZooKeeperEnsemble ensemble{{"-Dreadonlymode.enabled=true"}};
  ensemble.node(1).kill();
  ensemble.node(2).kill();
  const auto port = ensemble.node(0).port();
  ASSERT_TRUE(support::eventually([&] { return support::zookeeper_mode(port) == "read-only"; }));
  FaultProxy proxy{"127.0.0.1", port};
  Settings settings = settings_of(proxy.port());
  settings.session_timeout = support::scaled(1s);
  Peer peer{settings};
  ASSERT_TRUE(support::eventually([&] { return proxy.counters().connections > 3; }));
  EXPECT_THAT(peer.events(), IsEmpty());
  ensemble.node(1).start();
  EXPECT_TRUE(peer.connects());
}

}  // namespace
}  // namespace simba::zookeeper::test
