#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/memory/memory_factory.hpp"
#include "simba/testkit/served_time.hpp"
#include "support/ownership/lock_holder.hpp"
#include "support/ownership/ownership_ledger.hpp"
#include "support/patience.hpp"
#include "support/processes/child_process.hpp"
#include "support/processes/process_state.hpp"
#include "support/processes/talking_process.hpp"
#include "support/proxy/fault_proxy.hpp"
#include "support/proxy/proxy_sockets.hpp"
#include "support/redis/redis_console.hpp"
#include "support/servers.hpp"
#include "support/temporary_folder.hpp"

namespace simba::support {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// A client of a MariaDB server, which speaks first.
class Client {
 public:
  explicit Client(std::uint16_t port) : socket_{connect_to(resolve("127.0.0.1", port))} {}
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Refused, reset, or ended by the server.
  bool has_ended() const {
    char c = 0;
    const auto count = ::recv(socket_, &c, 1, MSG_PEEK);
    return count == 0 || (count == -1 && errno != EAGAIN);
  }
  bool has_greeting() const {
    char c = 0;
    return ::recv(socket_, &c, 1, MSG_PEEK) == 1;
  }
  void take_all() const {
    std::string buffer(1'000, '\0');
    while (::recv(socket_, buffer.data(), buffer.size(), 0) > 0) {
    }
  }
  /// The server answers it with an error and ends the connection.
  void send_nonsense() const { ::send(socket_, "12345678", 8, MSG_NOSIGNAL); }

 private:
  const int socket_;
};

bool greets(std::uint16_t port) {
  const Client client{port};
  return eventually([&] { return client.has_greeting() || client.has_ended(); }) &&
         client.has_greeting();
}

fs::path folder_of(const Server& server) {
  return fs::path{server.location().socket}.parent_path();
}

TEST(Location, SurvivesTheWayThroughText) {
  const Location location{"127.0.0.1", 4711, "u", "p=w", "d", "/tmp/x y", ""};

  const auto copy = parse_location(to_string(location));

  EXPECT_EQ(to_string(copy), to_string(location));
  EXPECT_EQ(copy.port, 4711);
  EXPECT_EQ(copy.password, "p=w");
  EXPECT_THROW(parse_location("host=127.0.0.1"), std::invalid_argument);
}

TEST(TestServer, ComesBackOnTheSamePortAfterItWasKilled) {
  MariaDbServer server;
  ASSERT_TRUE(greets(server.port()));

  server.kill();
  const Client client{server.port()};
  EXPECT_TRUE(eventually([&] { return client.has_ended(); }));
  server.start();

  EXPECT_TRUE(greets(server.port()));
}

TEST(TestServer, DoesNotAnswerWhilePaused) {
  MariaDbServer server;

  server.pause();
  const Client client{server.port()};
  EXPECT_FALSE(within(200ms, [&] { return client.has_greeting(); }));
  server.resume();

  EXPECT_TRUE(eventually([&] { return client.has_greeting(); }));
}

TEST(TestServer, LeavesNothingBehind) {
  auto server = std::make_unique<MariaDbServer>();
  const auto folder = folder_of(*server);
  ASSERT_TRUE(fs::exists(folder));

  server.reset();

  EXPECT_FALSE(fs::exists(folder));
}

TEST(TestServer, LeavesNothingBehindWhenItsUserIsKilled) {
  const auto file = fs::temp_directory_path() / fmt::format("simba-test-user-{}", ::getpid());
  const pid_t user = ::fork();
  if (user == 0) {
    const MariaDbServer server;
    std::ofstream{file} << to_string(server.location()) << std::endl;
    ::pause();
  }
  std::string line;
  ASSERT_TRUE(eventually([&] { return std::getline(std::ifstream{file}, line).good(); }));
  const auto location = parse_location(line);
  const auto folder = fs::path{location.socket}.parent_path();
  EXPECT_TRUE(fs::exists(folder));

  ::kill(user, SIGKILL);

  EXPECT_TRUE(eventually([&] { return !fs::exists(folder); }));
  const Client client{location.port};
  EXPECT_TRUE(eventually([&] { return client.has_ended(); }));
  ::waitpid(user, nullptr, 0);
  fs::remove(file);
}

TEST(TestServer, SaysWhyItDoesNotStart) {
  try {
    const MariaDbServer server{Tls::off, {"--no-such-option"}};
    FAIL() << "it has started";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string{error.what()}.find("no-such-option"), std::string::npos) << error.what();
  }
}

TEST(TestServer, SpeaksTlsWhereAsked) {
  const PostgreSqlServer server{Tls::on};

  EXPECT_TRUE(fs::exists(fs::path{server.location().certificates} / "ca.crt"));
}

/// Where servers are taken from, in the environment of this process.
class ServersFrom {
 public:
  // NOLINTBEGIN(concurrency-mt-unsafe): one thread
  explicit ServersFrom(const fs::path& root) {
    if (const char* const before = std::getenv(variable)) before_ = before;
    ::setenv(variable, root.c_str(), 1);
  }
  ~ServersFrom() { ::setenv(variable, before_.c_str(), 1); }
  // NOLINTEND(concurrency-mt-unsafe)
  ServersFrom(const ServersFrom&) = delete;
  ServersFrom& operator=(const ServersFrom&) = delete;

