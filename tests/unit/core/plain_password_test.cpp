#include "core/plain_password.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"

namespace simba::detail {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(PlainPassword, KnowsThisHost) {
  for (const char* host : {"localhost", "LocalHost", "127.0.0.1", "127.8.9.10", "::1",
                           "::ffff:127.0.0.1", "/run/mysqld/mysqld.sock"}) {
    EXPECT_TRUE(is_this_host(host)) << host;
  }
  for (const char* host :
       {"", "db", "10.0.0.1", "127.0.0.1.example.com", "localhost.example.com", "127.1", "0.0.0.0",
        "::2", "::ffff:10.0.0.1", "127.0.0.1 ", "1.2.3.127"}) {
    EXPECT_FALSE(is_this_host(host)) << host;
  }
  EXPECT_FALSE(is_this_host(std::string(1'000, '1')));
}

TEST(PlainPassword, LeavesThisHostOnlyIfThatWasAskedFor) {
  const Secret password{"hunter2"};
  EXPECT_NO_THROW(check_plain_password(TlsMode::unset, "localhost", password));
  EXPECT_NO_THROW(check_plain_password(TlsMode::unset, "db.example", Secret{}));
  for (const TlsMode mode : {TlsMode::off, TlsMode::encrypt, TlsMode::verify_ca, TlsMode::verify}) {
    EXPECT_NO_THROW(check_plain_password(mode, "db.example", password));
  }
  try {
    check_plain_password(TlsMode::unset, "db.example", password);
    ADD_FAILURE() << "no error";
  } catch (const InvalidArgumentError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("db.example"), HasSubstr("set tls.mode to verify"),
                                    Not(HasSubstr("hunter2"))));
  }
}

}  // namespace
}  // namespace simba::detail
