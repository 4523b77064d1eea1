#include <algorithm>
#include <arpa/inet.h>
#include <fstream>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/connection/connection.hpp"
#include "support/temporary_folder.hpp"
#include "unit/redis/connection_fixture.hpp"
#include "unit/redis/fake_server.hpp"
#include "unit/redis/name_lookup.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

const std::string first_ping = command({"PING"});

ConnectionSettings opening_impatiently() {
  ConnectionSettings settings;
  settings.connect_timeout = 100ms;
  return settings;
}

TEST(OpeningARedisConnection, SaysWhoRefuses) {
  FakeServer server;
  server.stop();
  Client client{server.endpoint()};
  EXPECT_EQ(client.closed().kind(), ErrorKind::unavailable);
  EXPECT_THAT(client.closed().what(),
              HasSubstr("cannot connect to Redis at " + to_string(server.endpoint()) +
                        ": connection refused"));
  EXPECT_TRUE(client.told.eventually({"closed"}));
}

TEST(OpeningARedisConnection, GivesUpAServerThatTakesNoConnection) {
  const FakeServer server{0};
  // Fills the queue of those to be accepted: the next one gets no answer.
  Client first{server.endpoint(), opening_impatiently()};
  Client second{server.endpoint(), opening_impatiently()};
  Client third{server.endpoint(), opening_impatiently()};
  EXPECT_EQ(third.closed().kind(), ErrorKind::unavailable);
  EXPECT_THAT(third.closed().what(), HasSubstr("did not answer within 100 ms"));
}

TEST(OpeningARedisConnection, GivesUpAServerThatSaysNothing) {
  const FakeServer server;
  ConnectionSettings settings;
  settings.connect_timeout = support::scaled(1s);  // the request comes in time
  Client client{server.endpoint(), settings};
  client.ask(command({"GET", "a"}));
  const FakePeer peer = server.accept();
  EXPECT_TRUE(peer.hears(first_ping));
  EXPECT_TRUE(peer.sees_the_end());
  EXPECT_TRUE(client.told.eventually({"error unavailable", "closed"}));
}

TEST(OpeningARedisConnection, RefusesAServerThatIsNoRedis) {
  const FakeServer server;
  Client client{server.endpoint()};
  const FakePeer peer = server.accept();
  peer.says("SSH-2.0-OpenSSH_9.2\r\n");
  EXPECT_THAT(client.closed().what(), HasSubstr("sent an invalid RESP reply: "));
  EXPECT_THAT(client.closed().what(), EndsWith("; is it a Redis server?"));
  EXPECT_EQ(client.closed().kind(), ErrorKind::configuration);
}

TEST(OpeningARedisConnection, RefusesASenselessAnswer) {
  const FakeServer server;
  Client client{server.endpoint()};
  const FakePeer peer = server.accept();
  peer.says(":1\r\n");
  EXPECT_THAT(client.closed().what(), EndsWith("; is it a Redis server?"));
  EXPECT_EQ(client.closed().kind(), ErrorKind::configuration);
}

TEST(OpeningARedisConnection, RefusesMoreThanWasAskedFor) {
  const FakeServer server;
  Client client{server.endpoint()};
  const FakePeer peer = server.accept();
  peer.says("+PONG\r\n+more\r\n");
  EXPECT_THAT(client.closed().what(), HasSubstr("sent a reply without a request"));
  EXPECT_TRUE(client.told.eventually({"ready", "closed"}));
}

TEST(OpeningARedisConnection, SaysWhenTheServerClosesAtOnce) {
  const FakeServer server;
  Client client{server.endpoint()};
  server.accept().hang_up();
  EXPECT_EQ(client.closed().kind(), ErrorKind::unavailable);
  // The kernel resets the connection if the greeting was not read.
  EXPECT_THAT(
      client.closed().what(),
      testing::ContainsRegex("during login: (closed by the server|connection reset by peer); "
                             "does this port expect TLS, or is it not a Redis server\\?"));
}

