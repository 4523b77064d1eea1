// Several hosts and sockets, which of them may get a password, and what libpq finds by itself.
#include <fstream>
#include <memory>
#include <netinet/in.h>
#include <pwd.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "console.hpp"
#include "simba/config/make_factory.hpp"
#include "simba/locker/simba_locker.hpp"
#include "support/patience.hpp"
#include "support/servers.hpp"
#include "support/temporary_folder.hpp"

namespace simba::postgresql::test {
namespace {

using sql::Change;
using testing::AllOf;
using testing::HasSubstr;

/// Not a loopback address by name, but there is a server behind it.
PostgreSqlOptions elsewhere() {
  PostgreSqlOptions options = options_of(support::postgresql_location());
  options.host = "0.0.0.0";
  return options;
}

TEST(PostgreSqlPassword, OfTheEnvironmentGoesToAnotherHostOnlyInAWayThatWasChosen) {
  PostgreSqlOptions options = elsewhere();
  const Variable password{"PGPASSWORD", options.password.reveal()};
  options.password = Secret{};
  EXPECT_THAT(error_of([&] { Client{options}.connect(); }).what(),
              AllOf(HasSubstr("PGPASSWORD"), HasSubstr("tls.mode")));
  for (const auto* const left_to_the_server : {"prefer", "allow"}) {
    const Variable mode{"PGSSLMODE", left_to_the_server};
    EXPECT_THAT(error_of([&] { Client{options}.connect(); }).what(), HasSubstr("PGPASSWORD"))
        << left_to_the_server;
  }
  {
    const Variable mode{"PGSSLMODE", "disable"};
    EXPECT_NO_THROW(Client{options}.connect());
  }
  {
    const Variable mode{"PGSSLMODE", "require"};
    EXPECT_THAT(error_of([&] { Client{options}.connect(); }).what(), HasSubstr("SSL"))
        << "the server of the tests has no TLS";
    options.tls.mode = TlsMode::off;
    EXPECT_NO_THROW(Client{options}.connect()) << "what is written out counts";
  }
}

TEST(PostgreSqlPassword, OfTheOptionsDoesNotGoToAnotherHostWhereTheServerMayRefuseTls) {
  for (const auto* const mode : {"prefer", "allow"}) {
    const Variable variable{"PGSSLMODE", mode};
    EXPECT_THROW(Client{elsewhere()}, InvalidArgumentError) << mode;
  }
}

TEST(PostgreSqlPassword, IsFoundInThePasswordFileOfLibpq) {
  PostgreSqlOptions options = options_of(support::postgresql_location());
  const std::string right = options.password.reveal();
  options.password = Secret{};
  const support::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "pgpass";
  const Variable variable{"PGPASSFILE", file.string()};
  for (const std::string& password : {right, std::string{"wrong"}}) {
    std::ofstream{file} << fmt::format("{}:{}:*:{}:{}\n", options.host, options.port, options.user,
                                       password);
    std::filesystem::permissions(file, std::filesystem::perms{0600});
    if (password == right) {
      EXPECT_NO_THROW(Client{options}.connect());
    } else {
      EXPECT_EQ(error_of([&] { Client{options}.connect(); }).kind(), ErrorKind::authentication);
    }
  }
}

TEST(PostgreSqlUser, IsTheOneOfTheSystemAndSoIsTheDatabaseWhereNoneIsNamed) {
  const support::PostgreSqlServer server{support::Tls::off, {"-c", "fsync=off"}};
  PostgreSqlOptions options = options_of(server.location());
  const std::string user = ::getpwuid(::geteuid())->pw_name;  // NOLINT(concurrency-mt-unsafe)
  Console console{options};
  console.run(fmt::format("CREATE ROLE \"{}\" SUPERUSER LOGIN PASSWORD '{}'", user,
                          options.password.reveal()));
  console.run(fmt::format("CREATE DATABASE \"{}\"", user));
  options.user.clear();
  options.database.clear();
  Client client{options};
  const auto session = client.connect();
  EXPECT_EQ(change(*session, Change::acquire, ask("m", "me")).owner_id, "me");
  EXPECT_EQ(console.value(fmt::format("SELECT count(*) FROM pg_stat_activity WHERE usename = '{0}' "
                                      "AND datname = '{0}' AND pid <> pg_backend_pid()",
                                      user)),
            "1");
}

TEST(PostgreSqlUnixSocket, IsTheHostThatBeginsWithASlash) {
  const PostgreSqlOptions options = own_database();
  const std::string folder = support::postgresql_location().socket;
  const std::string url =
      fmt::format("postgresql://{}:{}@/{}?host={}&port={}", options.user, options.password.reveal(),
                  options.database, folder, options.port);
  const auto factory = make_factory(url);
  SimbaLocker owner{"m", *factory};
  owner.acquire(support::scaled(10s));
  SimbaLocker other{"m", *factory};
  EXPECT_FALSE(other.try_acquire());
  Console console{options_of(support::postgresql_location())};
  const auto connections = [&](const std::string& which) {
    return console.value(fmt::format(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}' AND client_addr IS {}",
        options.database, which));
  };
  EXPECT_NE(connections("NULL"), "0");
  EXPECT_EQ(connections("NOT NULL"), "0");
  owner.close();
  other.acquire(support::scaled(10s));
  EXPECT_TRUE(other.is_held());
}

/// The server of the tests has no TLS.
TEST(PostgreSqlTls, TheModeOfAServiceIsNotLowered) {
  const support::TemporaryFolder folder;
  const std::string file = folder.path() / "services";
  std::ofstream{file} << "[safe]\nsslmode=verify-full\n";
  const Variable services{"PGSERVICEFILE", file};
  const Variable service{"PGSERVICE", "safe"};
  PostgreSqlOptions options = options_of(support::postgresql_location());
  EXPECT_THAT(error_of([&] { Client{options}.connect(); }).what(), HasSubstr("SSL"));
  options.tls.mode = TlsMode::off;
  EXPECT_NO_THROW(Client{options}.connect()) << "what is written out counts";
}

TEST(PostgreSqlTls, TheOldVariableThatRequiresItCounts) {
  const Variable variable{"PGREQUIRESSL", "1"};
  EXPECT_THAT(
      error_of([&] { Client{options_of(support::postgresql_location())}.connect(); }).what(),
      HasSubstr("SSL"));
}

TEST(PostgreSqlTls, AWishForGssapiEncryptionIsNotDroppedQuietly) {
  const Variable variable{"PGGSSENCMODE", "require"};
  EXPECT_THAT(error_of([&] { Client{options_of(support::postgresql_location())}; }).what(),
              AllOf(HasSubstr("PGGSSENCMODE"), HasSubstr("tls.mode")));
}

TEST(PostgreSqlTls, TheCasOfTheEnvironmentCountWhereTheOptionsNameNone) {
  const support::PostgreSqlServer server{support::Tls::on, {"-c", "fsync=off"}};
  const std::string folder = server.location().certificates;
  PostgreSqlOptions options = options_of(server.location());
  for (const TlsMode mode : {TlsMode::verify_ca, TlsMode::verify}) {
    const Variable variable{"PGSSLROOTCERT", folder + "/ca.crt"};
    options.tls.mode = mode;
    EXPECT_NO_THROW(Client{options}.connect());
  }
  const Variable variable{"PGSSLROOTCERT", folder + "/stranger.crt"};
  EXPECT_EQ(error_of([&] { Client{options}.connect(); }).kind(), ErrorKind::configuration);
  EXPECT_NO_THROW(Client{support::verifying(options, server.location())}.connect());
}

TEST(PostgreSqlHosts, TheFirstThatAcceptsWritesIsUsed) {
  const support::PostgreSqlServer replica{support::Tls::off, {"-c", "fsync=off"}};
  const support::PostgreSqlServer primary{support::Tls::off, {"-c", "fsync=off"}};
  PostgreSqlOptions options = options_of(replica.location());
  ASSERT_EQ(primary.location().password, replica.location().password);
  Console{options}.run(
      fmt::format("ALTER DATABASE {} SET default_transaction_read_only = on", options.database));
  options.host = fmt::format("127.0.0.1:1,127.0.0.1:{},127.0.0.1:{}", replica.location().port,
                             primary.location().port);
  Client client{options};
  EXPECT_EQ(change(*client.connect(), Change::acquire, ask("m", "me")).owner_id, "me");
}

/// Accepts connections, as its kernel does, and never says a word.
class SilentHost {
 public:
  SilentHost() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_, any, size), 0);
    EXPECT_EQ(::listen(socket_, 5), 0);
    EXPECT_EQ(::getsockname(socket_, any, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~SilentHost() { ::close(socket_); }
  SilentHost(const SilentHost&) = delete;
  SilentHost& operator=(const SilentHost&) = delete;

  /// Options that name this host, then the shared server.
  PostgreSqlOptions before_the_server() const {
    PostgreSqlOptions options = options_of(support::postgresql_location());
    options.host = fmt::format("127.0.0.1:{},{}:{}", port_, options.host, options.port);
    return options;
  }

 private:
  int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int port_ = 0;
};

TEST(PostgreSqlHosts, OneThatStaysSilentIsTriedLastTheNextTime) {
  const SilentHost silent;
  Client client{silent.before_the_server()};
  EXPECT_THAT(
      error_of([&] { client.database.connect(sql::real_now() + 200ms, client.closing); }).what(),
      HasSubstr("timed out"));
  EXPECT_NO_THROW(client.connect());
}

TEST(PostgreSqlHosts, OneThatLetsTwoSessionsWaitAtOnceIsTriedLastTheNextTime) {
  const SilentHost silent;
  const auto settings = std::make_shared<const ConnectSettings>(silent.before_the_server());
  const sql::Wakeup closing;
  Connection one{settings};
  Connection two{settings};
  for (Connection* const connection : {&one, &two}) {
    EXPECT_THAT(error_of([&] { connection->open(sql::real_now() + 200ms, closing); }).what(),
                HasSubstr("timed out"));
  }
  EXPECT_NO_THROW(Connection{settings}.open(soon(), closing));
}

}  // namespace
}  // namespace simba::postgresql::test