 private:
  static constexpr const char* variable = "SIMBA_TEST_SERVERS";
  std::string before_;
};

TEST(TestServer, OfAnotherReleaseIsNamedWhereItIsMissing) {
  const TemporaryFolder folder;
  const ServersFrom from{folder.path() / "redis"};
  try {
    const RedisServer server;
    ADD_FAILURE() << "started from an empty root";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("scripts/fetch-server.sh"));
  }
}

TEST(TestServer, OfAnotherReleaseHasAUsrOfItsOwn) {
  const TemporaryFolder folder;
  const fs::path root = folder.path() / "redis";
  fs::create_directory(root);
  fs::create_directory_symlink("/usr", root / "usr");
  const ServersFrom from{root};
  std::unique_ptr<RedisServer> server;
  try {
    server = std::make_unique<RedisServer>();
  } catch (const std::runtime_error& error) {
    const std::string_view reason = error.what();
    // The latter where the root is no mount point, as in a chroot.
    if (reason.find("Operation not permitted") == std::string_view::npos &&
        reason.find("usr: Invalid argument") == std::string_view::npos) {
      throw;
    }
    GTEST_SKIP() << "no namespaces here: " << reason;
  }
  const auto info = RedisConsole{server->location()}.value({"INFO", "server"});
  const auto number = info.find("process_id:") + std::string_view{"process_id:"}.size();
  const auto process = fs::path{"/proc"} / info.substr(number, info.find('\r', number) - number);
  EXPECT_NE(fs::read_symlink(process / "ns/mnt"), fs::read_symlink("/proc/self/ns/mnt"));
  std::ifstream mounts{process / "mountinfo"};
  const std::string text{std::istreambuf_iterator<char>{mounts}, {}};
  EXPECT_THAT(text, testing::HasSubstr(" /usr "));
  server->kill();
  server->start();
}

TEST(TalkingProcess, HasAUtf8LocaleWhateverOursIs) {
  ::setenv("LC_ALL", "POSIX", 1);  // NOLINT(concurrency-mt-unsafe): one thread
  TalkingProcess process{{"/bin/sh", "-c", "echo locale $LC_ALL; cat"}};
  ::unsetenv("LC_ALL");  // NOLINT(concurrency-mt-unsafe): one thread
  EXPECT_EQ(process.said("locale"), "locale C.UTF-8");
}

TEST(ServedTime, StandsStillWhileTheMachineLetsUsNotRun) {
  const testkit::ServedTime time;
  const auto begin = now();
  EXPECT_EQ(std::system("kill -STOP $PPID; sleep 0.5; kill -CONT $PPID"), 0);  // NOLINT: as meant
  const auto served = time.now();
  EXPECT_LT(served, now() - begin - 450ms);
  EXPECT_TRUE(eventually([&] { return time.now() > served + 100ms; }));
  EXPECT_LE(time.now(), now() - begin) << "it is never ahead";
}

TEST(OwnershipLedger, FindsTwoOwnersAtOnceAndTokensThatDoNotGrow) {
  const LocalTime start{1s};
  OwnershipLedger ledger;
  ledger.extend(ledger.begin("a", 7, start), start + 10ms);
  EXPECT_EQ(ledger.contradictions(), "");

  ledger.extend(ledger.begin("b", 8, start + 11ms), start + 20ms);
  EXPECT_EQ(ledger.contradictions(), "");
  EXPECT_EQ(ledger.newest_owner(), "b");
  EXPECT_EQ(ledger.last_seen(), start + 20ms);
  EXPECT_EQ(ledger.begun_since(start + 11ms), 1U);

  ledger.begin("c", 8, start + 19ms);
  EXPECT_EQ(ledger.contradictions(),
            "SAFETY-VIOLATION: b (token 8) still owned 1.0 ms after c (token 8) did\n"
            "SAFETY-VIOLATION: c got token 8 after b had 8\n");
}

TEST(LockHolder, WritesDownWhatItHolds) {
  const auto factory = memory::make_memory_factory();
  OwnershipLedger ledger;
  {
    const LockHolder one{"one", "m", *factory, ledger, [] { return 3ms; }};
    const LockHolder two{"two", "m", *factory, ledger, [] { return 3ms; }};
    EXPECT_TRUE(eventually(
        [&] { return ledger.begun_since({}, "one") > 2 && ledger.begun_since({}, "two") > 2; }));
  }
  EXPECT_EQ(ledger.contradictions(), "");
}

