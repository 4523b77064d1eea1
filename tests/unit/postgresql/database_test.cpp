#include "postgresql/database.hpp"

#include <functional>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"

namespace simba::postgresql {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Eq;
using testing::HasSubstr;
using testing::Not;

std::string refusal(const std::function<void(PostgreSqlOptions&)>& set) {
  PostgreSqlOptions options;
  options.password = Secret{"secret"};
  set(options);
  try {
    const PostgreSqlDatabase database{options, make_null_logger()};
  } catch (const InvalidArgumentError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(PostgreSqlDatabase, RefusesOptionsThatContradictEachOther) {
  EXPECT_EQ(refusal([](auto&) {}), "accepted");
  EXPECT_THAT(refusal([](auto& options) { options.host = ""; }),
              HasSubstr("host must not be empty"));
  for (const auto* const hosts : {"a,", ",a", "a:0", "a:x", "a:65536", "[::1", "[::1]x,b"}) {
    EXPECT_THAT(refusal([&](auto& options) {
                  options.host = hosts;
                  options.tls.mode = TlsMode::off;
                }),
                HasSubstr("the list of PostgreSQL hosts"));
  }
  EXPECT_THAT(refusal([](auto& options) { options.host = "app:secret@db1"; }),
              Not(AnyOf(HasSubstr("secret"), Eq("accepted"))));
  EXPECT_THAT(refusal([](auto& options) { options.port = 0; }),
              HasSubstr("port must be between 1 and 65535 (got 0)"));
  EXPECT_THAT(refusal([](auto& options) { options.tls.ca_file = "ca.crt"; }),
              HasSubstr("tls.mode is off"));
  EXPECT_THAT(refusal([](auto& options) {
                options.tls.mode = TlsMode::verify;
                options.tls.key_file = "key";
              }),
              HasSubstr("must be set together"));
  EXPECT_THAT(refusal([](auto& options) { options.tls.mode = TlsMode::verify_ca; }),
              HasSubstr("set tls.ca_file"));
  EXPECT_THAT(refusal([](auto& options) {
                options.host = "/run/postgresql";
                options.tls.mode = TlsMode::verify;
              }),
              HasSubstr("Unix socket"));
}

TEST(PostgreSqlDatabase, RefusesTextsThatWouldBeCutAndShowsNoPassword) {
  const std::string nul{"secret\0x", 8};
  EXPECT_THAT(refusal([&](auto& options) { options.password = Secret{nul}; }),
              AllOf(HasSubstr("password must not contain a NUL"), Not(HasSubstr("secret"))));
  EXPECT_THAT(refusal([&](auto& options) { options.user = nul; }),
              HasSubstr("user must not contain a NUL"));
  EXPECT_THAT(refusal([&](auto& options) { options.database = nul; }),
              HasSubstr("database must not contain a NUL"));
}

TEST(PostgreSqlDatabase, SendsAPasswordToAnotherHostOnlyInAWayThatWasChosen) {
  const auto of = [](const std::string& host, std::optional<TlsMode> mode = {}) {
    return refusal([&](auto& options) {
      options.host = host;
      if (mode) options.tls.mode = *mode;
    });
  };
  for (const auto* const host :
       {"db", "10.0.0.1", "2001:db8::1", "localhost,db", "127.0.0.1.example"}) {
    EXPECT_THAT(of(host),
                AllOf(HasSubstr("password would be used on an unencrypted connection to host"),
                      HasSubstr("tls.mode")));
    for (const auto mode : {TlsMode::off, TlsMode::encrypt, TlsMode::verify}) {
      EXPECT_EQ(of(host, mode), "accepted");
    }
  }
  for (const auto* const host :
       {"localhost", "127.1.2.3", "::1", "::ffff:127.0.0.1", "/run/postgresql"}) {
    EXPECT_EQ(of(host), "accepted") << host;
  }
}

TEST(PostgreSqlDatabase, IsNamedByItsPlaceWithoutThePassword) {
  PostgreSqlOptions options;
  options.password = Secret{"secret"};
  EXPECT_EQ(PostgreSqlDatabase(options, make_null_logger()).name(), "PostgreSQL at 127.0.0.1:5432");
  options.host = "::1";
  EXPECT_EQ(PostgreSqlDatabase(options, make_null_logger()).name(), "PostgreSQL at [::1]:5432");
  options.host = "a,b:5433,[::1]:5434";
  options.tls.mode = TlsMode::verify;
  EXPECT_EQ(PostgreSqlDatabase(options, make_null_logger()).name(),
            "PostgreSQL at a:5432, b:5433, [::1]:5434");
}

}  // namespace
}  // namespace simba::postgresql
