#include "postgresql/errors.hpp"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace simba::postgresql {
namespace {

TEST(PostgreSqlErrorTexts, TheSqlStateIsFoundInAVerboseMessageOfAnyLanguage) {
  EXPECT_EQ(sql_state_in("connection to server at \"h\", port 1 failed: FATAL:  28P01: no\nX:  y"),
            "28P01");
  EXPECT_EQ(sql_state_in("failed: FATAL:  3D000: database \"x\" does not exist"), "3D000");
  EXPECT_EQ(sql_state_in("failed: KATASTROPHAL:  57P03: startet"), "57P03");
}

TEST(PostgreSqlErrorTexts, AMessageOfLibpqItselfHasNoSqlState) {
  EXPECT_EQ(sql_state_in("connection to server at \"h\", port 1 failed: Connection refused"), "");
  EXPECT_EQ(sql_state_in(""), "");
  EXPECT_EQ(sql_state_in("a:  b"), "");
  EXPECT_EQ(sql_state_in("a:  28p01: b"), "");
  EXPECT_EQ(sql_state_in("a:  28P01"), "");
}

TEST(PostgreSqlErrorTexts, TheLineOfTheLastAddressIsTheOneThatIsShown) {
  EXPECT_EQ(one_line("connection to server at \"localhost\" (::1), port 5 failed: Connection "
                     "refused\n\tIs the server running there?\nconnection to server at "
                     "\"localhost\" (127.0.0.1), port 5 failed: FATAL:  28P01: no\nLOCATION:  x\n"),
            "FATAL:  28P01: no");
  EXPECT_EQ(one_line("one\ntwo"), "one");
  EXPECT_EQ(one_line("\n"), "");
}

TEST(PostgreSqlErrorTexts, ALongOrWildTextIsCutAndTamed) {
  EXPECT_EQ(one_line("a\x1b[31m\tb\r"), "a\\x1b[31m\\x09b");
  const std::string long_text(299, 'x');
  EXPECT_EQ(one_line(fmt::format("{}\xF0\x9F\xA6\x81 and more", long_text)), long_text + "...");
  EXPECT_EQ(one_line(std::string(10'000, 'y')).size(), 303U);
}

TEST(PostgreSqlErrorTexts, TheKindFollowsFromTheSqlState) {
  for (const char* state : {"25006", "53300", "57P01", "57P02", "57P03", "40001", "40P01", "55P03",
                            "57014", "08006", "58030"}) {
    EXPECT_EQ(kind_of(state), ErrorKind::unavailable) << state;
  }
  EXPECT_EQ(kind_of("28P01"), ErrorKind::authentication);
  EXPECT_EQ(kind_of("28000"), ErrorKind::authentication);
  EXPECT_EQ(kind_of("42501"), ErrorKind::permission);
  for (const char* state : {"42P01", "3D000", "22003", "42703"}) {
    EXPECT_EQ(kind_of(state), ErrorKind::configuration) << state;
  }
  EXPECT_EQ(kind_of("XX000"), ErrorKind::internal);
  EXPECT_EQ(kind_of(""), ErrorKind::internal);
}

TEST(PostgreSqlErrorTexts, AStatementWhoseConnectionTheServerEndsIsInDoubt) {
  for (const char* state : {"57P01", "57P02", "57P04", "57P05", "08006", "08P01", "40003"}) {
    EXPECT_TRUE(leaves_in_doubt(state, Refused::at_once)) << state;
  }
  for (const char* state : {"57P03", "57014", "40001", "40P01", "55P03", "25006", "53100"}) {
    EXPECT_FALSE(leaves_in_doubt(state, Refused::at_once)) << state;
  }
}

TEST(PostgreSqlErrorTexts, ARefusalAfterTheAnswerIsInDoubtUnlessItMeansARollback) {
  for (const char* state : {"57014", "57P01", "53100", "58030", "XX000"}) {
    EXPECT_TRUE(leaves_in_doubt(state, Refused::after_its_answer)) << state;
  }
  for (const char* state : {"40001", "40P01", "23514"}) {
    EXPECT_FALSE(leaves_in_doubt(state, Refused::after_its_answer)) << state;
  }
}

}  // namespace
}  // namespace simba::postgresql
