#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "postgresql/database.hpp"
#include "simba/core/error.hpp"

namespace simba::postgresql {
namespace {

using testing::AllOf;
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
  EXPECT_THAT(refusal([](auto& options) { options.host = "a,b"; }), HasSubstr("\"a,b\""));
  EXPECT_THAT(refusal([](auto& options) { options.port = 0; }),
              HasSubstr("port must be between 1 and 65535 (got 0)"));
  EXPECT_THAT(refusal([](auto& options) { options.tls.ca_file = "ca.crt"; }),
              HasSubstr("tls.mode is off"));
  EXPECT_THAT(refusal([](auto& options) {
                options.tls.mode = TlsMode::verify;
                options.tls.key_file = "key";
              }),
              HasSubstr("must be set together"));
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

TEST(PostgreSqlDatabase, IsNamedByItsPlaceWithoutThePassword) {
  PostgreSqlOptions options;
  options.password = Secret{"secret"};
  EXPECT_EQ(PostgreSqlDatabase(options, make_null_logger()).name(), "PostgreSQL at 127.0.0.1:5432");
  options.host = "::1";
  EXPECT_EQ(PostgreSqlDatabase(options, make_null_logger()).name(), "PostgreSQL at [::1]:5432");
}

}  // namespace
}  // namespace simba::postgresql
