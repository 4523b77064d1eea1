#include "simba/config/environment.hpp"

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/config/refusal.hpp"

namespace simba::config {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Environment, IsThatOfTheProcess) {
  const char* const path = std::getenv("PATH");
  ASSERT_NE(path, nullptr);
  EXPECT_EQ(process_environment().find("PATH"), path);
  EXPECT_EQ(empty_environment().find("PATH"), std::nullopt);
}

TEST(ConfigurationFromEnvironment, CountsMoreThanTheFile) {
  const Environment environment{{{"SIMBA_REDIS_TTL", "7s"},
                                 {"SIMBA_REDIS_CLIENT_NAME", "x"},
                                 {"SIMBA_REDIS_MARGIN", ""},
                                 {"SIMBA_TEST_REDIS", "other"},
                                 {"SIMBA_MUTEX", "m"}}};
  const auto configuration = from_yaml("simba: {redis: {ttl: 5s, transition: 3s}}", environment);
  EXPECT_EQ(configuration.plan().ttl, 7s);
  EXPECT_EQ(configuration.plan().transition, 3s);
}

TEST(ConfigurationFromEnvironment, FillsInWhatTheUrlDoesNotName) {
  const Environment environment{{{"SIMBA_REDIS_TTL", "7s"},
                                 {"SIMBA_REDIS_USER", "app"},
                                 {"SIMBA_REDIS_URL", "redis://other"},
                                 {"SIMBA_BACKEND", "memory:"},
                                 {"SIMBA_ENABLED", "false"}}};
  const auto configuration = Configuration::from_url("redis://h", environment);
  EXPECT_EQ(configuration.plan().ttl, 7s);
  EXPECT_EQ(configuration.description(), "redis://app@h:6379");
  EXPECT_FALSE(configuration.enabled());
  EXPECT_EQ(
      refusal_of_url("zookeeper://u@localhost", Environment{{{"SIMBA_ZOOKEEPER_PASSWORD", "x"}}}),
      "");
}

TEST(ConfigurationFromEnvironment, NeverReplacesWhatTheUrlNames) {
  struct Case {
    std::string url;
    Environment::Variables variables;
    std::string description;
  };
  const std::vector<Case> cases{
      {"sqlite:mine.db", {{"SIMBA_SQLITE_PATH", "other.db"}}, "sqlite:mine.db"},
      {"redis://h", {{"SIMBA_REDIS_HOSTS", "other:7"}}, "redis://h:6379"},
      {"redis://h", {{"SIMBA_REDIS_PORT", "7000"}}, "redis://h:6379"},
      {"redis://?hosts=h", {{"SIMBA_REDIS_PORT", "7000"}}, "redis://h:6379"},
      {"redis://h?port=8000", {{"SIMBA_REDIS_PORT", "7000"}}, "redis://h:8000"},
      {"redis://h", {{"SIMBA_REDIS_UNIX_SOCKET", "/s"}}, "redis://h:6379"},
      {"redis://h", {{"SIMBA_REDIS_TOPOLOGY", "cluster"}}, "redis://h:6379"},
      {"rediss://h", {{"SIMBA_REDIS_TLS", "off"}}, "rediss://h:6379"},
      {"redis://u@h/3",
       {{"SIMBA_REDIS_USER", "o"}, {"SIMBA_REDIS_DATABASE", "4"}},
       "redis://u@h:6379/3"},
      {"redis+sentinel://h/m",
       {{"SIMBA_REDIS_MASTER_NAME", "o"}, {"SIMBA_REDIS_PORT", "7"}},
       "redis+sentinel://h:26379/m"},
      {"redis+unix:///s",
       {{"SIMBA_REDIS_HOSTS", "other"}, {"SIMBA_REDIS_TOPOLOGY", "cluster"}},
       "redis+unix:///s"},
      {"mysql://u@h/d",
       {{"SIMBA_MYSQL_UNIX_SOCKET", "/s"}, {"SIMBA_MYSQL_HOST", "o"}, {"SIMBA_MYSQL_PORT", "7"}},
       "mysql://u@h:3306/d"},
      {"mysql://u@/d?unix-socket=/s", {{"SIMBA_MYSQL_HOST", "other"}}, "mysql://u@%2Fs/d"},
      {"postgresql://u@h/d",
       {{"SIMBA_POSTGRESQL_HOST", "o"},
        {"SIMBA_POSTGRESQL_PORT", "7"},
        {"SIMBA_POSTGRESQL_DATABASE", "o"}},
       "postgresql://u@h:5432/d"},
      {"zookeeper://z/prod", {{"SIMBA_ZOOKEEPER_CONNECT_STRING", "o"}}, "zookeeper://z:2181/prod"},
  };
  for (const auto& [url, variables, description] : cases) {
    EXPECT_EQ(Configuration::from_url(url, Environment{variables}).description(), description);
    auto with_backend = variables;
    with_backend["SIMBA_BACKEND"] = url;
    EXPECT_EQ(Configuration::from_environment(Environment{with_backend}).description(),
              description);
    EXPECT_EQ(from_yaml("simba: {memory: }", Environment{with_backend}).description(), description);
  }
}