TEST(OpeningARedisConnection, SaysEverythingAtOnce) {
  ConnectionSettings settings;
  settings.user = "us\r\ner";
  settings.password = Secret{std::string{"p\0 w", 4}};
  settings.database = 3;
  settings.client_name = "me";
  settings.masters_only = true;
  const FakeServer server;
  Client client{server.endpoint(), settings};
  const FakePeer peer = server.accept();
  EXPECT_TRUE(peer.hears(command({"AUTH", "us\r\ner", {"p\0 w", 4}}) + command({"SELECT", "3"}) +
                         command({"CLIENT", "SETNAME", "me"}) + command({"ROLE"})));
  peer.says("+OK\r\n+OK\r\n-NOPERM no 'client' for you\r\n*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
  EXPECT_TRUE(client.told.eventually({"ready"}));
}

int option_of(int descriptor, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  ::getsockopt(descriptor, level, name, &value, &size);
  return value;
}

TEST(OpeningARedisConnection, LetsTheSystemNoticeAHostThatIsGone) {
  ConnectionSettings settings = patient();
  settings.command_timeout = std::chrono::seconds{77};
  const FakeServer server;
  Client client{server.endpoint(), settings};
  const FakePeer peer = server.accept();
  int found = 0;
  for (int descriptor = 3; descriptor < 1'024; ++descriptor) {
    sockaddr_in to{};
    socklen_t size = sizeof to;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&to), &size) != 0) continue;
    if (to.sin_family != AF_INET || ntohs(to.sin_port) != server.endpoint().port) continue;
    ++found;
    EXPECT_EQ(option_of(descriptor, SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(option_of(descriptor, IPPROTO_TCP, TCP_KEEPIDLE), 15);
    EXPECT_EQ(option_of(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT), 77'000);
  }
  EXPECT_EQ(found, 1);
}

TEST(OpeningARedisConnection, NamesTheUserWhosePasswordIsRefused) {
  ConnectionSettings settings;
  settings.user = "bob";
  settings.password = Secret{"geheim"};
  const FakeServer server;
  Client client{server.endpoint(), settings};
  client.ask(first_ping);
  const FakePeer peer = server.accept();
  peer.says("-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  EXPECT_EQ(client.closed().kind(), ErrorKind::authentication);
  EXPECT_THAT(client.closed().what(), AllOf(HasSubstr("rejected the password of user 'bob'"),
                                            HasSubstr("WRONGPASS"), Not(HasSubstr("geheim"))));
  EXPECT_TRUE(client.told.eventually({"error authentication", "closed"}));
}

TEST(OpeningARedisConnection, MayBeClosedInOnReady) {
  const FakeServer server;
  detail::LoopThread io{"simba-redis", "a task threw", std::make_shared<detail::ThreadGroup>(),
                        make_null_logger()};
  std::shared_ptr<Connection> connection;
  std::atomic<bool> ready = false;
  std::atomic<int> others = 0;
  Connection::Events events;
  events.on_ready = [&] {
    connection->close();
    ready = true;
  };
  events.on_closed = [&](const auto&) { ++others; };
  io.post([&] {
    connection =
        Connection::open(io.loop(), server.endpoint(), std::make_shared<const ConnectionSettings>(),
                         Connection::Use::commands, events);
  });
  const FakePeer peer = server.accept();
  EXPECT_TRUE(peer.hears(first_ping));
  peer.says("+PONG\r\n");
  EXPECT_TRUE(peer.sees_the_end());
  EXPECT_TRUE(support::eventually([&] { return ready.load(); }));
  io.stop();
  EXPECT_EQ(others, 0);
}

TEST(OpeningARedisConnection, WorksOnAUnixSocket) {
  const support::TemporaryFolder folder;
  const FakeServer server{folder.path() / "redis.sock"};
  Client client{server.endpoint()};
  const FakePeer peer = server.accept();
  EXPECT_TRUE(peer.hears(first_ping));
  peer.says("+PONG\r\n");
  client.ask(first_ping);
  EXPECT_TRUE(peer.hears(first_ping));
  peer.says("+a\r\n");
  EXPECT_TRUE(client.told.eventually({"ready", "reply a"}));
}

TEST(OpeningARedisConnection, NamesTheUnixSocketThatIsNotThereOrTooLong) {
  const support::TemporaryFolder folder;
  const std::string path = folder.path() / "redis.sock";
  Client missing{Endpoint{.unix_socket = path}};
  EXPECT_THAT(missing.closed().what(), AllOf(HasSubstr(path), HasSubstr("no such file")));
  Client too_long{Endpoint{.unix_socket = std::string(108, 'x')}};
  EXPECT_EQ(too_long.closed().kind(), ErrorKind::configuration);
  EXPECT_THAT(too_long.closed().what(), HasSubstr("at most 107 bytes"));
}

TEST(OpeningARedisConnection, ResolvesANameAndTriesItsAddressesInTurn) {
  if (!can_look_up_names) GTEST_SKIP() << why_not;
  FakeServer server;  // on 127.0.0.1 only; the name may stand for ::1 first
  Client client{Endpoint{.host = "localhost", .port = server.endpoint().port}};
  const FakePeer peer = server.accept();
  EXPECT_TRUE(peer.hears(first_ping));
  peer.says("+PONG\r\n");
  EXPECT_TRUE(client.told.eventually({"ready"}));
}

TEST(OpeningARedisConnection, NamesTheHostThatDoesNotResolve) {
  if (!can_look_up_names) GTEST_SKIP() << why_not;
  Client client{Endpoint{.host = "no-such-host.invalid"}};
  EXPECT_EQ(client.closed().kind(), ErrorKind::unavailable);
  EXPECT_THAT(client.closed().what(), HasSubstr("no-such-host.invalid"));
}

TEST(OpeningARedisConnection, MayBeClosedWhileTheNameIsLookedUp) {
  if (!can_look_up_names) GTEST_SKIP() << why_not;
  Client client{Endpoint{.host = "no-such-host.invalid"}};
  client.ask(first_ping);
  client->close();
  // The name may be known to be wrong before the request comes; it is answered all the same.
  EXPECT_TRUE(support::eventually([&] {
    const auto lines = client.told.lines();
    return std::find(lines.begin(), lines.end(), "error unavailable") != lines.end();
  }));
}

TEST(OpeningARedisConnection, NamesTheFileOfTlsThatIsWrong) {
  const support::TemporaryFolder folder;
  const std::string junk = folder.path() / "junk.pem";
  std::ofstream{junk} << "no certificate\n";
  const auto error_with = [](const TlsOptions& tls) {
    ConnectionSettings settings;
    settings.tls = tls;
    return Client{Endpoint{}, settings}.closed();
  };
  const std::string nowhere = folder.path() / "nowhere.pem";
  EXPECT_THAT(error_with({.mode = TlsMode::verify, .ca_file = nowhere}).what(),
              AllOf(HasSubstr("tls.ca_file"), HasSubstr(nowhere), HasSubstr("No such file")));
  EXPECT_THAT(error_with({.mode = TlsMode::verify, .ca_file = junk}).what(),
              AllOf(HasSubstr("tls.ca_file"), HasSubstr(junk)));
  EXPECT_THAT(error_with({.mode = TlsMode::encrypt, .certificate_file = junk}).what(),
              HasSubstr("must be set together"));
  const auto wrong =
      error_with({.mode = TlsMode::encrypt, .certificate_file = junk, .key_file = junk});
  EXPECT_THAT(wrong.what(), AllOf(HasSubstr("tls.certificate_file"), HasSubstr(junk)));
  EXPECT_EQ(wrong.kind(), ErrorKind::configuration);
}

TEST(OpeningARedisConnection, RefusesTlsOnAUnixSocket) {
  ConnectionSettings settings;
  settings.tls.mode = TlsMode::encrypt;
  Client client{Endpoint{.unix_socket = "/nowhere"}, settings};
  EXPECT_EQ(client.closed().kind(), ErrorKind::configuration);
}

TEST(OpeningARedisConnection, SaysThatThePortSpeaksNoTls) {
  ConnectionSettings settings;
  settings.tls.mode = TlsMode::encrypt;
  const FakeServer server;
  Client client{server.endpoint(), settings};
  const FakePeer peer = server.accept();
  peer.says("-ERR Protocol error: unauthenticated multibulk length\r\n");
  EXPECT_EQ(client.closed().kind(), ErrorKind::configuration);
  EXPECT_THAT(client.closed().what(), HasSubstr("supports TLS"));
}

}  // namespace
}  // namespace simba::redis
