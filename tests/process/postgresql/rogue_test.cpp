// Servers that are none, or not the right one, and are after the password.
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "console.hpp"
#include "simba/testkit/capturing_logger.hpp"
#include "support/own_certificate.hpp"
#include "support/patience.hpp"
#include "support/resident_memory.hpp"

namespace simba::postgresql::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* user = "the-user";
constexpr const char* password = "the-password-4711";

std::string message(char kind, const std::string& body) {
  const auto size = static_cast<std::uint32_t>(body.size() + 4);
  std::string text{kind};
  for (const unsigned shift : {24U, 16U, 8U, 0U}) text += static_cast<char>(size >> shift & 0xFFU);
  return text + body;
}

const std::string zero(4, '\0');
const std::string password_please = message('R', std::string("\0\0\0\3", 4));
const std::string ready = message('Z', "I");
const std::string greeting = message('R', zero) + message('K', zero + zero) + ready;

/// Plays to one client after the other, on a thread of its own.
class RogueServer {
 public:
  using Play = std::function<void(int client)>;

  explicit RogueServer(Play play) : listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, any, size) != 0 || ::listen(listener_, 5) != 0 ||
        ::getsockname(listener_, any, &size) != 0) {
      throw std::runtime_error{"no port for a rogue server"};
    }
    options.port = ntohs(address.sin_port);
    options.user = user;
    options.listen = Listen::no;
    thread_ = std::thread{[this, each = std::move(play)] {
      for (int client = 0; (client = ::accept(listener_, nullptr, nullptr)) >= 0; ::close(client)) {
        each(client);
      }
    }};
  }
  ~RogueServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  RogueServer(const RogueServer&) = delete;
  RogueServer& operator=(const RogueServer&) = delete;

  PostgreSqlOptions options;

 private:
  const int listener_;
  std::thread thread_;
};

bool say(int client, const std::string& text) {
  return ::send(client, text.data(), text.size(), MSG_NOSIGNAL) > 0;
}