TEST(ConfigurationFromEnvironment, DoesNotLeadLibpqToAnotherServer) {
  ::setenv("PGHOSTADDR", "127.0.0.2", 1);
  const std::string refusal = refusal_of_url("postgresql://db/app");
  ::unsetenv("PGHOSTADDR");
  EXPECT_THAT(refusal, HasSubstr("PGHOSTADDR or PGSERVICE would make libpq connect to 127.0.0.2 "
                                 "instead of host db"));
  EXPECT_EQ(refusal_of_url("postgresql://db/app"), "");
}

TEST(ConfigurationFromEnvironment, NeverReplacesALeaseThatTheUrlNames) {
  const Environment environment{{{"SIMBA_REDIS_TTL", "7s"},
                                 {"SIMBA_REDIS_MARGIN", "1ms"},
                                 {"SIMBA_ZOOKEEPER_SESSION_TIMEOUT", "4s"}}};
  const auto redis = Configuration::from_url("redis://h?ttl=5s&margin=300ms", environment);
  EXPECT_EQ(redis.plan().ttl, 5s);
  EXPECT_EQ(redis.plan().margin, 300ms);
  EXPECT_EQ(Configuration::from_url("zookeeper://h", environment).plan().lease(), 4s);
  EXPECT_EQ(Configuration::from_url("zookeeper://h?ttl=20s", environment).plan().ttl, 20s);
}

TEST(ConfigurationFromEnvironment, ReadsNoSecretThatDoesNotCount) {
  const Environment environment{{{"SIMBA_ZOOKEEPER_PASSWORD_FILE", "/no/such/file"}}};
  EXPECT_EQ(refusal_of_url("zookeeper://u:pw@localhost", environment), "");
  EXPECT_THAT(refusal_of_url("zookeeper://u@h", environment), HasSubstr("no such file"));
  EXPECT_EQ(refusal_of_yaml("simba: {zookeeper: {user: u, password-file: /no/such/file}}",
                            Environment{{{"SIMBA_ZOOKEEPER_PASSWORD", "pw"}}}),
            "");
}

TEST(ConfigurationFromEnvironment, MayNameASocketInsteadOfTheHostsOfTheFile) {
  EXPECT_EQ(
      from_yaml("simba: {redis: {hosts: h}}", Environment{{{"SIMBA_REDIS_UNIX_SOCKET", "/s"}}})
          .description(),
      "redis+unix:///s");
  EXPECT_EQ(from_yaml("simba: {redis: {unix-socket: /s, port: 7000}}",
                      Environment{{{"SIMBA_REDIS_HOSTS", "h"}}})
                .description(),
            "redis://h:7000");
}