class FaultProxyTest : public testing::Test {
 protected:
  MariaDbServer server_;                           // NOLINT: a fixture
  FaultProxy proxy_{"127.0.0.1", server_.port()};  // NOLINT: a fixture
};

TEST_F(FaultProxyTest, PassesEverythingOn) {
  EXPECT_TRUE(greets(proxy_.port()));
  EXPECT_EQ(proxy_.counters().connections, 1U);
  EXPECT_TRUE(eventually([&] { return proxy_.counters().open == 0; }));
}

TEST_F(FaultProxyTest, HoldsWhatIsSentIntoABlackHoleUntilItIsMended) {
  proxy_.black_hole();
  const Client client{proxy_.port()};
  EXPECT_TRUE(eventually([&] { return proxy_.counters().open == 1; }));
  EXPECT_FALSE(within(100ms, [&] { return client.has_greeting() || client.has_ended(); }));

  proxy_.mend();

  EXPECT_TRUE(eventually([&] { return client.has_greeting(); }));
}

TEST_F(FaultProxyTest, RefusesWhileCutAndWorksOnTheSamePortWhenMended) {
  const Client before{proxy_.port()};
  ASSERT_TRUE(eventually([&] { return before.has_greeting(); }));

  proxy_.cut();
  before.take_all();
  EXPECT_TRUE(eventually([&] { return before.has_ended(); }));
  const Client meanwhile{proxy_.port()};
  EXPECT_TRUE(eventually([&] { return meanwhile.has_ended(); }));
  EXPECT_EQ(proxy_.counters().connections, 1U);
  proxy_.mend();

  EXPECT_TRUE(greets(proxy_.port()));
}

TEST_F(FaultProxyTest, LosesOneReply) {
  const Client client{proxy_.port()};
  const Client other{proxy_.port()};
  ASSERT_TRUE(eventually([&] { return client.has_greeting() && other.has_greeting(); }));
  client.take_all();
  const auto before = proxy_.counters();

  proxy_.cut_next_reply();
  client.send_nonsense();

  EXPECT_TRUE(eventually([&] { return client.has_ended(); }));
  const auto after = proxy_.counters();
  EXPECT_EQ(after.cuts, 1U);
  EXPECT_EQ(after.bytes_to_server, before.bytes_to_server + 8);
  EXPECT_EQ(after.bytes_to_client, before.bytes_to_client);
  EXPECT_FALSE(other.has_ended());
}

TEST_F(FaultProxyTest, CutsInTheMiddleOfARequest) {
  const Client client{proxy_.port()};
  ASSERT_TRUE(eventually([&] { return client.has_greeting(); }));
  client.take_all();

  proxy_.cut_after_bytes(5);
  client.send_nonsense();

  EXPECT_TRUE(eventually([&] { return client.has_ended(); }));
  EXPECT_EQ(proxy_.counters().bytes_to_server, 5U);
  EXPECT_EQ(proxy_.counters().cuts, 1U);
  EXPECT_TRUE(greets(proxy_.port()));
}

TEST_F(FaultProxyTest, DelaysBothWays) {
  proxy_.delay(100ms);
  const auto begin = now();

  EXPECT_TRUE(greets(proxy_.port()));

  EXPECT_GE(now() - begin, 100ms);
}

TEST(ProcessState, TellsWhoHoldsTheLockOfAFile) {
  const TemporaryFolder folder;
  const int file = ::open((folder.path() / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  const auto lock = [&](short kind) {
    struct flock range {};
    range.l_type = kind;
    return ::fcntl(file, F_SETLK, &range) == 0;
  };
  EXPECT_FALSE(holds_file_lock(::getpid()));
  ASSERT_TRUE(lock(F_RDLCK));
  EXPECT_FALSE(holds_file_lock(::getpid())) << "others may still read";
  ASSERT_TRUE(lock(F_WRLCK));
  EXPECT_TRUE(holds_file_lock(::getpid()));
  EXPECT_FALSE(holds_file_lock(::getppid()));
  ::close(file);
  EXPECT_FALSE(holds_file_lock(::getpid()));
}

TEST(ProcessState, TellsWhetherAProcessIsStopped) {
  ChildProcess process{{"/bin/sleep", "600"}, {}};
  EXPECT_FALSE(is_stopped(process.id()));
  process.signal(SIGSTOP);
  EXPECT_TRUE(eventually([&] { return is_stopped(process.id()); }));
  process.signal(SIGCONT);
  EXPECT_TRUE(eventually([&] { return !is_stopped(process.id()); }));
}

}  // namespace

}  // namespace simba::support