/// What has come; empty at the end.
std::string hear(int client) {
  std::array<char, 4096> heard{};
  const auto size = ::recv(client, heard.data(), heard.size(), 0);
  return {heard.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

void repeat(int client, const std::string& endless, std::chrono::microseconds pause = 0us) {
  while (say(client, endless)) {
    if (pause.count() > 0) std::this_thread::sleep_for(pause);
  }
}

std::string many(const std::string& one) {
  std::string text;
  while (text.size() < 60'000) text += one;
  return text;
}

/// Logs everyone in, and then says the same for ever.
RogueServer::Play endless_answer(std::string endless, std::chrono::microseconds pause = 0us) {
  return [endless = std::move(endless), pause](int client) {
    hear(client);
    say(client, greeting);
    hear(client);
    say(client, message('1', "") + message('2', "") +
                    message('T', std::string("\0\1c\0", 4) + std::string(18, '\0')));
    repeat(client, endless, pause);
  };
}

RogueServer::Play endless_log_in(std::string endless) {
  return [endless = std::move(endless)](int client) {
    hear(client);
    say(client, message('R', zero));
    repeat(client, endless);
  };
}

/// Lets everyone listen, and then tells them the same for ever.
RogueServer::Play endless_notices(std::string endless) {
  return [endless = std::move(endless)](int client) {
    hear(client);
    say(client, greeting);
    hear(client);
    say(client, message('1', "") + message('2', "") + message('n', "") +
                    message('C', std::string{"LISTEN"} + '\0') + ready);
    repeat(client, endless);
  };
}

std::string notification(const std::string& channel, std::size_t size) {
  return message('A', zero + channel + '\0' + std::string(size, 'x') + '\0');
}

const std::string setting = message('S', std::string{"x"} + '\0' + std::string(1'000, 'x') + '\0');
const std::string notice = message('N', std::string("SNOTICE\0Mx\0\0", 12));

/// The beginning of a message of a gigabyte.
std::string huge(char kind) { return kind + std::string{"\x40\0\0\0", 4}; }

constexpr std::size_t bearable = 256U << 20U;

TEST(PostgreSqlRogue, EndlessAnswersCostNeitherMemoryNorTime) {
  const std::string row = message('D', std::string("\0\1\0\0\3\xE8", 6) + std::string(1'000, 'x'));
  const std::string null = message('D', std::string("\0\1\xFF\xFF\xFF\xFF", 6));
  for (const auto& [name, endless] : std::vector<std::pair<const char*, std::string>>{
           {"rows", many(row)},
           {"rows without a value", many(null)},
           {"notifications", many(notification("simba_mutex", 1'000))},
           {"one row", huge('D') + std::string(60'000, '\0')}}) {
    SCOPED_TRACE(name);
    RogueServer server{endless_answer(endless)};
    Client client{server.options};
    const LocalTime begun = sql::real_now();
    const std::size_t growth = support::growth_during([&] {
      const Error error = error_of([&] { client.database.connect(begun + 60s, client.closing); });
      EXPECT_THAT(error.what(), HasSubstr("sent more than 32 MiB"));
    });
    EXPECT_LT(sql::real_now() - begun, support::scaled(30s));
    EXPECT_LT(growth, bearable);
  }
}

TEST(PostgreSqlRogue, AnEndlessLogInCostsNeitherMemoryNorTime) {
  for (const auto& [name, endless] : std::vector<std::pair<const char*, std::string>>{
           {"settings", many(setting)}, {"notices", many(notice)}}) {
    SCOPED_TRACE(name);
    RogueServer server{endless_log_in(endless)};
    Client client{server.options};
    const LocalTime begun = sql::real_now();
    const std::size_t growth = support::growth_during([&] {
      const Error error = error_of([&] { client.database.connect(begun + 60s, client.closing); });
      EXPECT_THAT(error.what(), HasSubstr("sent more than 1 MiB"));
    });
    EXPECT_LT(sql::real_now() - begun, support::scaled(30s));
    EXPECT_LT(growth, bearable);
  }
}

TEST(PostgreSqlRogue, EndlessChatterEndsTheConnectionThatListens) {
  for (const auto& [name, endless] : std::vector<std::pair<const char*, std::string>>{
           {"settings", many(setting)},
           {"notices", many(notice)},
           {"notifications of a long channel", many(notification(std::string(10'000, 'c'), 1))},
           {"one notification", huge('A') + std::string(60'000, 'x')}}) {
    SCOPED_TRACE(name);
    RogueServer server{endless_notices(endless)};
    server.options.listen = Listen::yes;
    const auto log = std::make_shared<testkit::CapturingLogger>();
    Client client{server.options, log};
    const auto feed = client.database.make_feed();
    const LocalTime begun = sql::real_now();
    const std::size_t growth = support::growth_during([&] {
      while (log->count(LogLevel::warn) == 0 && sql::real_now() < begun + support::scaled(30s)) {
        feed->wait({}, sql::real_now() + 100ms, client.closing);
      }
    });
    EXPECT_THAT(log->text(), HasSubstr("sent more than 1 MiB"));
    EXPECT_LT(growth, bearable);
  }
}

TEST(PostgreSqlRogue, EndlessNotificationsAreHintsAndNoReasonToEndTheConnection) {
  RogueServer server{endless_notices(many(notification("simba_mutex", 1'000)))};
  server.options.listen = Listen::yes;
  const auto log = std::make_shared<testkit::CapturingLogger>();
  Client client{server.options, log};
  const auto feed = client.database.make_feed();
  const LocalTime begun = sql::real_now();
  std::size_t told = 0;
  while (told < 20'000 && sql::real_now() < begun + support::scaled(30s)) {
    // Not less: a machine that is busy would not have connected by then, which is a warning.
    told += feed->wait({}, begun + support::scaled(30s), client.closing).mutexes.size();
  }
  EXPECT_GE(told, 20'000U);
  EXPECT_EQ(log->count(LogLevel::warn), 0U);
}

TEST(PostgreSqlRogue, AServerThatNeverFallsSilentIsGivenUpAtTheDeadline) {
  RogueServer server{endless_answer(notice, 200us)};
  Client client{server.options};
  const LocalTime begun = sql::real_now();
  const Error error = error_of([&] { client.database.connect(begun + 300ms, client.closing); });
  EXPECT_EQ(error.kind(), ErrorKind::timeout) << error.what();
  EXPECT_LT(sql::real_now() - begun, support::scaled(10s));
}

/// A rogue that is after the password, and what it has heard when the client has given up.
struct Robbery {
  Error error;
  std::string heard;
};

template <typename Rob>
Robbery play(PostgreSqlOptions options, Rob rob) {
  std::string heard;
  const Error error = [&] {
    RogueServer server{[&](int client) { heard += rob(client); }};
    options.port = server.options.port;
    return error_of([&] { Client{options}.connect(); });
  }();
  return {error, heard};
}

PostgreSqlOptions with_password(TlsMode mode) {
  PostgreSqlOptions options;
  options.user = user;
  options.password = Secret{password};
  options.tls.mode = mode;
  if (mode == TlsMode::verify_ca) options.tls.ca_file = "/etc/ssl/certs/ca-certificates.crt";
  options.listen = Listen::no;
  return options;
}

/// Without TLS, whatever it is asked for; then it asks for the password.
std::string rob_in_the_clear(int client) {
  std::string heard = hear(client);
  say(client, heard.size() == 8 ? "N" : password_please);
  while (true) {
    const std::string more = hear(client);
    if (more.empty()) return heard;
    heard += more;
    if (more.starts_with('p')) return heard;
    say(client, password_please);
  }
}

/// With TLS and a certificate of its own. What it hears inside is what counts.
std::string rob_inside_tls(int client) {
  hear(client);
  say(client, "S");
  const support::OwnKey key = support::new_own_key();
  const std::unique_ptr<SSL_CTX, support::OpenSslDeleter<SSL_CTX_free>> context{
      ::SSL_CTX_new(::TLS_server_method())};
  support::use_own_certificate(context.get(), key.get());
  const std::unique_ptr<SSL, support::OpenSslDeleter<SSL_free>> tls{::SSL_new(context.get())};
  ::SSL_set_fd(tls.get(), client);
  std::string heard;
  if (::SSL_accept(tls.get()) != 1) return heard;
  std::array<char, 4096> some{};
  for (int size = 0; (size = ::SSL_read(tls.get(), some.data(), some.size())) > 0;) {
    heard.append(some.data(), static_cast<std::size_t>(size));
    if (some[0] == 'p' || ::SSL_write(tls.get(), password_please.data(),
                                      static_cast<int>(password_please.size())) <= 0) {
      break;
    }
  }
  return heard;
}

TEST(PostgreSqlRogueTls, OneThatOffersNoneHearsNeitherUserNorPasswordWhereItIsRequired) {
  for (const TlsMode mode : {TlsMode::encrypt, TlsMode::verify_ca, TlsMode::verify}) {
    const auto [error, heard] = play(with_password(mode), rob_in_the_clear);
    EXPECT_EQ(heard.size(), 8U) << "the wish to encrypt";
    EXPECT_THAT(heard, AllOf(Not(HasSubstr(user)), Not(HasSubstr(password))));
    EXPECT_EQ(error.kind(), ErrorKind::configuration) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("does not support SSL"));
  }
}

TEST(PostgreSqlRogueTls, OneWithACertificateOfItsOwnHearsNothingWhereItIsChecked) {
  for (const TlsMode mode : {TlsMode::verify_ca, TlsMode::verify}) {
    const auto [error, heard] = play(with_password(mode), rob_inside_tls);
    EXPECT_EQ(heard, "");
    EXPECT_EQ(error.kind(), ErrorKind::configuration) << error.what();
  }
  const auto [error, heard] = play(with_password(TlsMode::encrypt), rob_inside_tls);
  EXPECT_THAT(heard, AllOf(HasSubstr(user), HasSubstr(password))) << "it was not attacked";
}

TEST(PostgreSqlRogue, OneElsewhereThatAsksForThePasswordGetsItOnlyWhereThatWasChosen) {
  PostgreSqlOptions options = with_password(TlsMode::unset);
  options.host = "0.0.0.0";  // not a loopback address by name
  options.password = Secret{};
  const Variable of_the_environment{"PGPASSWORD", password};
  for (const auto* const mode : {"", "prefer", "allow"}) {
    const Variable variable{"PGSSLMODE", mode};
    const auto [error, heard] = play(options, rob_in_the_clear);
    EXPECT_EQ(heard, "") << mode;
    EXPECT_EQ(error.kind(), ErrorKind::configuration) << error.what();
  }
  options.tls.mode = TlsMode::off;
  EXPECT_THAT(play(options, rob_in_the_clear).heard, HasSubstr(password)) << "it was not attacked";
}

}  // namespace
}  // namespace simba::postgresql::test
