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
  EXPECT_TRUE(settings.hints());
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
  EXPECT_THAT(refusal([](auto& o) { o.hint_connections = 65; }),
              HasSubstr("hint_connections must be at most 64 (got 65)"));
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
  EXPECT_THAT(refusal([](auto& o) {
                o.tls.mode = TlsMode::verify;
                o.unix_socket = "/run/socket";
              }),
              HasSubstr("no host name"));
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