TEST(ConfigurationFromEnvironment, NamesTheStoreWithoutAFile) {
  const auto store = [](const Environment::Variables& variables) {
    return std::string{Configuration::from_environment(Environment{variables}).store()};
  };
  EXPECT_EQ(store({}), "");
  EXPECT_EQ(store({{"SIMBA_SQLITE_PATH", "a"}, {"SIMBA_REDIS_ENABLED", "0"}}), "");
  EXPECT_EQ(store({{"SIMBA_BACKEND", "memory:"}, {"SIMBA_REDIS_ENABLED", "1"}}), "memory");
  EXPECT_EQ(store({{"SIMBA_REDIS_ENABLED", "1"}, {"SIMBA_REDIS_HOSTS", "h"}}), "redis");
  EXPECT_EQ(store({{"SIMBA_JDBC_URL", "postgresql://h"}}), "postgresql");
  EXPECT_THAT(refusal_of([&] {
                store({{"SIMBA_REDIS_ENABLED", "1"}, {"SIMBA_SQLITE_URL", "sqlite:a"}});
              }),
              AllOf(StartsWith("the environment: 2 stores are enabled"),
                    HasSubstr("variable SIMBA_REDIS_ENABLED")));
  EXPECT_THAT(refusal_of([] { Configuration::from_environment(Environment{}).make_factory(); }),
              HasSubstr("no store configured"));
}

TEST(ConfigurationFromEnvironment, RefusesTheAddressOfAStoreThatNothingChooses) {
  const auto refusal = [](const Environment::Variables& variables) {
    return refusal_of([&] { Configuration::from_environment(Environment{variables}); });
  };
  EXPECT_THAT(refusal({{"SIMBA_REDIS_HOSTS", "h"}}),
              AllOf(StartsWith("variable SIMBA_REDIS_HOSTS: it says where a store is, but does not "
                               "choose it; set SIMBA_REDIS_ENABLED=true too"),
                    HasSubstr("--backend URL"), HasSubstr("SIMBA_REDIS_ENABLED=false")));
  EXPECT_THAT(refusal({{"SIMBA_JDBC_HOST", "h"}}),
              AllOf(StartsWith("variable SIMBA_JDBC_HOST"), HasSubstr("SIMBA_JDBC_URL=URL")));
  for (const auto* const name :
       {"SIMBA_REDIS_UNIX_SOCKET", "SIMBA_REDIS_PORT", "SIMBA_MYSQL_HOST", "SIMBA_MYSQL_PORT",
        "SIMBA_MYSQL_UNIX_SOCKET", "SIMBA_POSTGRESQL_HOST", "SIMBA_POSTGRESQL_PORT",
        "SIMBA_ZOOKEEPER_CONNECT_STRING"}) {
    EXPECT_THAT(refusal({{name, "1"}}), StartsWith(std::string{"variable "} + name));
  }
  EXPECT_THAT(refusal({{"SIMBA_REDIS_HOSTS", "h"}, {"SIMBA_MYSQL_ENABLED", "false"}}),
              StartsWith("variable SIMBA_REDIS_HOSTS"));
  EXPECT_THAT(refusal_of_yaml("simba: {sqlite: {enabled: false}}",
                              Environment{{{"SIMBA_REDIS_HOSTS", "h"}}}),
              StartsWith("variable SIMBA_REDIS_HOSTS"));
}

TEST(ConfigurationFromEnvironment, MayHaveTheAddressOfAStoreThatIsOffOrNotTheOneChosen) {
  const auto store = [](const Environment::Variables& variables) {
    return std::string{Configuration::from_environment(Environment{variables}).store()};
  };
  EXPECT_EQ(store({{"SIMBA_REDIS_HOSTS", "h"}, {"SIMBA_REDIS_ENABLED", "false"}}), "");
  EXPECT_EQ(store({{"SIMBA_REDIS_HOSTS", "h"}, {"SIMBA_ENABLED", "false"}}), "");
  EXPECT_EQ(store({{"SIMBA_REDIS_PORT", "tcp://10.0.0.1:6379"}}), "");  // of Kubernetes
  EXPECT_EQ(store({{"SIMBA_REDIS_TTL", "5s"}}), "");
  EXPECT_EQ(store({{"SIMBA_REDIS_HOSTS", "h"}, {"SIMBA_BACKEND", "memory:"}}), "memory");
  EXPECT_EQ(store({{"SIMBA_REDIS_HOSTS", "h"}, {"SIMBA_SQLITE_URL", "sqlite:a"}}), "sqlite");
  EXPECT_EQ(from_yaml("simba: {memory: }", Environment{{{"SIMBA_REDIS_HOSTS", "h"}}}).store(),
            "memory");
}

