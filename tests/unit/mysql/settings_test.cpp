#include "mysql/settings.hpp"

#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"

namespace simba::mysql {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

MySqlOptions good_options() {
  MySqlOptions options;
  options.user = "simba";
  options.database = "locks";
  return options;
}

std::string refusal(const std::function<void(MySqlOptions&)>& spoil) {
  MySqlOptions options = good_options();
  options.password = Secret{"geheim"};
  spoil(options);
  try {
    Settings{options};
  } catch (const InvalidArgumentError& error) {
    EXPECT_EQ(std::string{error.what()}.find("geheim"), std::string::npos);
    return error.what();
  }
  return "accepted";
}

TEST(MySqlSettings, TheDefaultsAreGoodWithAUserAndADatabase) {
  const Settings settings{good_options()};
  EXPECT_EQ(settings.place, "127.0.0.1:3306");
  EXPECT_GT(settings.statement_timeout, 0ms);
}

TEST(MySqlSettings, ThePlaceIsTheSocketOrTheHostWithItsPort) {
  MySqlOptions options = good_options();
  options.host = "::1";
  EXPECT_EQ(Settings{options}.place, "[::1]:3306");
  options.unix_socket = "/run/mysqld/mysqld.sock";
  EXPECT_EQ(Settings{options}.place, "/run/mysqld/mysqld.sock");
}

TEST(MySqlSettings, AValueOutOfBoundsIsRefusedByName) {
  EXPECT_THAT(refusal([](auto& o) { o.host = " "; }), HasSubstr("host"));
  EXPECT_THAT(refusal([](auto& o) { o.port = 0; }),
              HasSubstr("port must be between 1 and 65535 (got 0)"));
  EXPECT_THAT(refusal([](auto& o) { o.user = ""; }), HasSubstr("user"));
  EXPECT_THAT(refusal([](auto& o) { o.database = ""; }), HasSubstr("database"));
  EXPECT_THAT(refusal([](auto& o) { o.database = std::string("a\0b", 3); }), HasSubstr("NUL"));
  EXPECT_THAT(refusal([](auto& o) { o.password = Secret{std::string("geheim\0b", 8)}; }),
              HasSubstr("password must not contain a NUL"));
  EXPECT_THAT(refusal([](auto& o) { o.unix_socket = std::string(108, 'x'); }),
              HasSubstr("unix_socket must be at most 107 bytes long (got 108)"));
  EXPECT_THAT(refusal([](auto& o) { o.sql.contention.ttl = 0ms; }), HasSubstr("ttl"));
}

TEST(MySqlSettings, TlsOptionsThatContradictEachOtherAreRefused) {
  EXPECT_THAT(refusal([](auto& o) { o.tls.ca_file = "ca.crt"; }), HasSubstr("tls.mode is off"));
  EXPECT_THAT(refusal([](auto& o) {
                o.tls.mode = TlsMode::verify;
                o.tls.key_file = "client.key";
              }),
              HasSubstr("together"));
  EXPECT_THAT(refusal([](auto& o) {
                o.tls.mode = TlsMode::encrypt;
                o.tls.ca_file = "ca.crt";
              }),
              HasSubstr("checks no certificate"));
  EXPECT_THAT(refusal([](auto& o) { o.tls.mode = TlsMode::verify_ca; }),
              HasSubstr("set tls.ca_file"));
  EXPECT_THAT(refusal([](auto& o) {
                o.tls.mode = TlsMode::verify;
                o.unix_socket = "/run/socket";
              }),
              HasSubstr("tls.mode must be off for a unix_socket"));
}

TEST(MySqlSettings, APasswordGoesToAnotherHostWithoutTlsOnlyIfThatIsAskedFor) {
  const auto remote = [](auto& o) {
    o.host = "db.example";
    o.password = Secret{"hunter2"};
  };
  EXPECT_THAT(refusal(remote), HasSubstr("db.example; set tls.mode to verify, or to off"));
  MySqlOptions options = good_options();
  remote(options);
  options.tls.mode = TlsMode::off;
  EXPECT_NO_THROW(Settings{options});
  options.tls.mode = TlsMode::unset;
  options.unix_socket = "run/socket";
  EXPECT_NO_THROW(Settings{options});
}

TEST(MySqlSettings, AServerIsTrustedByItsCertificateOrThePathOfItsSocket) {
  const auto trusts = [](TlsMode mode, const char* ca_file, const char* socket) {
    MySqlOptions options = good_options();
    options.tls.mode = mode;
    options.tls.ca_file = ca_file;
    options.unix_socket = socket;
    return Settings{options}.trusts_server();
  };
  EXPECT_TRUE(trusts(TlsMode::verify, "", ""));
  EXPECT_TRUE(trusts(TlsMode::verify_ca, "ca.crt", ""));
  EXPECT_TRUE(trusts(TlsMode::off, "", "/run/socket"));
  EXPECT_FALSE(trusts(TlsMode::encrypt, "", ""));
  EXPECT_FALSE(trusts(TlsMode::off, "", ""));
}

TEST(MySqlFactory, RefusesOptionsOutOfBoundsWithoutConnecting) {
  EXPECT_THROW(make_mysql_factory({}), InvalidArgumentError);
  EXPECT_THROW(make_mysql_repository({}), InvalidArgumentError);
  EXPECT_THROW(make_mysql_store(good_options(), nullptr), InvalidArgumentError);
  MySqlOptions options = good_options();
  options.port = 1;
  EXPECT_NE(make_mysql_factory(options), nullptr);
}

}  // namespace
}  // namespace simba::mysql
