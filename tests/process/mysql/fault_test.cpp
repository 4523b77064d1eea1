#include <filesystem>
#include <thread>

#include <asio.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/mysql/console.hpp"
#include "simba/testkit/served_time.hpp"
#include "support/patience.hpp"
#include "support/proxy/fault_proxy.hpp"
#include "support/servers.hpp"
#include "support/temporary_folder.hpp"

namespace simba::mysql::test {
namespace {

using sql::Change;
using support::FaultProxy;
using support::scaled;
using testkit::ServedTime;

class MySqlFault : public ::testing::TestWithParam<TlsMode> {
 protected:
  MySqlFault() {
    options.port = proxy.port();
    options.tls.mode = GetParam();
  }

  /// The server of all tests that need TLS.
  static support::Location location() {
    if (GetParam() == TlsMode::off) return support::mariadb_location();
    static const support::MariaDbServer server{support::Tls::on};
    return server.location();
  }

  Error change_error(std::chrono::milliseconds patience) {
    return error_of([&] {
      session->change(Change::acquire, std::vector{ask(mutex, "me")}, sql::real_now() + patience);
    });
  }

  const support::Location server = location();
  FaultProxy proxy{server.host, server.port};
  MySqlOptions options = options_of(server);
  std::unique_ptr<Client> client;
  std::unique_ptr<sql::Session> session;
  std::string mutex = unique("fault");