TEST(ConfigurationFromEnvironment, SpellsTrueAndFalseAsIsUsual) {
  for (const auto* const text : {"1", "true", "TRUE", "yes", "on", "On"}) {
    EXPECT_TRUE(
        Configuration::from_url("memory:", Environment{{{"SIMBA_ENABLED", text}}}).enabled())
        << text;
  }
  for (const auto* const text : {"0", "false", "False", "no", "off"}) {
    EXPECT_FALSE(
        Configuration::from_url("memory:", Environment{{{"SIMBA_ENABLED", text}}}).enabled())
        << text;
  }
  EXPECT_THAT(refusal_of_url("memory:", Environment{{{"SIMBA_ENABLED", "2"}}}),
              HasSubstr("\"2\" is neither true nor false; allowed: true, yes, on, 1, false"));
}

TEST(ConfigurationValues, SayWhereEachIsFrom) {
  const Environment environment{{{"SIMBA_REDIS_TTL", "7s"},
                                 {"SIMBA_REDIS_HOSTS", "other"},
                                 {"SIMBA_REDIS_PASSWORD", "hunter2"},
                                 {"SIMBA_REDIS_MARGIN", "100ms"}}};
  auto configuration = Configuration::from_url("redis://localhost", environment, "--backend");
  configuration.set("ttl", "8s", "--ttl");
  std::vector<std::string> lines;
  for (const SetValue& value : configuration.values()) {
    lines.push_back(value.key + "=" + value.value + " from " + value.origin +
                    (value.replaced_by.empty() ? "" : ", replaced by " + value.replaced_by));
  }
  EXPECT_THAT(lines,
              testing::ElementsAre(
                  "topology=single from --backend", "hosts=localhost from --backend",
                  "hosts=other from variable SIMBA_REDIS_HOSTS, replaced by --backend",
                  "port=6379 from --backend", "password=*** from variable SIMBA_REDIS_PASSWORD",
                  "ttl=8s from --ttl", "ttl=7s from variable SIMBA_REDIS_TTL, replaced by --ttl",
                  "margin=100ms from variable SIMBA_REDIS_MARGIN"));
}

TEST(ConfigurationValues, NameTheLineOfTheFile) {
  const auto values = from_yaml("simba:\n  redis:\n    ttl: 5s\n    url: redis://h\n",
                                Environment{{{"SIMBA_REDIS_TTL", "7s"}}})
                          .values();
  std::vector<std::string> origins;
  for (const SetValue& value : values) origins.push_back(value.key + " " + value.origin);
  EXPECT_THAT(origins, testing::IsSupersetOf({"hosts simba.yaml:4: simba.redis.url",
                                              "ttl simba.yaml:3: simba.redis.ttl",
                                              "ttl variable SIMBA_REDIS_TTL"}));
}

TEST(ConfigurationFromEnvironment, SwitchesStoresOnAndOff) {
  const std::string_view text = "simba: {redis: {hosts: h}, memory: }";
  EXPECT_EQ(from_yaml(text, Environment{{{"SIMBA_REDIS_ENABLED", "false"}}}).store(), "memory");
  EXPECT_EQ(
      from_yaml("simba: {redis: {enabled: false}}", Environment{{{"SIMBA_REDIS_ENABLED", "true"}}})
          .store(),
      "redis");
  EXPECT_EQ(from_yaml("simba: {enabled: true}", Environment{{{"SIMBA_SQLITE_URL", "sqlite:a"}}})
                .description(),
            "sqlite:a");
  EXPECT_THAT(refusal_of_yaml("simba: {memory: }", Environment{{{"SIMBA_REDIS_ENABLED", "true"}}}),
              AllOf(HasSubstr("2 stores are enabled"), HasSubstr("variable SIMBA_REDIS_ENABLED")));
}

