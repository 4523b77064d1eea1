#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/read/yaml_tree.hpp"
#include "unit/config/refusal.hpp"

namespace simba::config {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(ConfigurationFromYaml, ReadsTheKeysOfTheJvmLibrary) {
  const auto redis = from_yaml(
      "simba:\n  enabled: true\n  redis:\n    enabled: true\n    ttl: 5s\n"
      "    transition: 2000\n");
  EXPECT_EQ(redis.store(), "redis");
  EXPECT_EQ(redis.plan().ttl, 5s);
  EXPECT_EQ(redis.plan().transition, 2s);

  const auto zookeeper = from_yaml(
      "simba:\n  zookeeper:\n    enabled: true\n    connect-string: z1,z2:2182/a\n"
      "    session-timeout: 6s\n    connection-timeout: 1s\n");
  EXPECT_EQ(zookeeper.description(), "zookeeper://z1:2181,z2:2182/a");
  EXPECT_EQ(zookeeper.plan().lease(), 6s);

  const auto jdbc = from_yaml(
      "simba:\n  jdbc:\n    enabled: true\n    initial-delay: 1s\n"
      "    ttl: 5s\n    transition: 2s\n    url: jdbc:mysql://db/app\n"
      "    user: app\n");
  EXPECT_EQ(jdbc.store(), "mysql");
  EXPECT_EQ(jdbc.description(), "mysql://app@db:3306/app");
  EXPECT_EQ(jdbc.plan().initial_delay, 1s);
}

TEST(ConfigurationFromYaml, HasTheDefaultsOfTheJvmLibrary) {
  const auto plan = from_yaml("simba: {redis: }").plan();
  EXPECT_EQ(plan.initial_delay, 0s);
  EXPECT_EQ(plan.ttl, 10s);
  EXPECT_EQ(plan.transition, 6s);
}

TEST(ConfigurationFromYaml, IgnoresWhatIsBesideIt) {
  EXPECT_EQ(from_yaml("spring:\n  redis: {tll: 1}\n  a: [b, {c: d}]\nsimba:\n  memory:\n").store(),
            "memory");
}

TEST(ConfigurationFromYaml, KeysCountMoreThanTheUrl) {
  const auto configuration = from_yaml(
      "simba:\n  redis:\n    ttl: 5s\n    hosts: [h1, 'h2:7000']\n"
      "    url: redis+cluster://h3?ttl=4s&transition=3s\n");
  EXPECT_EQ(configuration.description(), "redis+cluster://h1:6379,h2:7000");
  EXPECT_EQ(configuration.plan().ttl, 5s);
  EXPECT_EQ(configuration.plan().transition, 3s);
}

TEST(ConfigurationFromYaml, ResolvesAnchorsAndMergeKeys) {
  const auto configuration = from_yaml(
      "base: &base {ttl: 5s, transition: 3s}\nmore: &more {margin: 100ms, ttl: 9s}\n"
      "simba:\n  redis:\n    transition: 4s\n    <<: [*base, *more]\n    hosts: &h a\n"
      "    client-name: *h\n");
  EXPECT_EQ(configuration.plan().ttl, 5s);
  EXPECT_EQ(configuration.plan().transition, 4s);
  EXPECT_EQ(configuration.plan().margin, 100ms);
}

TEST(ConfigurationFromYaml, NamesFileLineAndKeyOfAMistake) {
  EXPECT_THAT(refusal_of_yaml("simba:\n  redis:\n    # how long\n    tll: 5s\n"),
              AllOf(StartsWith("simba.yaml:4: simba.redis.tll: unknown key; did you mean \"ttl\"? "
                               "Allowed: enabled, url, topology,"),
                    HasSubstr("transition")));
  EXPECT_THAT(refusal_of_yaml("simba:\n  redsi:\n    ttl: 5s\n"),
              StartsWith("simba.yaml:2: simba.redsi: unknown key; did you mean \"redis\"? Allowed: "
                         "enabled, jdbc, memory,"));
  EXPECT_THAT(refusal_of_yaml("simba:\n  redis:\n    ttl: 5 minutes\n"),
              StartsWith("simba.yaml:3: simba.redis.ttl: \"5 minutes\" is not a duration"));
  EXPECT_THAT(refusal_of_yaml("simba:\n  redis:\n    margin: 1h\n"),
              StartsWith("simba.yaml:2: simba.redis: margin must be less than ttl + transition, "
                         "16000 ms (got 3600000 ms)"));
  EXPECT_THAT(refusal_of_yaml("simba:\n  redis:\n    url: redis://u:hunter2@h?tll=1\n"),
              AllOf(StartsWith("simba.yaml:3: simba.redis.url: redis://u:***@h: parameter \"tll\""),
                    Not(HasSubstr("hunter2"))));
  EXPECT_THAT(refusal_of_yaml("simba:\n  redis:\n    initialDelay: 1s\n"),
              HasSubstr("did you mean \"initial-delay\"?"));
}

TEST(ConfigurationFromYaml, FindsMistakesInSectionsThatAreNotUsed) {
  EXPECT_THAT(refusal_of_yaml("simba:\n  memory:\n  redis:\n    enabled: false\n    tll: 1\n"),
              StartsWith("simba.yaml:5: simba.redis.tll: unknown key"));
  EXPECT_THAT(refusal_of_yaml("simba:\n  memory:\n  redis:\n    enabled: false\n    ttl: x\n"),
              StartsWith("simba.yaml:5: simba.redis.ttl: \"x\" is not a duration"));
  EXPECT_THAT(refusal_of_yaml("simba:\n  memory:\n  jdbc:\n    enabled: false\n    tll: 1\n"),
              StartsWith("simba.yaml:5: simba.jdbc.tll: unknown key; did you mean \"ttl\"?"));
  EXPECT_EQ(refusal_of_yaml("simba:\n  memory:\n  redis:\n    enabled: false\n"
                            "    password-file: /there/is/none\n"),
            "");
}

TEST(ConfigurationFromYaml, RefusesValuesOfAnotherShape) {
  EXPECT_THAT(refusal_of_yaml("simba:\n  redis:\n    ttl:\n"),
              StartsWith("simba.yaml:3: simba.redis.ttl: missing value"));
  EXPECT_THAT(refusal_of_yaml("simba:\n  redis:\n    password: null\n"),
              HasSubstr("missing value"));
  EXPECT_THAT(refusal_of_yaml("simba:\n  redis:\n    user: [a]\n"),
              StartsWith("simba.yaml:3: simba.redis.user: expected a single value, found a list"));
  EXPECT_THAT(refusal_of_yaml("simba:\n  redis:\n    user: {a: b}\n"), HasSubstr("found a map"));
  EXPECT_THAT(refusal_of_yaml("simba:\n  redis:\n    hosts: [a, [b]]\n"),
              HasSubstr("expected a list of single values, found a list in it"));
  EXPECT_THAT(refusal_of_yaml("simba:\n  redis: redis://u:hunter2@h\n"),
              AllOf(StartsWith("simba.yaml:2: simba.redis: expected a map with the keys of the "
                               "store, found a string"),
                    Not(HasSubstr("hunter2"))));
  EXPECT_THAT(
      refusal_of_yaml("simba: 5\n"),
      StartsWith(
          "simba.yaml:1: simba: expected a map with a section for each store, found a string"));
  EXPECT_THAT(refusal_of_yaml("- simba\n"),
              StartsWith("simba.yaml:1: expected a map with the key \"simba\", found a list"));
  EXPECT_THAT(refusal_of_yaml("simba:\n  enabled: maybe\n  memory:\n"),
              StartsWith("simba.yaml:2: simba.enabled: \"maybe\" is neither true nor false"));
  EXPECT_THAT(refusal_of_yaml("simba:\n  memory:\n    enabled: 2\n"),
              StartsWith("simba.yaml:3: simba.memory.enabled: \"2\" is neither true nor false"));
}

TEST(ConfigurationFromYaml, RefusesAKeyThatIsThereTwice) {
  EXPECT_THAT(refusal_of_yaml("simba:\n  redis:\n    ttl: 5s\n    margin: 1s\n    ttl: 6s\n"),
              StartsWith("simba.yaml:5: simba.redis.ttl: duplicate key, first on line 3"));
  EXPECT_THAT(refusal_of_yaml("simba:\n  redis:\n  redis:\n"),
              StartsWith("simba.yaml:3: simba.redis: duplicate key"));
  EXPECT_THAT(refusal_of_yaml("simba:\n  redis:\nsimba:\n"),
              StartsWith("simba.yaml:3: simba: duplicate key"));
}

TEST(ConfigurationFromYaml, SaysWhereThereIsNoSimba) {
  EXPECT_THAT(refusal_of_yaml(""), AllOf(StartsWith("simba.yaml: the file is empty"),
                                         HasSubstr("add the key \"simba\"")));
  EXPECT_THAT(refusal_of_yaml("# only a comment\n"), HasSubstr("the file is empty"));
  EXPECT_THAT(refusal_of_yaml("spring: 1\n"), HasSubstr("missing key \"simba\""));
  EXPECT_THAT(refusal_of_yaml("a: 1\nsimab:\n  redis:\n"),
              StartsWith("simba.yaml:2: simab: unknown key; did you mean \"simba\"?"));
  EXPECT_THAT(refusal_of_yaml("simba.redis.ttl: 5s\n"),
              StartsWith("simba.yaml:1: simba.redis.ttl: keys with dots are not supported"));
}

TEST(ConfigurationFromYaml, RefusesWhatIsNoYamlWithoutShowingIt) {
  for (const auto* const text :
       {"simba: {", "simba: [}", "simba:\n  redis:\n    password: *hunter2\n",
        "simba:\n  redis:\n    password: !hunter2 x\n",
        "simba:\n  redis:\n    password: @hunter2\n",
        "simba:\n  redis:\n    password: a: hunter2\n",
        "simba:\n  redis:\n    password: \"hunter2\\q\"\n", "? [hunter2]\n: b\n", "<<: hunter2\n",
        "\tsimba: hunter2", "%YAML hunter2\n---\na: b\n", "a: &hunter2 [*hunter2]\n"}) {
    EXPECT_THAT(refusal_of_yaml(text),
                AllOf(testing::ContainsRegex("^simba.yaml:[0-9]+: "), Not(HasSubstr("hunter2"))))
        << text;
  }
  EXPECT_THAT(refusal_of_yaml("simba:\n  memory:\n---\nsimba:\n"),
              HasSubstr("only one document is allowed"));
}

TEST(ConfigurationFromYaml, RefusesAQuotationThatIsNotClosed) {
  for (const auto* const text : {"simba:\n  sqlite:\n    path: 'hunter2\n    ttl: 5s\n",
                                 "simba:\n  sqlite:\n    path: \"hunter2\n    ttl: 5s\n",
                                 "simba:\n  sqlite:\n    path: 'hunter2\n    ttl: 5s\n\n  \n",
                                 "simba:\n  sqlite:\n    path: 'it''s hunter2''\n"}) {
    EXPECT_THAT(refusal_of_yaml(text),
                AllOf(StartsWith("simba.yaml:3: a quotation mark is not closed"),
                      Not(HasSubstr("hunter2"))))
        << text;
  }
  EXPECT_THAT(refusal_of_yaml("simba:\n  sqlite:\n    path: 'a"), HasSubstr("simba.yaml:3: "));
  for (const auto* const text :
       {"simba: {sqlite: {path: 'a'}}", "simba:\n  sqlite:\n    path: it's\n",
        "simba:\n  sqlite:\n    path: a # don't\n", "simba:\n  sqlite:\n    path: |\n      a'b",
        "simba:\n  sqlite:\n    path: >+\n      \"a\n\n", "simba: {sqlite: {path: a}}\n...\n"}) {
    EXPECT_EQ(refusal_of_yaml(text), "") << text;
  }
}

TEST(ConfigurationFromYaml, ShowsNoPasswordThatIsInTheWrongPlace) {
  for (const auto* const section :
       {"mysql: {host: 'app:hunter2@db,', user: a, database: d}",
        "postgresql: {host: 'a:hunter2@,'}", "redis: {hosts: 'app:hunter2@h'}",
        "redis: {hosts: 'redis://app:hunter2@h'}", "zookeeper: {connect-string: 'u:hunter2@z'}",
        "redis: {ttl: 'a:hunter2@h'}", "redis: {tls: 'a:hunter2@h'}",
        "redis: {port: 'a:hunter2@h'}", "redis: {url: 'u:hunter2@h'}",
        "redis: {url: 'redis:u:hunter2@h'}"}) {
    EXPECT_THAT(refusal_of_yaml(std::string{"simba:\n  "} + section),
                AllOf(StartsWith("simba.yaml:2: simba."), Not(HasSubstr("hunter2"))))
        << section;
  }
}

TEST(ConfigurationFromYaml, RefusesWhatIsNoText) {
  EXPECT_THAT(refusal_of_yaml(std::string_view{"\x7f"
                                               "ELF\0\0",
                                               6}),
              StartsWith("simba.yaml:1: not a text file"));
  EXPECT_THAT(refusal_of_yaml(std::string_view{"\xff\xfes\0i\0", 6}), HasSubstr("not a text file"));
}

TEST(ConfigurationFromYaml, DoesNotGrowWithAliasesOfAliases) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) text += before + (j < 9 ? ", " : "]\n");
  }
  EXPECT_THAT(refusal_of_yaml(text), HasSubstr("too many values"));
}

TEST(ConfigurationFromYaml, RefusesWhatIsNestedTooDeeply) {
  EXPECT_THAT(refusal_of_yaml("simba: " + std::string(100'000, '[')), HasSubstr("simba.yaml:"));
}

}  // namespace
}  // namespace simba::config
