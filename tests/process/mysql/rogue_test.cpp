#include <array>
#include <cstddef>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/mysql/console.hpp"
#include "process/mysql/rogue_server.hpp"
#include "support/patience.hpp"
#include "support/resident_memory.hpp"

// Servers that are not what they say, and are after the password.
namespace simba::mysql::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* password = "the-password-4711";

MySqlOptions options_for(const RogueServer& rogue, TlsMode mode) {
  MySqlOptions options;
  options.port = rogue.port();
  options.user = "simba";
  options.password = Secret{password};
  options.database = "simba";
  options.tls.mode = mode;
  if (mode == TlsMode::verify_ca) options.tls.ca_file = "/etc/ssl/certs/ca-certificates.crt";
  return options;
}

Error rogue_error(const MySqlOptions& options) {
  Client client{options};
  return error_of([&] { client.connect(); });
}

class MySqlRogue : public ::testing::TestWithParam<const char*> {};

TEST_P(MySqlRogue, OneThatOffersNoTlsHearsNothingWhereTlsIsRequired) {
  for (const TlsMode mode : {TlsMode::encrypt, TlsMode::verify_ca, TlsMode::verify}) {
    RogueServer rogue{RogueServer::Tls::none, GetParam()};
    const Error error = rogue_error(options_for(rogue, mode));
    EXPECT_EQ(rogue.stolen(), "");
    EXPECT_EQ(rogue.heard(), "");
    EXPECT_EQ(error.kind(), ErrorKind::configuration) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("does not support TLS"));
  }
}

TEST_P(MySqlRogue, OneWithoutTlsDoesNotGetThePassword) {
  RogueServer rogue{RogueServer::Tls::none, GetParam()};
  const Error error = rogue_error(options_for(rogue, TlsMode::off));
  EXPECT_EQ(rogue.stolen(), "");
  EXPECT_THAT(rogue.heard(), Not(HasSubstr(password)));
  EXPECT_EQ(error.kind(), ErrorKind::authentication) << error.what();
  EXPECT_THAT(error.what(), HasSubstr("tls.mode"));
}

TEST_P(MySqlRogue, OneWhoseCertificateNobodyChecksDoesNotGetThePassword) {
  RogueServer rogue{RogueServer::Tls::own_certificate, GetParam()};
  const Error error = rogue_error(options_for(rogue, TlsMode::encrypt));
  EXPECT_EQ(rogue.stolen(), "");
  EXPECT_THAT(rogue.heard(), HasSubstr("simba")) << "it was not attacked";
  EXPECT_THAT(rogue.heard(), Not(HasSubstr(password)));
  EXPECT_EQ(error.kind(), ErrorKind::authentication) << error.what();
}

INSTANTIATE_TEST_SUITE_P(Plugins, MySqlRogue,
                         ::testing::Values("sha256_password", "caching_sha2_password",
                                           "mysql_clear_password", "dialog"),
                         [](const auto& plugin) {
                           std::string name;
                           for (const char c : std::string_view{plugin.param}) {
                             if (c != '_') name += c;
                           }
                           return name;
                         });

TEST(MySqlLogIn, ProvesThePasswordToAServerThatPrefersAnotherMethod) {
  RogueServer server{RogueServer::Tls::none, "mysql_native_password", "caching_sha2_password"};
  const Error error = rogue_error(options_for(server, TlsMode::off));
  EXPECT_THAT(error.what(), HasSubstr("denied (error 1045)")) << "it got as far as that";
  EXPECT_EQ(server.heard().size() - server.heard().rfind("mysql_native_password") - 22, 20U)
      << "after the log-in, the proof";
}

TEST(MySqlRogueTls, OneWithACertificateOfItsOwnHearsNothingWhereItIsChecked) {
  for (const TlsMode mode : {TlsMode::verify_ca, TlsMode::verify}) {
    RogueServer rogue{RogueServer::Tls::own_certificate, "sha256_password"};
    const Error error = rogue_error(options_for(rogue, mode));
    EXPECT_EQ(rogue.stolen(), "");
    EXPECT_THAT(rogue.heard(), Not(HasSubstr("simba"))) << "not even who logs in";
    EXPECT_EQ(error.kind(), ErrorKind::configuration) << error.what();
  }
}

TEST(MySqlRogueTls, OneThatDripsItsHandshakeIsGivenUpAtTheDeadline) {
  RogueServer rogue{RogueServer::Tls::dripping, "sha256_password"};
  Client client{options_for(rogue, TlsMode::encrypt)};
  const LocalTime begun = sql::real_now();
  const Error error = error_of([&] { client.database.connect(begun + 300ms, client.closing); });
  EXPECT_LT(sql::real_now() - begun, support::scaled(4s));
  EXPECT_EQ(error.kind(), ErrorKind::timeout) << error.what();
}

TEST(MySqlRogueTls, OneThatDripsItsHandshakeDoesNotHoldUpTheEndOfAStore) {
  RogueServer rogue{RogueServer::Tls::dripping, "sha256_password"};
  Client client{options_for(rogue, TlsMode::encrypt)};
  const std::jthread closer{[&] {
    rogue.wait_until_it_drips();
    client.closing.raise();
  }};
  const LocalTime begun = sql::real_now();
  const Error error = error_of([&] { client.database.connect(begun + 60s, client.closing); });
  EXPECT_LT(sql::real_now() - begun, support::scaled(4s));
  EXPECT_EQ(error.kind(), ErrorKind::unavailable) << error.what();
}

/// It floods the client, which must notice.
void expect_given_up(RogueServer::Tls tls, RogueServer::Endless endless, TlsMode mode) {
  RogueServer rogue{tls, endless};
  Client client{options_for(rogue, mode)};
  const LocalTime begun = sql::real_now();
  const std::size_t growth = support::growth_during([&] {
    const Error error = error_of([&] { client.database.connect(begun + 60s, client.closing); });
    EXPECT_THAT(error.what(), Not(HasSubstr("timed out")));
    // The library itself ends a log-in of many packets.
    if (endless != RogueServer::Endless::log_in) {
      EXPECT_THAT(error.what(), HasSubstr("more data than a mutex table can hold"));
    }
  });
  EXPECT_LT(sql::real_now() - begun, support::scaled(30s));
  const std::size_t bound = endless == RogueServer::Endless::rows ? 384 : 128;
  EXPECT_LT(growth, bound << 20U) << "128 or 16 MiB, and what is copied";
}

class MySqlEndless : public ::testing::TestWithParam<RogueServer::Endless> {};

TEST_P(MySqlEndless, AnswersCostNeitherMemoryNorTime) {
  expect_given_up(RogueServer::Tls::none, GetParam(), TlsMode::off);
}

TEST_P(MySqlEndless, AnswersInsideTlsCostNeitherMemoryNorTime) {
  expect_given_up(RogueServer::Tls::own_certificate, GetParam(), TlsMode::encrypt);
}

std::string endless_name(const ::testing::TestParamInfo<RogueServer::Endless>& endless) {
  constexpr std::array names{"LogIn", "Results", "Columns", "Rows", "Row"};
  return names.at(static_cast<std::size_t>(endless.param));
}

INSTANTIATE_TEST_SUITE_P(Of, MySqlEndless,
                         ::testing::Values(RogueServer::Endless::log_in,
                                           RogueServer::Endless::results,
                                           RogueServer::Endless::columns,
                                           RogueServer::Endless::rows, RogueServer::Endless::row),
                         endless_name);

}  // namespace
}  // namespace simba::mysql::test
