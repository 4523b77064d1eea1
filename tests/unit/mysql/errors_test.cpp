#include "mysql/errors.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simba::mysql {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Settings settings() {
  MySqlOptions options;
  options.user = "simba";
  options.database = "locks";
  options.password = Secret{"geheim"};
  return Settings{options};
}

ErrorKind kind(unsigned code, Phase phase = Phase::asking, const std::string& message = "x") {
  return to_error(settings(), {code, message}, phase).kind();
}

TEST(MySqlErrors, TellWhatToDoAboutThem) {
  EXPECT_EQ(kind(1045, Phase::connecting), ErrorKind::authentication);
  EXPECT_EQ(kind(1698, Phase::connecting), ErrorKind::authentication);
  EXPECT_EQ(kind(2059, Phase::connecting), ErrorKind::authentication);
  EXPECT_EQ(kind(3159, Phase::connecting), ErrorKind::authentication);
  EXPECT_EQ(kind(1044, Phase::connecting), ErrorKind::permission);
  EXPECT_EQ(kind(1142), ErrorKind::permission);
  EXPECT_EQ(kind(1049, Phase::connecting), ErrorKind::configuration);
  EXPECT_EQ(kind(1264), ErrorKind::configuration);
  for (const unsigned code : {1040U, 1053U, 1205U, 1213U, 1158U, 3024U, 1836U, 1047U, 1317U}) {
    EXPECT_EQ(kind(code), ErrorKind::unavailable) << code;
  }
  EXPECT_EQ(kind(1290, Phase::asking, "running with the --read-only option"),
            ErrorKind::unavailable);
  EXPECT_EQ(kind(1290, Phase::asking, "running with the --skip-grant-tables option"),
            ErrorKind::configuration);
}

TEST(MySqlErrors, AConnectionThatBreaksIsInDoubtOnlyAfterSending) {
  EXPECT_EQ(kind(2013, Phase::connecting), ErrorKind::unavailable);
  EXPECT_EQ(kind(2002, Phase::connecting), ErrorKind::unavailable);
  EXPECT_EQ(kind(2013), ErrorKind::in_doubt);
  EXPECT_EQ(kind(2006), ErrorKind::in_doubt);
  EXPECT_EQ(kind(1317, Phase::changed), ErrorKind::in_doubt);
}

TEST(MySqlErrors, WhatMayComeOutOfACommitIsInDoubtForTheStatementThatChanges) {
  for (const unsigned code : {1180U, 1927U, 1053U, 3169U, 1598U, 3100U, 1105U, 1159U, 9001U}) {
    EXPECT_EQ(kind(code, Phase::changing), ErrorKind::in_doubt) << code;
    EXPECT_EQ(kind(code, Phase::asking), ErrorKind::unavailable) << code;
  }
  for (const unsigned code : {1205U, 1213U, 1317U, 1969U, 3024U, 1836U, 1047U, 4031U}) {
    EXPECT_EQ(kind(code, Phase::changing), ErrorKind::unavailable) << code;
  }
  EXPECT_EQ(kind(1142, Phase::changing), ErrorKind::permission);
  EXPECT_EQ(kind(1264, Phase::changing), ErrorKind::configuration);
}

TEST(MySqlErrors, ATlsErrorIsASettingOrAnOutage) {
  EXPECT_EQ(kind(2026, Phase::connecting, "TLS/SSL error: self-signed certificate"),
            ErrorKind::configuration);
  EXPECT_EQ(kind(2026, Phase::connecting, "TLS/SSL error: Connection reset by peer"),
            ErrorKind::unavailable);
}

TEST(MySqlErrors, WhatTheServerSaysIsMadeHarmlessForALog) {
  const Error error =
      to_error(settings(), {1205, "a\nb\x1b[31m" + std::string(5'000, 'y')}, Phase::asking);
  EXPECT_THAT(error.what(), HasSubstr("a\\x0ab\\x1b[31m"));
  EXPECT_LT(std::string{error.what()}.size(), 600U);
  EXPECT_THAT(error.what(), Not(HasSubstr("geheim")));
}

TEST(MySqlErrors, SomeEndTheConnectionAndSomeCallForAnother) {
  EXPECT_TRUE(breaks_connection({2013, ""}));
  EXPECT_TRUE(breaks_connection({1053, ""}));
  EXPECT_FALSE(breaks_connection({1205, ""}));
  EXPECT_FALSE(breaks_connection({table_missing, ""}));
  EXPECT_TRUE(calls_for_another({table_missing, ""}));
  EXPECT_FALSE(calls_for_another({1205, ""}));
}

TEST(MySqlErrors, ARefusedCreationNamesTheFile) {
  const Error error = creation_error(settings(), {1142, "denied"}, "/here/mysql.sql");
  EXPECT_EQ(error.kind(), ErrorKind::permission);
  EXPECT_THAT(error.what(), HasSubstr("/here/mysql.sql"));
}

}  // namespace
}  // namespace simba::mysql
