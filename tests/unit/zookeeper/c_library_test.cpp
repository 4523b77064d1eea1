#include "zookeeper/client/c_library.hpp"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "zookeeper/client/c_connector.hpp"

namespace simba::zookeeper {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(ZooKeeperLibrary, TakesHostsWithAPortAndWithoutBrackets) {
  EXPECT_EQ(hosts_for_library("a:1"), "a:1");
  EXPECT_EQ(hosts_for_library("a:1,b.c:2,10.0.0.1:3"), "a:1,b.c:2,10.0.0.1:3");
  EXPECT_EQ(hosts_for_library("a"), "a:2181");
  EXPECT_EQ(hosts_for_library("a,b:2,c"), "a:2181,b:2,c:2181");
  EXPECT_EQ(hosts_for_library("[::1]:1"), "::1:1");
  EXPECT_EQ(hosts_for_library("[::1],a"), "::1:2181,a:2181");
}

TEST(ZooKeeperLibrary, NamesTheHostsWhereNoneCanBeFound) {
  Settings settings;
  settings.hosts = "a:1,b:2";
  for (const int reason : {ENOENT, EINVAL}) {
    const Error error = error_of_opening(settings, reason);
    EXPECT_TRUE(error.is_transient());
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'a:1,b:2'"), HasSubstr("`connect_string`")));
  }
  EXPECT_THAT(error_of_opening(settings, EMFILE).what(), HasSubstr("Too many open files"));
}

TEST(ZooKeeperLibrary, NamesTheUserButNotThePassword) {
  Settings settings;
  settings.hosts = "a:1";
  settings.digest_user = "me";
  settings.digest_password = Secret{"a-secret"};
  const Error error = error_of_authentication(settings);
  EXPECT_EQ(error.kind(), ErrorKind::authentication);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("'me'"), Not(HasSubstr("a-secret"))));
}

TEST(ZooKeeperLibrary, KnowsNoTlsThatChecksTheHost) {
  EXPECT_NO_THROW(check_tls({}));
  try {
    check_tls({.mode = TlsMode::verify});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("`tls.mode`"));
  }
}

}  // namespace
}  // namespace simba::zookeeper