TEST(ConfigurationFromEnvironment, NamesTheStoreInsteadOfTheFile) {
  const Environment environment{{{"SIMBA_BACKEND", "redis://b"}, {"SIMBA_REDIS_TRANSITION", "4s"}}};
  const auto configuration = from_yaml("simba: {redis: {ttl: 5s, user: u}, memory: }", environment);
  EXPECT_EQ(configuration.description(), "redis://b:6379");
  EXPECT_EQ(configuration.plan().ttl, 10s);
  EXPECT_EQ(configuration.plan().transition, 4s);
  EXPECT_EQ(from_yaml("simba: {memory: }", environment, "memory").store(), "memory");
  EXPECT_THAT(
      refusal_of_yaml("simba: {memory: }", Environment{{{"SIMBA_BACKEND", "reids://h"}}}),
      StartsWith("variable SIMBA_BACKEND: unknown scheme \"reids\"; did you mean \"redis\"?"));
}

TEST(ConfigurationFromEnvironment, SaysWhichVariableIsWrong) {
  EXPECT_THAT(refusal_of_url("memory:", Environment{{{"SIMBA_REDIS_TLL", "5s"}}}),
              StartsWith("variable SIMBA_REDIS_TLL: unknown key; did you mean \"ttl\"?"));
  EXPECT_THAT(refusal_of_url("memory:", Environment{{{"SIMBA_MEMORY_TTL", "x"}}}),
              StartsWith("variable SIMBA_MEMORY_TTL: \"x\" is not a duration"));
  EXPECT_THAT(refusal_of_url("memory:", Environment{{{"SIMBA_ENABLED", "x"}}}),
              StartsWith("variable SIMBA_ENABLED: \"x\" is neither"));
}

TEST(ConfigurationFromEnvironment, LeavesWhatKubernetesSetsForServices) {
  EXPECT_EQ(
      refusal_of_url("redis://h", Environment{{{"SIMBA_REDIS_SERVICE_HOST", "10.0.0.1"},
                                               {"SIMBA_REDIS_SERVICE_PORT", "6379"},
                                               {"SIMBA_REDIS_SERVICE_PORT_REDIS", "6379"},
                                               {"SIMBA_REDIS_PORT", "tcp://10.0.0.1:6379"},
                                               {"SIMBA_REDIS_PORT_6379_TCP_ADDR", "10.0.0.1"}}}),
      "");
}

TEST(ConfigurationFromEnvironment, HoldsPasswords) {
  const Environment environment{{{"DB_PASSWORD", "hunter2"}}};
  const std::string url = "zookeeper://u@localhost?password-env=";
  EXPECT_EQ(refusal_of_url(url + "DB_PASSWORD", environment), "");
  EXPECT_THAT(
      refusal_of_url(url + "DB_PASSWROD", environment),
      AllOf(HasSubstr(
                "parameter \"password-env\": the environment variable that it names is not set"),
            Not(HasSubstr("hunter2"))));
}

TEST(ConfigurationFromEnvironment, TellsWhichVariablesHoldPasswords) {
  const auto variables_of = [](const Configuration& configuration) {
    std::vector<std::string> names;
    for (const SetValue& value : configuration.values()) {
      if (!value.variable.empty()) names.push_back(value.key + " " + value.variable);
    }
    return names;
  };
  const Environment environment{{{"DB_PASSWORD", "hunter2"}}};
  EXPECT_THAT(variables_of(Configuration::from_url(
                  "zookeeper://u@localhost?password-env=DB_PASSWORD", environment)),
              ElementsAre("password DB_PASSWORD"));
  // Also one that does not count.
  const Environment stronger{{{"DB_PASSWORD", "hunter2"}, {"SIMBA_ZOOKEEPER_PASSWORD", "hunter3"}}};
  const auto* const yaml =
      "simba:\n  zookeeper:\n    connect-string: localhost\n    user: u\n    password-env: "
      "DB_PASSWORD\n";
  EXPECT_THAT(variables_of(Configuration::from_yaml(yaml, "simba.yaml", stronger)),
              ElementsAre("password DB_PASSWORD"));
}

