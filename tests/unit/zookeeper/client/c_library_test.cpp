#include "zookeeper/client/c_library.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simba::zookeeper {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(ZooKeeperLibrary, SaysWhatAnAnswerMeansForTheRequest) {
  for (const auto& [answer, code] : {
           std::pair{ZOK, Code::ok},
           std::pair{ZNONODE, Code::no_node},
           std::pair{ZNODEEXISTS, Code::node_exists},
           std::pair{ZBADVERSION, Code::bad_version},
           std::pair{ZNOAUTH, Code::no_auth},
           std::pair{ZUNIMPLEMENTED, Code::unimplemented},
           std::pair{ZCONNECTIONLOSS, Code::connection_loss},
           std::pair{ZOPERATIONTIMEOUT, Code::connection_loss},
           std::pair{ZSESSIONMOVED, Code::connection_loss},
           std::pair{ZSESSIONEXPIRED, Code::session_expired},
           std::pair{ZINVALIDSTATE, Code::session_expired},
           std::pair{ZCLOSING, Code::closing},
           std::pair{ZNOTEMPTY, Code::refused},
           std::pair{ZINVALIDACL, Code::refused},
           std::pair{ZBADARGUMENTS, Code::refused},
           std::pair{ZTHROTTLEDOP, Code::refused},
       }) {
    EXPECT_EQ(code_of(answer), code) << answer;
  }
  EXPECT_EQ(code_of(12'345), Code::refused);
}

TEST(ZooKeeperLibrary, StatHasZxidTimeSessionAndVersion) {
  Stat raw{};
  raw.czxid = 7;
  raw.ctime = 1'700'000'000'123;
  raw.ephemeralOwner = 0x1234;
  raw.version = 3;
  const NodeStat stat = stat_of(&raw);
  EXPECT_EQ(stat.created_zxid, 7);
  EXPECT_EQ(stat.created_at, StoreTime{std::chrono::milliseconds{1'700'000'000'123}});
  EXPECT_EQ(stat.session, 0x1234);
  EXPECT_EQ(stat.version, 3);
}

TEST(ZooKeeperLibrary, ContainerBelongsToNoSession) {
  Stat raw{};
  raw.ephemeralOwner = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(stat_of(&raw).session, 0);
}

TEST(ZooKeeperLibrary, WhatIsMissingIsEmpty) {
  EXPECT_EQ(stat_of(nullptr).created_zxid, 0);
  EXPECT_EQ(text_of(nullptr), "");
  EXPECT_EQ(data_of(nullptr, 5), "");
  EXPECT_EQ(data_of("abc", -1), "");
  EXPECT_EQ(data_of("abc", 0), "");
  EXPECT_THAT(names_of(nullptr), IsEmpty());
  const String_vector none{.count = 3, .data = nullptr};
  EXPECT_THAT(names_of(&none), IsEmpty());
}

TEST(ZooKeeperLibrary, DataMayHoldAnyBytes) {
  const std::string bytes{"a\0\xFF", 3};
  EXPECT_EQ(data_of(bytes.data(), 3), bytes);
}

TEST(ZooKeeperLibrary, NamesThatAreMissingAreLeftOut) {
  std::string first = "first";
  std::string last = "last";
  std::array<char*, 3> names{first.data(), nullptr, last.data()};
  const String_vector three{.count = 3, .data = names.data()};
  EXPECT_THAT(names_of(&three), ElementsAre("first", "last"));
  const String_vector negative{.count = -1, .data = names.data()};
  EXPECT_THAT(names_of(&negative), IsEmpty());
}

TEST(ZooKeeperLibrary, TakesHostsWithAPortAndWithoutBrackets) {
  EXPECT_EQ(hosts_for_library("a:1"), "a:1");
  EXPECT_EQ(hosts_for_library("a:1,b.c:2,10.0.0.1:3"), "a:1,b.c:2,10.0.0.1:3");
  EXPECT_EQ(hosts_for_library("a"), "a:2181");
  EXPECT_EQ(hosts_for_library("a,b:2,c"), "a:2181,b:2,c:2181");
  EXPECT_EQ(hosts_for_library("[::1]:1"), "::1:1");
  EXPECT_EQ(hosts_for_library("[::1],a"), "::1:2181,a:2181");
  EXPECT_THROW(hosts_for_library("::1:2183"), InvalidArgumentError);
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
