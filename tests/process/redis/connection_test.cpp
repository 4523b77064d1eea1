#include "redis/connection/connection.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/connection/tls_context.hpp"
#include "support/redis/redis_console.hpp"
#include "support/servers.hpp"
#include "support/temporary_folder.hpp"
#include "unit/redis/connection_fixture.hpp"
#include "unit/redis/name_lookup.hpp"

namespace simba::redis {
namespace {

using namespace std::chrono_literals;
using support::RedisConsole;
using support::RedisServer;
using support::Tls;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string ping = command({"PING"});

Endpoint endpoint_of(const support::Location& location) {
  return {.host = location.host, .port = location.port};
}

/// Those of the user who may do everything.
ConnectionSettings settings_of(const support::Location& location) {
  ConnectionSettings settings;
  settings.user = "admin";
  settings.password = Secret{location.password};
  settings.connect_timeout = support::scaled(5s);
  settings.command_timeout = support::scaled(5s);
  return settings;
}

ConnectionSettings tls_settings_of(const support::Location& location, TlsMode mode) {
  ConnectionSettings settings = settings_of(location);
  settings.tls.mode = mode;
  settings.tls.ca_file = location.certificates + "/ca.crt";
  return settings;
}

/// What the test servers can be called.
std::vector<std::string> hosts() {
  if (!can_look_up_names) return {"127.0.0.1"};
  return {"127.0.0.1", "localhost"};
}

TEST(ConnectionToRedis, LogsInSelectsAndNamesItself) {
  const auto location = support::redis_location();
  ConnectionSettings settings = settings_of(location);
  settings.database = 2;
  settings.client_name = "a-name";
  settings.masters_only = true;
  Client client{endpoint_of(location), settings};
  ASSERT_TRUE(client.told.eventually({"ready"}));
  client.ask(command({"CLIENT", "GETNAME"}));
  ASSERT_TRUE(client.told.eventually({"ready", "reply a-name"}));
  RedisConsole console{location};
  EXPECT_THAT(console.value({"CLIENT", "LIST"}), HasSubstr("name=a-name"));
}

TEST(ConnectionToRedis, WorksOnAUnixSocketWithAPasswordOfAnyBytes) {
  const auto location = support::redis_location();
  RedisConsole console{location};
  const std::string password{"a \0\r\n\"\xFF", 8};
  console.ask({"ACL", "SETUSER", "strange", "on", ">" + password, "~*", "+@all"});
  ConnectionSettings settings = settings_of(location);
  settings.user = "strange";
  settings.password = Secret{password};
  Client client{Endpoint{.unix_socket = location.socket}, settings};
  client.ask(command({"ACL", "WHOAMI"}));
  EXPECT_TRUE(client.told.eventually({"ready", "reply strange"}));
  console.ask({"ACL", "DELUSER", "strange"});
  EXPECT_THAT(client.closed().what(), HasSubstr("closed by the server"));
}

TEST(ConnectionToRedis, NamesWhatTheServerRefuses) {
  const auto location = support::redis_location();
  ConnectionSettings settings = settings_of(location);
  settings.password = Secret{"not-the-word"};
  const Error wrong = Client{endpoint_of(location), settings}.closed();
  EXPECT_EQ(wrong.kind(), ErrorKind::authentication);
  EXPECT_THAT(wrong.what(), AllOf(HasSubstr("'admin'"), Not(HasSubstr("not-the-word"))));

  settings = settings_of(location);
  settings.database = 9'999;
  EXPECT_EQ((Client{endpoint_of(location), settings}.closed().kind()), ErrorKind::configuration);

  EXPECT_EQ((Client{endpoint_of(location)}.closed().kind()), ErrorKind::authentication);
}

TEST(ConnectionToRedis, TellsOfAServerThatIsKilled) {
  RedisServer server;
  Client client{endpoint_of(server.location()), settings_of(server.location())};
  ASSERT_TRUE(client.told.eventually({"ready"}));
  server.pause();
  client.ask(ping);
  server.kill();
  EXPECT_TRUE(client.told.eventually({"ready", "error in doubt", "closed"}));
}

TEST(ConnectionToRedis, ReceivesWhatIsPublished) {
  const auto location = support::redis_location();
  Client client{endpoint_of(location), settings_of(location), Connection::Use::subscriptions};
  client->send(command({"SUBSCRIBE", "a-channel"}), 0, {});
  EXPECT_TRUE(client.told.eventually({"ready", "message "}));
  RedisConsole{location}.ask({"PUBLISH", "a-channel", "a-text"});
  EXPECT_TRUE(client.told.eventually({"ready", "message ", "message "}));
}

TEST(ConnectionToRedisWithTls, ReadsTheFilesOnceAndAgainWhenOneIsReplaced) {
  const support::TemporaryFolder folder;
  TlsOptions options = tls_settings_of(support::redis_tls_location(), TlsMode::verify).tls;
  const auto file = folder.path() / "ca.crt";
  std::filesystem::copy_file(options.ca_file, file);
  options.ca_file = file.string();
  SharedTlsContext shared;
  const auto first = shared.get(options);
  EXPECT_EQ(shared.get(options), first);
  std::ofstream{file, std::ios::app} << "\n";
  EXPECT_NE(shared.get(options), first);
}

TEST(ConnectionToRedisWithTls, WorksInEveryMode) {
  const auto location = support::redis_tls_location();
  for (const TlsMode mode : {TlsMode::encrypt, TlsMode::verify_ca, TlsMode::verify}) {
    for (const std::string& host : hosts()) {
      Client client{Endpoint{.host = host, .port = location.port}, tls_settings_of(location, mode)};
      client.ask(ping);
      EXPECT_TRUE(client.told.eventually({"ready", "reply PONG"}));
    }
  }
}

TEST(ConnectionToRedisWithTls, CarriesLargeAndManyRequests) {
  const auto location = support::redis_tls_location();
  Client client{endpoint_of(location), tls_settings_of(location, TlsMode::verify)};
  const std::string large(1U << 20U, 'x');
  client.ask(command({"ECHO", large}));
  std::vector<std::string> wanted{"ready", "reply " + large};
  for (int i = 0; i < 1'000; ++i) {
    client.ask(command({"ECHO", std::to_string(i)}));
    wanted.push_back("reply " + std::to_string(i));
  }
  EXPECT_TRUE(client.told.eventually(wanted));
}

TEST(ConnectionToRedisWithTls, RefusesAnotherCa) {
  const auto location = support::redis_tls_location();
  ConnectionSettings settings = tls_settings_of(location, TlsMode::verify_ca);
  settings.tls.ca_file = location.certificates + "/stranger.crt";
  Client client{endpoint_of(location), settings};
  EXPECT_EQ(client.closed().kind(), ErrorKind::configuration);
  EXPECT_THAT(client.closed().what(), AllOf(HasSubstr("cannot verify the certificate of Redis"),
                                            HasSubstr("check tls.ca_file")));
}

TEST(ConnectionToRedisWithTls, RefusesTheSystemsCas) {
  const auto location = support::redis_tls_location();
  ConnectionSettings settings = tls_settings_of(location, TlsMode::verify);
  settings.tls.ca_file.clear();
  EXPECT_EQ((Client{endpoint_of(location), settings}.closed().kind()), ErrorKind::configuration);
}

TEST(ConnectionToRedisWithTls, ChecksTheHostWhereItIsToldTo) {
  const RedisServer server{Tls::other_host};
  const auto& location = server.location();
  for (const std::string& host : hosts()) {
    const Endpoint endpoint{.host = host, .port = location.port};
    Client careful{endpoint, tls_settings_of(location, TlsMode::verify)};
    EXPECT_EQ(careful.closed().kind(), ErrorKind::configuration);
    EXPECT_THAT(careful.closed().what(),
                AllOf(HasSubstr("mismatch"), HasSubstr("the certificate is for '" + host + "'")));
    Client careless{endpoint, tls_settings_of(location, TlsMode::verify_ca)};
    EXPECT_TRUE(careless.told.eventually({"ready"}));
  }
}

TEST(ConnectionToRedisWithTls, ShowsTheCertificateOfTheClient) {
  const RedisServer server{Tls::on, {"--tls-auth-clients", "yes"}};
  const auto& location = server.location();
  ConnectionSettings settings = tls_settings_of(location, TlsMode::verify);
  const Error unknown = Client{endpoint_of(location), settings}.closed();
  // The server's alert may be overtaken by the reset of the connection.
  EXPECT_THAT(unknown.kind(), testing::AnyOf(ErrorKind::configuration, ErrorKind::unavailable));
  EXPECT_THAT(unknown.what(), HasSubstr("client certificate"));
  settings.tls.certificate_file = location.certificates + "/client.crt";
  settings.tls.key_file = location.certificates + "/client.key";
  Client client{endpoint_of(location), settings};
  EXPECT_TRUE(client.told.eventually({"ready"}));
}

TEST(ConnectionToRedisWithTls, BreaksWhereTheServerIsKilled) {
  RedisServer server{Tls::on};
  Client client{endpoint_of(server.location()),
                tls_settings_of(server.location(), TlsMode::verify)};
  ASSERT_TRUE(client.told.eventually({"ready"}));
  server.pause();
  client.ask(ping);
  server.kill();
  EXPECT_TRUE(client.told.eventually({"ready", "error in doubt", "closed"}));
}

TEST(ConnectionToRedisWithTls, SaysThatThePortExpectsTls) {
  const auto location = support::redis_tls_location();
  Client client{endpoint_of(location), settings_of(location)};
  EXPECT_THAT(client.closed().what(), HasSubstr(to_string(endpoint_of(location))));
}

}  // namespace
}  // namespace simba::redis