TEST(ConfigurationFromEnvironment, ShowsNoPasswordInThePlaceOfAName) {
  for (const auto* const key : {"password-env", "password-file"}) {
    EXPECT_THAT(refusal_of_url(std::string{"redis://h?"} + key + "=hunter2"),
                AllOf(HasSubstr(key), Not(HasSubstr("hunter2"))));
  }
}

TEST(ConfigurationFromEnvironment, ShowsNoBytesOfANameThatDoNotPrint) {
  EXPECT_THAT(refusal_of_url("memory:", Environment{{{"SIMBA_POS\xABGRESQL_TTL", "5s"}}}),
              StartsWith("variable SIMBA_POS?GRESQL_TTL: unknown store"));
  EXPECT_THAT(refusal_of_url("memory:", Environment{{{"SIMBA_MEMORY_\033TTL", "5s"}}}),
              StartsWith("variable SIMBA_MEMORY_?TTL: unknown key"));
}

TEST(ConfigurationFromEnvironment, RefusesVariablesThatMissAStore) {
  const auto refusal = [](const std::string& name, const std::string& value = "5s") {
    return refusal_of_url("memory:", Environment{{{name, value}}});
  };
  EXPECT_THAT(refusal("SIMBA_SQLTE_TTL"),
              StartsWith("variable SIMBA_SQLTE_TTL: unknown store \"sqlte\"; did you mean "
                         "SIMBA_SQLITE_TTL?"));
  EXPECT_THAT(refusal("SIMBA_REDSI_PASSWORD_FILE"), HasSubstr("SIMBA_REDIS_PASSWORD_FILE?"));
  EXPECT_THAT(refusal("SIMBA_POSTGRES_TTL"), HasSubstr("SIMBA_POSTGRESQL_TTL?"));
  EXPECT_THAT(refusal("SIMBA_TTL"),
              StartsWith("variable SIMBA_TTL: it does not name a store; write SIMBA_<STORE>_TTL, "
                         "for example SIMBA_REDIS_TTL"));
  EXPECT_THAT(refusal("SIMBA_RENEW_AT_PERCENT"), HasSubstr("does not name a store"));
  EXPECT_THAT(refusal("SIMBA_BACKND"), HasSubstr("did you mean SIMBA_BACKEND?"));
  for (const auto* const other :
       {"SIMBA_MUTEX", "SIMBA_EVENT", "SIMBA_DB_HOST", "SIMBA_HOST", "SIMBA_REDIS2_SERVICE_HOST",
        "SIMBA_TEST_REDIS", "SIMBA_", "SIMBA_HELD", "SIMBA_CONTENDER_ID", "SIMBA_FENCING_TOKEN",
        "SIMBAL_TTL"}) {
    EXPECT_EQ(refusal(other), "") << other;
  }
  EXPECT_EQ(refusal("SIMBA_REDIS2_PORT", "tcp://10.0.0.1:6379"), "");
  EXPECT_EQ(refusal("SIMBA_TTL", ""), "");
}

TEST(ConfigurationFromEnvironment, MayReplaceAPasswordOfTheFile) {
  EXPECT_EQ(refusal_of_yaml(
                "simba: {redis: {password-file: /none}}",
                Environment{{{"SIMBA_BACKEND", "rediss://h"}, {"SIMBA_REDIS_PASSWORD", "x"}}}),
            "");
  EXPECT_THAT(
      refusal_of_url("redis://h", Environment{{{"SIMBA_REDIS_PASSWORD", "hunter2"},
                                               {"SIMBA_REDIS_PASSWORD_FILE", "/f"}}}),
      AllOf(HasSubstr("password and password-file are both set"), Not(HasSubstr("hunter2"))));
}

}  // namespace
}  // namespace simba::config
