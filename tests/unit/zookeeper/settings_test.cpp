#include "zookeeper/settings.hpp"

#include <chrono>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/zookeeper/zookeeper_factory.hpp"

namespace simba::zookeeper {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Settings with_connect_string(const std::string& text) {
  ZooKeeperOptions options;
  options.connect_string = text;
  return checked_settings(options);
}

std::string refusal_of(const std::function<void(ZooKeeperOptions&)>& change) {
  ZooKeeperOptions options;
  change(options);
  try {
    checked_settings(options);
  } catch (const InvalidArgumentError& error) {
    return error.what();
  }
  return {};
}

TEST(ZooKeeperSettings, TheChrootStandsBeforeTheBasePath) {
  const Settings settings = with_connect_string("zk1:2181,[::1]:2182/prod/eu");
  EXPECT_EQ(settings.hosts, "zk1:2181,[::1]:2182");
  EXPECT_EQ(settings.root, "/prod/eu/simba");
  EXPECT_EQ(with_connect_string("zk1:2181").root, "/simba");
  EXPECT_EQ(with_connect_string("zk1:2181/").root, "/simba");
}

TEST(ZooKeeperSettings, TheBasePathMayBeTheRoot) {
  ZooKeeperOptions options;
  options.base_path = "/";
  EXPECT_EQ(checked_settings(options).root, "");
}

TEST(ZooKeeperSettings, TheSessionIsAsLongAsTheLeaseUnlessItIsGiven) {
  ZooKeeperOptions options;
  EXPECT_EQ(checked_settings(options).session_timeout, 16s);
  options.session_timeout = 3s;
  EXPECT_EQ(checked_settings(options).session_timeout, 3s);
}

TEST(ZooKeeperSettings, TheLeaseFollowsFromAGivenSession) {
  ZooKeeperOptions options;
  options.session_timeout = 9s;
  EXPECT_EQ(contention_of(options).ttl, 6s);
  EXPECT_EQ(contention_of(options).transition, 3s);
}

TEST(ZooKeeperSettings, WhatIsOutOfBoundsIsRefusedWithItsBound) {
  EXPECT_THAT(refusal_of([](auto& o) { o.connect_string = ""; }),
              HasSubstr("must name at least one server"));
  EXPECT_THAT(refusal_of([](auto& o) { o.connect_string = "/chroot"; }),
              HasSubstr("must name at least one server"));
  EXPECT_THAT(refusal_of([](auto& o) { o.connect_string = "a:1,,b:1"; }), HasSubstr("empty host"));
  EXPECT_THAT(refusal_of([](auto& o) { o.connect_string = "a:1,"; }), HasSubstr("empty host"));
  EXPECT_THAT(refusal_of([](auto& o) { o.connect_string = "a b:1"; }), HasSubstr("connect_string"));
  EXPECT_THAT(refusal_of([](auto& o) { o.connect_string = "a:1/x/"; }),
              HasSubstr("must not end with '/'"));
  EXPECT_THAT(refusal_of([](auto& o) { o.base_path = "simba"; }), HasSubstr("must begin with '/'"));
  EXPECT_THAT(refusal_of([](auto& o) { o.base_path = "/a//b"; }), HasSubstr("empty name"));
  EXPECT_THAT(refusal_of([](auto& o) { o.base_path = "/a/../b"; }), HasSubstr("'..'"));
  EXPECT_THAT(refusal_of([](auto& o) { o.session_timeout = 99ms; }),
              HasSubstr("session_timeout must be between 100 ms and 3600000 ms (got 99 ms)"));
  EXPECT_THAT(refusal_of([](auto& o) { o.connection_timeout = 0ms; }),
              HasSubstr("connection_timeout must be between 1 ms and 3600000 ms (got 0 ms)"));
  EXPECT_THAT(
      refusal_of([](auto& o) { o.tick_time = 12s; }),
      HasSubstr(
          "tick_time must be at most two thirds of session_timeout, 16000 ms (got 12000 ms)"));
}

TEST(ZooKeeperSettings, CredentialsBelongTogether) {
  EXPECT_THAT(refusal_of([](auto& o) { o.digest_user = "simba"; }),
              HasSubstr("must be set together"));
  EXPECT_THAT(refusal_of([](auto& o) {
                o.digest_user = "a:b";
                o.digest_password = Secret{"p"};
              }),
              HasSubstr("must not contain ':'"));
  EXPECT_THAT(refusal_of([](auto& o) { o.acl = NodeAcl::creator; }),
              HasSubstr("requires digest_user"));
}

TEST(ZooKeeperSettings, APasswordLeavesThisHostUnencryptedOnlyIfThatIsAskedFor) {
  ZooKeeperOptions options;
  options.connect_string = "127.0.0.1:2181,zk2:2181";
  EXPECT_NO_THROW(checked_settings(options)) << "there is none";
  const auto with_password = [&](ZooKeeperOptions& o) {
    o.connect_string = options.connect_string;
    o.digest_user = "simba";
    o.digest_password = Secret{"a-secret"};
  };
  EXPECT_THAT(refusal_of(with_password),
              testing::AllOf(HasSubstr("to host zk2; set tls.mode to off"),
                             testing::Not(HasSubstr("a-secret"))));
  with_password(options);
  options.tls.mode = TlsMode::off;
  EXPECT_NO_THROW(checked_settings(options));
  options.tls.mode = TlsMode::unset;
  options.connect_string = "localhost,[::1]:2181,127.0.0.2:2181";
  EXPECT_NO_THROW(checked_settings(options));
}

TEST(ZooKeeperSettings, NodesAreForTheirCreatorWhereThereIsOneUnlessOpenIsAskedFor) {
  ZooKeeperOptions options;
  EXPECT_EQ(checked_settings(options).acl, NodeAcl::open);
  options.digest_user = "simba";
  options.digest_password = Secret{"p"};
  EXPECT_EQ(checked_settings(options).acl, NodeAcl::creator);
  options.acl = NodeAcl::open;
  EXPECT_EQ(checked_settings(options).acl, NodeAcl::open);
}

}  // namespace
}  // namespace simba::zookeeper
