#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/config/refusal.hpp"

namespace simba::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view two =
    "simba:\n  redis:\n    hosts: h\n\n  sqlite:\n    path: /a.db\n  memory:\n    enabled: false\n";

TEST(StoreChoice, IsTheOneThatIsEnabled) {
  EXPECT_EQ(from_yaml("simba:\n  redis:\n    enabled: no\n  memory:\n").store(), "memory");
}

TEST(StoreChoice, ListsAllThatAreEnabledWhereTheyAreSeveral) {
  EXPECT_THAT(refusal_of_yaml(two),
              AllOf(StartsWith("simba.yaml: 2 stores are enabled, but only one is allowed:"),
                    HasSubstr("simba.sqlite (line 5)"), HasSubstr("simba.redis (line 2)"),
                    HasSubstr("SIMBA_REDIS_ENABLED=false")));
}

TEST(StoreChoice, ListsWhatCouldBeEnabledWhereNoneIs) {
  EXPECT_THAT(refusal_of_yaml("simba:\n  redis:\n    enabled: false\n"),
              StartsWith("simba.yaml: no store is enabled; enable one of: simba.redis (line 2)"));
  EXPECT_THAT(refusal_of_yaml("simba:\n  enabled: true\n"),
              HasSubstr("no store configured; add one of these under \"simba\": jdbc, memory"));
}

TEST(StoreChoice, IsTheOneThatTheCallerNames) {
  EXPECT_EQ(from_yaml(two, {}, "sqlite").store(), "sqlite");
  EXPECT_EQ(from_yaml(two, {}, "memory").store(), "memory");  // though it is not enabled
  EXPECT_EQ(from_yaml("simba: {jdbc: {url: 'postgres://h'}}", {}, "jdbc").store(), "postgresql");
  EXPECT_EQ(from_yaml("simba: {jdbc: {url: 'postgres://h'}}", {}, "postgresql").store(),
            "postgresql");
  EXPECT_THAT(refusal_of_yaml(two, {}, "zookeeper"),
              HasSubstr("store \"zookeeper\" is not configured; configured: simba.memory"));
  EXPECT_THAT(refusal_of_yaml(two, {}, "reddis"),
              HasSubstr("unknown store \"reddis\"; did you mean \"redis\"?"));
}

TEST(StoreChoice, NeedNotBeMadeWhereTheMasterSwitchIsOff) {
  const auto off = from_yaml("simba:\n  enabled: false\n");
  EXPECT_FALSE(off.enabled());
  EXPECT_EQ(off.store(), "");
  EXPECT_THAT(refusal_of([&] { off.make_factory(); }), HasSubstr("disabled by simba.enabled"));

  const auto with_store = from_yaml("simba:\n  enabled: false\n  memory:\n");
  EXPECT_FALSE(with_store.enabled());
  EXPECT_NE(with_store.make_factory(), nullptr);
}

TEST(StoreChoice, OfJdbcIsMadeByItsUrl) {
  EXPECT_THAT(refusal_of_yaml("simba:\n  jdbc:\n    ttl: 5s\n"),
              StartsWith("simba.yaml:2: simba.jdbc: missing key \"url\""));
  EXPECT_THAT(refusal_of_yaml("simba:\n  jdbc:\n    url: redis://h\n"),
              HasSubstr("the URL is for the store \"redis\", not \"jdbc\""));
  EXPECT_THAT(refusal_of_yaml("simba:\n  redis:\n    url: mysql://a@h/d\n"),
              HasSubstr("the URL is for the store \"mysql\", not \"redis\""));
}

}  // namespace
}  // namespace simba::config