  void SetUp() override {
    client = std::make_unique<Client>(options);
    session = client->connect();
  }
};

TEST_P(MySqlFault, AServerThatFallsSilentIsATimeOutAndNothingWaitsForItAfterwards) {
  proxy.black_hole();
  const ServedTime time;
  const Error error = change_error(100ms);
  EXPECT_EQ(error.kind(), ErrorKind::timeout) << error.what();
  EXPECT_FALSE(session->usable());
  session.reset();
  EXPECT_LT(time.now(), scaled(400ms));
}

TEST_P(MySqlFault, AStatementLeftBehindTakesAConnectionOfThePoolUntilItMustBeOver) {
  options.sql.pool_size = 1;
  options.sql.statement_timeout = 200ms;
  client = std::make_unique<Client>(options);
  session = client->connect();
  proxy.black_hole();
  const LocalTime begun = sql::real_now();
  EXPECT_EQ(change_error(100ms).kind(), ErrorKind::timeout);
  session.reset();
  proxy.mend();
  const Error error = error_of([&] { client->connect(); });
  EXPECT_EQ(error.kind(), ErrorKind::unavailable);
  EXPECT_THAT(error.what(), ::testing::HasSubstr("may still be executing 1 statement"));
  EXPECT_TRUE(support::within(5s, [&] {
    try {
      session = client->connect();
      return true;
    } catch (const Error&) {
      return false;
    }
  }));
  EXPECT_GE(sql::real_now() - begun, 2s) << "a second for the lock, and one more";
}

TEST_P(MySqlFault, AServerThatDoesNotAnswerAConnectIsATimeOut) {
  proxy.black_hole();
  const ServedTime time;
  const Error error =
      error_of([&] { client->database.connect(sql::real_now() + 100ms, client->closing); });
  EXPECT_EQ(error.kind(), ErrorKind::timeout) << error.what();
  EXPECT_LT(time.now(), scaled(400ms));
}

TEST_P(MySqlFault, AConnectIsGivenUpWhenTheStoreCloses) {
  proxy.black_hole();
  client->closing.raise();
  const Error error = error_of([&] { client->connect(); });
  EXPECT_EQ(error.kind(), ErrorKind::unavailable) << error.what();
}

TEST_P(MySqlFault, AReplyThatIsLostLeavesTheChangeInDoubtAndDone) {
  change(*session, Change::acquire, ask(mutex, "me"));
  proxy.cut_next_reply();
  const Error error = change_error(5s);
  EXPECT_EQ(error.kind(), ErrorKind::in_doubt) << error.what();
  EXPECT_FALSE(session->usable());
  const auto again = client->connect();
  EXPECT_EQ(again->look(std::vector{mutex}, soon()).at(0).version, 2U);
}

TEST_P(MySqlFault, ARequestCutInTheMiddleIsInDoubtToo) {
  proxy.cut_after_bytes(200);
  const Error error = change_error(5s);
  EXPECT_EQ(error.kind(), ErrorKind::in_doubt) << error.what();
  EXPECT_FALSE(session->usable());
}

TEST_P(MySqlFault, AnIdleSessionThatWasResetIsFoundOut) {
  proxy.reset_all();
  EXPECT_TRUE(support::within(2s, [&] { return !session->usable(); }));
}

INSTANTIATE_TEST_SUITE_P(Modes, MySqlFault, ::testing::Values(TlsMode::off, TlsMode::encrypt),
                         [](const auto& tls) {
                           return tls.param == TlsMode::off ? "Plain" : "Encrypted";
                         });

/// Two servers behind one address: a path, which leads to one and then to the other.
TEST(MySqlFailOver, WhatTheOldServerWasLeftWithTakesNoConnectionAtTheNewOne) {
  namespace fs = std::filesystem;
  const support::MariaDbServer old_server;
  const support::MariaDbServer new_server;
  const support::TemporaryFolder folder;
  const fs::path address = folder.path() / "socket";
  const auto lead_to = [&](const support::MariaDbServer& server) {
    fs::create_symlink(server.location().socket, folder.path() / "next");
    fs::rename(folder.path() / "next", address);
  };
  MySqlOptions options = options_of(old_server.location());
  options.unix_socket = address;
  options.sql.pool_size = 2;
  options.sql.statement_timeout = 20s;  // so that what is left behind counts for eleven
  Client client{options};

  lead_to(old_server);
  auto session = client.connect();
  Console locker{options_of(old_server.location())};
  locker.run("LOCK TABLES simba_mutex WRITE");
  const Error error = error_of([&] {
    session->change(Change::acquire, std::vector{ask("m", "me")}, sql::real_now() + 200ms);
  });
  EXPECT_EQ(error.kind(), ErrorKind::timeout) << error.what();
  session.reset();
  session = client.connect();
  EXPECT_THAT(error_of([&] { client.connect(); }).what(),
              ::testing::HasSubstr("may still be executing 1 statement"));
  session.reset();

  lead_to(new_server);
  session = client.connect();
  const auto other = client.connect();
  EXPECT_TRUE(other->usable());
}

/// Greets as a server with TLS does, and says nothing more.
class GreetingServer {
 public:
  explicit GreetingServer(std::uint16_t model) {
    asio::ip::tcp::socket socket{context_};
    socket.connect({asio::ip::address_v4::loopback(), model});
    greeting_.resize(socket.read_some(asio::buffer(greeting_)));
    thread_ = std::thread{[this] {
      asio::error_code ended;
      asio::ip::tcp::socket client = acceptor_.accept(ended);
      if (ended) return;
      asio::write(client, asio::buffer(greeting_), ended);
      std::vector<char> ignored(1'000);
      while (!ended) client.read_some(asio::buffer(ignored), ended);
    }};
  }
  ~GreetingServer() { thread_.join(); }
  GreetingServer(const GreetingServer&) = delete;
  GreetingServer& operator=(const GreetingServer&) = delete;

  std::uint16_t port() { return acceptor_.local_endpoint().port(); }

 private:
  asio::io_context context_;
  asio::ip::tcp::acceptor acceptor_{context_, {asio::ip::address_v4::loopback(), 0}};
  std::vector<char> greeting_ = std::vector<char>(1'000);
  std::thread thread_;
};

TEST(MySqlHandshake, OneThatIsNotGoneOnWithEndsInTime) {
  const support::MariaDbServer model{support::Tls::on};
  GreetingServer server{model.port()};
  MySqlOptions options = options_of(model.location());
  options.port = server.port();
  options.tls.mode = TlsMode::encrypt;
  options.sql.connect_timeout = 400ms;
  Client client{options};
  const ServedTime time;
  const Error error =
      error_of([&] { client.database.connect(sql::real_now() + 400ms, client.closing); });
  EXPECT_TRUE(error.is_transient()) << error.what();
  EXPECT_LT(time.now(), scaled(1'800ms));  // the library counts in seconds
}

}  // namespace
}  // namespace simba::mysql::test
