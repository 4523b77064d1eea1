#include "simba/config/environment.hpp"

#include <chrono>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/config/refusal.hpp"

namespace simba::config {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
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

TEST(ConfigurationFromEnvironment, CountsMoreThanTheUrl) {
  const Environment environment{{{"SIMBA_REDIS_TTL", "7s"},
                                 {"SIMBA_REDIS_URL", "redis://other"},
                                 {"SIMBA_BACKEND", "memory:"},
                                 {"SIMBA_ENABLED", "false"}}};
  const auto configuration = Configuration::from_url("redis://h?ttl=5s", environment);
  EXPECT_EQ(configuration.plan().ttl, 7s);
  EXPECT_EQ(configuration.description(), "redis://h:6379");
  EXPECT_FALSE(configuration.enabled());
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
  EXPECT_THAT(refusal_of_yaml("simba: {memory: }", Environment{{{"SIMBA_BACKEND", "reids://h"}}}),
              StartsWith("variable SIMBA_BACKEND: the scheme \"reids\" is unknown"));
}

TEST(ConfigurationFromEnvironment, SaysWhichVariableIsWrong) {
  EXPECT_THAT(refusal_of_url("memory:", Environment{{{"SIMBA_REDIS_TLL", "5s"}}}),
              StartsWith("variable SIMBA_REDIS_TLL: unknown key; did you mean \"ttl\"?"));
  EXPECT_THAT(refusal_of_url("memory:", Environment{{{"SIMBA_MEMORY_TTL", "x"}}}),
              StartsWith("variable SIMBA_MEMORY_TTL: \"x\" is no duration"));
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
  const std::string url = "zookeeper://u@h?password-env=";
  EXPECT_EQ(refusal_of_url(url + "DB_PASSWORD", environment), "");
  EXPECT_THAT(refusal_of_url(url + "DB_PASSWROD", environment),
              AllOf(HasSubstr("parameter \"password-env\": the variable that it names is not set"),
                    Not(HasSubstr("hunter2"))));
}

TEST(ConfigurationFromEnvironment, ShowsNoPasswordInThePlaceOfAName) {
  for (const auto* const key : {"password-env", "password-file"}) {
    EXPECT_THAT(refusal_of_url(std::string{"redis://h?"} + key + "=hunter2"),
                AllOf(HasSubstr(key), Not(HasSubstr("hunter2"))));
  }
}

TEST(ConfigurationFromEnvironment, ShowsNoBytesOfANameThatDoNotPrint) {
  EXPECT_THAT(refusal_of_url("memory:", Environment{{{"SIMBA_POS\xABGRESQL_TTL", "5s"}}}),
              StartsWith("variable SIMBA_POS?GRESQL_TTL: there is no store"));
  EXPECT_THAT(refusal_of_url("memory:", Environment{{{"SIMBA_MEMORY_\033TTL", "5s"}}}),
              StartsWith("variable SIMBA_MEMORY_?TTL: unknown key"));
}

TEST(ConfigurationFromEnvironment, RefusesVariablesThatMissAStore) {
  const auto refusal = [](const std::string& name, const std::string& value = "5s") {
    return refusal_of_url("memory:", Environment{{{name, value}}});
  };
  EXPECT_THAT(refusal("SIMBA_SQLTE_TTL"),
              StartsWith("variable SIMBA_SQLTE_TTL: there is no store \"sqlte\"; did you mean "
                         "SIMBA_SQLITE_TTL?"));
  EXPECT_THAT(refusal("SIMBA_REDSI_PASSWORD_FILE"), HasSubstr("SIMBA_REDIS_PASSWORD_FILE?"));
  EXPECT_THAT(refusal("SIMBA_POSTGRES_TTL"), HasSubstr("SIMBA_POSTGRESQL_TTL?"));
  EXPECT_THAT(refusal("SIMBA_TTL"),
              StartsWith("variable SIMBA_TTL: it names no store; write SIMBA_<STORE>_TTL, as "
                         "SIMBA_REDIS_TTL"));
  EXPECT_THAT(refusal("SIMBA_RENEW_AT_PERCENT"), HasSubstr("names no store"));
  EXPECT_THAT(refusal("SIMBA_BACKND"), HasSubstr("did you mean SIMBA_BACKEND?"));
  for (const auto* const other :
       {"SIMBA_MUTEX", "SIMBA_EVENT", "SIMBA_DB_HOST", "SIMBA_HOST", "SIMBA_REDIS2_SERVICE_HOST",
        "SIMBA_TEST_REDIS", "SIMBA_", "SIMBA_CONTENDER_ID", "SIMBA_FENCING_TOKEN", "SIMBAL_TTL"}) {
    EXPECT_EQ(refusal(other), "") << other;
  }
  EXPECT_EQ(refusal("SIMBA_REDIS2_PORT", "tcp://10.0.0.1:6379"), "");
  EXPECT_EQ(refusal("SIMBA_TTL", ""), "");
}

TEST(ConfigurationFromEnvironment, MayReplaceAPasswordOfTheFile) {
  EXPECT_EQ(
      refusal_of_yaml("simba: {redis: {password-file: /none}}",
                      Environment{{{"SIMBA_BACKEND", "redis://h"}, {"SIMBA_REDIS_PASSWORD", "x"}}}),
      "");
  EXPECT_THAT(
      refusal_of_url("redis://h", Environment{{{"SIMBA_REDIS_PASSWORD", "hunter2"},
                                               {"SIMBA_REDIS_PASSWORD_FILE", "/f"}}}),
      AllOf(HasSubstr("password and password-file are both given"), Not(HasSubstr("hunter2"))));
}

}  // namespace
}  // namespace simba::config
