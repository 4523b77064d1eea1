#include <chrono>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/store_types.hpp"
#include "unit/config/refusal.hpp"

namespace simba::config {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(ConfigurationFromUrl, KnowsTheSchemesOfAllStores) {
  EXPECT_EQ(description_of("memory:"), "memory:");
  EXPECT_EQ(description_of("memory://"), "memory:");
  EXPECT_EQ(description_of("sqlite:a/b.db"), "sqlite:a/b.db");
  EXPECT_EQ(description_of("sqlite:///var/a%20b.db"), "sqlite:/var/a b.db");
  EXPECT_EQ(description_of("mysql://app:pw@db/app?tls=off"), "mysql://app@db:3306/app");
  EXPECT_EQ(description_of("mariadb://app@db:3307/app"), "mysql://app@db:3307/app");
  EXPECT_EQ(description_of("mysql://app@/app?unix-socket=/run/my.sock"),
            "mysql://app@%2Frun%2Fmy.sock/app");
  EXPECT_EQ(description_of("postgresql://app@[::1]/app"), "postgresql://app@[::1]:5432/app");
  EXPECT_EQ(description_of("postgres://db"), "postgresql://db:5432");
  EXPECT_EQ(description_of("postgresql://app@a,b:5433,[::1]:5434/app"),
            "postgresql://app@a,b:5433,[::1]:5434/app");
  EXPECT_EQ(description_of("postgresql:///app?host=/run/pg"), "postgresql://%2Frun%2Fpg/app");
  EXPECT_EQ(description_of("postgresql://%2Frun%2Fpg/app"), "postgresql://%2Frun%2Fpg/app");
  EXPECT_EQ(description_of("redis://"), "redis://127.0.0.1:6379");
  EXPECT_EQ(description_of("redis://app:pw@10.0.0.5/3?tls=off"), "redis://app@10.0.0.5:6379/3");
  EXPECT_EQ(description_of("redis://:pw@localhost"), "redis://localhost:6379");
  EXPECT_EQ(description_of("rediss://h"), "rediss://h:6379");
  EXPECT_EQ(description_of("redis+sentinel://h1,h2:7/m/1"), "redis+sentinel://h1:26379,h2:7/m/1");
  EXPECT_EQ(description_of("redis+cluster://h1,[::1]:7"), "redis+cluster://h1:6379,[::1]:7");
  EXPECT_EQ(description_of("redis+cluster://h1?tls=verify"), "rediss+cluster://h1:6379");
  EXPECT_EQ(description_of("redis+unix:///run/r.sock?database=2"), "redis+unix:///run/r.sock");
  EXPECT_EQ(description_of("zookeeper://u:pw@z1,z2:2182/prod/a?tls=off"),
            "zookeeper://u@z1:2181,z2:2182/prod/a");
}

TEST(ConfigurationFromUrl, TellsTheStore) {
  const Configuration configuration = Configuration::from_url("rediss+cluster://h");
  EXPECT_EQ(configuration.store(), "redis");
  EXPECT_TRUE(configuration.enabled());
}

TEST(ConfigurationFromUrl, TakesEveryKeyAsAParameter) {
  const auto plan =
      Configuration::from_url(
          "memory:?initial-delay=1s&ttl=20s&transition=10s&margin=700ms&jitter-low=-5ms"
          "&renew-at-percent=50&drain-limit=1m")
          .plan();
  EXPECT_EQ(plan.initial_delay, 1s);
  EXPECT_EQ(plan.ttl, 20s);
  EXPECT_EQ(plan.transition, 10s);
  EXPECT_EQ(plan.margin, 700ms);
  EXPECT_EQ(plan.jitter.low, -5ms);
  EXPECT_EQ(plan.renew_after, 10s);
  EXPECT_EQ(plan.drain_limit, 1min);
}

TEST(ConfigurationFromUrl, TheSessionOfZooKeeperIsTheLease) {
  const auto plan = Configuration::from_url("zookeeper://z?session-timeout=9s").plan();
  EXPECT_EQ(plan.lease(), 9s);
}

TEST(ConfigurationFromUrl, SaysWhichSchemeWasMeant) {
  EXPECT_THAT(refusal_of_url("reids://h"),
              AllOf(HasSubstr("unknown scheme \"reids\"; did you mean \"redis\"?"),
                    HasSubstr("Allowed: memory, sqlite, mysql")));
  EXPECT_THAT(refusal_of_url("hunter2@h"),
              AllOf(HasSubstr("no scheme; for example redis://"), Not(HasSubstr("hunter2"))));
}

TEST(ConfigurationFromUrl, TakesAHostWithAPortForAUrlWithoutAScheme) {
  EXPECT_THAT(refusal_of_url("127.0.0.1:6379"),
              StartsWith("no scheme; for example redis://127.0.0.1:6379. Allowed: memory"));
  EXPECT_THAT(refusal_of_url("db.example:5432"), StartsWith("no scheme; for example redis://db."));
  EXPECT_THAT(refusal_of_url("user:123456"),
              AllOf(HasSubstr("unknown scheme \"user\""), Not(HasSubstr("123456"))));
}

TEST(ConfigurationFromUrl, SaysWhichKeyWasMeant) {
  EXPECT_THAT(refusal_of_url("redis://app:hunter2@h?tll=5s"),
              AllOf(StartsWith("redis://app:***@h: parameter \"tll\": unknown key; did you mean "
                               "\"ttl\"? Allowed: topology, hosts,"),
                    HasSubstr("password-file")));
}

TEST(ConfigurationFromUrl, RefusesValuesOfAnotherType) {
  EXPECT_THAT(refusal_of_url("memory:?ttl=soon"),
              StartsWith("memory: parameter \"ttl\": \"soon\" is not a duration; expected"));
  EXPECT_THAT(refusal_of_url("sqlite:a?pool-size=two"),
              HasSubstr("must be a whole number between 1 and 64 (got \"two\")"));
  EXPECT_THAT(refusal_of_url("sqlite:a?pool-size=65"),
              HasSubstr("must be a whole number between 1 and 64 (got \"65\")"));
  EXPECT_THAT(refusal_of_url("sqlite:a?pool-size=99999999999999999999"),
              HasSubstr("between 1 and 64 (got \"99999999999999999999\")"));
  EXPECT_THAT(refusal_of_url("sqlite:a?pool-size="),
              HasSubstr("must be a whole number between 1 and 64 (got \"\")"));
  EXPECT_THAT(refusal_of_url("redis://h?tls=verfy"),
              HasSubstr("unknown value \"verfy\"; did you mean \"verify\"? Allowed: off, encrypt"));
  EXPECT_THAT(refusal_of_url("postgresql://h?listen=maybe"),
              HasSubstr("\"maybe\" is neither true nor false"));
  EXPECT_THAT(
      refusal_of_url("redis://h/first"),
      HasSubstr("database: must be a whole number between 0 and 2147483647 (got \"first\")"));
  EXPECT_THAT(refusal_of_url("redis+unix:///s?hosts=a:b"),
              HasSubstr("port must be a number between 1 and 65535"));
}

TEST(ConfigurationFromUrl, RefusesWhatIsSaidTwice) {
  EXPECT_THAT(refusal_of_url("redis://h/1?database=2"),
              HasSubstr("parameter \"database\": already set by the URL"));
  EXPECT_THAT(
      refusal_of_url("redis://u:hunter2@h?password-file=/f"),
      AllOf(HasSubstr("password and password-file are both set"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(refusal_of_url("rediss://h?tls=off"), HasSubstr("rediss:// means TLS"));
  EXPECT_EQ(description_of("rediss://h?tls=verify-ca&ca-file=/ca.pem"), "rediss://h:6379");
}

// The system's CAs would vouch for whoever has a certificate for any host.
TEST(ConfigurationFromUrl, RefusesToVerifyACaThatIsNotNamed) {
  for (const char* url : {"rediss://h", "mysql://u@h/d", "postgresql://h/d"}) {
    EXPECT_THAT(refusal_of_url(std::string{url} + "?tls=verify-ca"), HasSubstr("set ca-file"))
        << url;
  }
}

TEST(ConfigurationFromUrl, SendsAPasswordToAnotherHostWithoutTlsOnlyIfToldTo) {
  EXPECT_THAT(
      refusal_of_url("mysql://u:hunter2@db/d"),
      AllOf(HasSubstr("to host db; set tls to verify, or to off"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(refusal_of_url("zookeeper://u:hunter2@localhost,zk2"),
              AllOf(HasSubstr("to host zk2; set tls to off"), Not(HasSubstr("hunter2"))));
  for (const char* url : {"redis://:hunter2@h", "redis+sentinel://u:hunter2@localhost,h/m",
                          "redis+sentinel://localhost,h/m?sentinel-password=hunter2",
                          "redis+cluster://:hunter2@localhost,h"}) {
    EXPECT_THAT(refusal_of_url(url), AllOf(HasSubstr("to host h; set tls to verify, or to off"),
                                           Not(HasSubstr("hunter2"))))
        << url;
  }
  for (const char* url :
       {"rediss://:pw@h", "redis://:pw@h?tls=off", "redis+cluster://:pw@h?tls=encrypt",
        "redis://:pw@[::1]", "redis://u@h", "redis+unix://:pw@/run/s", "mysql://u:pw@db/d?tls=off",
        "mysql://u:pw@db/d?tls=encrypt", "mysql://u:pw@db/d?tls=verify", "mysql://u@db/d",
        "mysql://u:pw@127.0.0.1/d", "mysql://u:pw@localhost/d",
        "mysql://u:pw@/d?unix-socket=/run/s", "zookeeper://u:pw@zk1,zk2?tls=off",
        "zookeeper://u:pw@localhost,[::1]:2182"}) {
    EXPECT_EQ(refusal_of_url(url), "") << url;
  }
}

TEST(ConfigurationFromUrl, RefusesPartsThatTheStoreDoesNotHave) {
  EXPECT_THAT(refusal_of_url("memory:x"), HasSubstr("may be followed by parameters only"));
  EXPECT_THAT(refusal_of_url("mysql://a@h1,h2/d"), HasSubstr("takes one host (got 2)"));
  EXPECT_THAT(refusal_of_url("mysql://a@h/d/e"), HasSubstr("must be the name of the database"));
  EXPECT_THAT(refusal_of_url("redis://h1,h2"), HasSubstr("redis+cluster:// take several"));
  EXPECT_THAT(refusal_of_url("redis://h/1/2"), HasSubstr("too many parts"));
  EXPECT_THAT(refusal_of_url("redis+sentinel://h"),
              HasSubstr("must begin with the name of the master"));
  EXPECT_THAT(refusal_of_url("redis+unix://h/s"), HasSubstr("takes the path of a socket"));
}

TEST(ConfigurationFromUrl, RefusesWhatContradictsItselfInTheWordsOfTheKeys) {
  EXPECT_THAT(
      refusal_of_url("redis://h?margin=1h"),
      HasSubstr("redis://h: margin must be less than ttl + transition, 16000 ms (got 3600000 ms)"));
  EXPECT_THAT(refusal_of_url("memory:?retry-min=2s&retry-max=1s"),
              HasSubstr("retry-max must be at least 2000 ms (got 1000 ms)"));
  EXPECT_THAT(refusal_of_url("memory:?jitter-low=2s&jitter-high=1s"),
              HasSubstr("jitter-low must be at most jitter-high, 1000 ms (got 2000 ms)"));
  EXPECT_THAT(refusal_of_url("redis://h?connect-timeout=0"),
              HasSubstr("connect-timeout must be between 1 ms and 3600000 ms (got 0 ms)"));
  EXPECT_THAT(refusal_of_url("sqlite:a?connect-timeout=0"),
              HasSubstr("connect-timeout must be between 1 ms and 3600000 ms (got 0 ms)"));
  EXPECT_THAT(refusal_of_url("redis://h?certificate-file=/c"),
              HasSubstr("certificate-file and key-file must be set together"));
  EXPECT_THAT(refusal_of_url("redis+cluster://h?database=1"),
              HasSubstr("database must be 0 on a cluster (got 1)"));
  EXPECT_THAT(refusal_of_url("redis+unix:///s?hosts=h"), HasSubstr("are both set"));
  EXPECT_THAT(refusal_of_url("sqlite:"), AllOf(StartsWith("sqlite: missing path"),
                                               HasSubstr("path"), HasSubstr("sqlite:/var/lib/")));
  EXPECT_THAT(refusal_of_url("mysql://db/app"), HasSubstr("user"));
  EXPECT_THAT(refusal_of_url("zookeeper://u@h"),
              HasSubstr("user and password must be set together"));
  EXPECT_THAT(refusal_of_url("zookeeper://h?base-path=a"),
              HasSubstr("base-path must begin with '/' (got 'a')"));
  EXPECT_THAT(refusal_of_url("zookeeper://?connect-string=a:b"),
              HasSubstr("connect-string: port must be a number between 1 and 65535"));
}

TEST(ConfigurationFromUrl, NamesAStoreThatWasNotBuiltIn) {
  const StoreType absent{.name = "etcd"};
  EXPECT_THAT(refusal_of([&] { require_built(absent, "simba.yaml:3: simba.etcd"); },
                         ErrorKind::unsupported),
              StartsWith("simba.yaml:3: simba.etcd: this Simba was built without the store "
                         "\"etcd\"; available: memory, "));
}

TEST(Configuration, ChangesOneKeyAndNamesWhereTheValueIsFrom) {
  Configuration configuration = Configuration::from_url("redis://h?ttl=5s");
  configuration.set("ttl", "7s", "--ttl");
  EXPECT_EQ(configuration.plan().ttl, 7s);
  EXPECT_THAT(refusal_of([&] { configuration.set("ttl", "x", "--ttl"); }),
              StartsWith("--ttl: \"x\" is not a duration"));
  EXPECT_THAT(
      refusal_of([&] { configuration.set("margin", "1h", "--margin"); }),
      StartsWith("--margin: margin must be less than ttl + transition, 13000 ms (got 3600000 ms)"));
  EXPECT_THAT(refusal_of([&] { configuration.set("tl", "1s", "option"); }),
              StartsWith("option: unknown key; did you mean \"ttl\"?"));
  EXPECT_EQ(configuration.plan().ttl, 7s);
  EXPECT_EQ(configuration.plan().margin, 500ms);
}

TEST(Configuration, KnowsTheWorstCasesOfItsStore) {
  const auto worst_of = [](std::string_view url) {
    return Configuration::from_url(url).worst_cases();
  };
  const std::string lease = "?ttl=4s&transition=2s&request-timeout=500ms&clock-drift-ppm=0";
  const auto general = 6s + 1s + 500ms;  // lease, jitter, one request

  const auto sqlite = worst_of("sqlite:a" + lease);
  EXPECT_EQ(sqlite.take_over, general);
  EXPECT_EQ(sqlite.take_over_when_gone, 1'500ms);
  EXPECT_EQ(sqlite.hand_over_without_notice, 1'500ms);

  const auto mysql = worst_of("mysql://u@h/d" + lease);
  EXPECT_EQ(mysql.take_over, general);
  EXPECT_EQ(mysql.take_over_when_gone, std::nullopt);
  EXPECT_EQ(mysql.hand_over_without_notice, 600ms);
  EXPECT_EQ(worst_of("mysql://u@h/d" + lease + "&poll-interval=300ms").hand_over_without_notice,
            800ms);
  EXPECT_EQ(worst_of("postgresql://h" + lease).hand_over_without_notice, 1'500ms);
  EXPECT_EQ(worst_of("postgresql://h" + lease + "&listen=no").hand_over_without_notice, 600ms);

  const LookRate looks{.interval = 100ms, .mutexes = 250, .per = 100ms};
  EXPECT_EQ(mysql.looks, looks);
  EXPECT_EQ(worst_of("postgresql://h" + lease + "&listen=no").looks, looks);
  for (const std::string url :
       {"postgresql://h", "sqlite:a", "redis://h", "zookeeper://h", "memory:"}) {
    EXPECT_EQ(worst_of(url + lease).looks, std::nullopt) << url << " has notifications";
  }

  const auto zookeeper = worst_of("zookeeper://h" + lease);
  EXPECT_EQ(zookeeper.take_over, 6s + 2s + 500ms) << "session, a tick, one request";
  EXPECT_EQ(zookeeper.hand_over_without_notice, 6s + 500ms);
  EXPECT_EQ(worst_of("zookeeper://h" + lease + "&tick-time=1s").take_over, 6s + 1s + 500ms);

  EXPECT_EQ(worst_of("redis://h" + lease).take_over, general);
  EXPECT_EQ(worst_of("redis://h" + lease).hand_over_without_notice, general);
  EXPECT_EQ(worst_of("memory:" + lease).take_over, general);
}

TEST(Configuration, IsAValue) {
  const Configuration one = Configuration::from_url("redis://h?ttl=5s");
  Configuration other = one;
  other.set("ttl", "7s", "test");
  EXPECT_EQ(one.plan().ttl, 5s);
  EXPECT_EQ(other.plan().ttl, 7s);
  other = one;
  EXPECT_EQ(other.plan().ttl, 5s);
  const Configuration moved = std::move(other);
  EXPECT_EQ(moved.description(), "redis://h:6379");
}

}  // namespace
}  // namespace simba::config
