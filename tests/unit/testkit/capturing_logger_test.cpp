#include "simba/testkit/capturing_logger.hpp"

#include <gtest/gtest.h>

namespace simba::testkit {
namespace {

TEST(CapturingLogger, KeepsLinesOfEveryLevelInOrder) {
  CapturingLogger log;
  EXPECT_TRUE(log.enabled(LogLevel::debug));
  log.log(LogLevel::debug, "one");
  log.log(LogLevel::info, "two");
  log.log(LogLevel::warn, "three");
  log.log(LogLevel::error, "three and four");
  ASSERT_EQ(log.lines().size(), 4U);
  EXPECT_EQ(log.lines()[1].level, LogLevel::info);
  EXPECT_EQ(log.lines()[1].message, "two");
  EXPECT_EQ(log.text(), "debug: one\ninfo: two\nwarn: three\nerror: three and four\n");
}

TEST(CapturingLogger, CountsByLevelAndByText) {
  CapturingLogger log;
  log.log(LogLevel::warn, "the store is gone");
  log.log(LogLevel::warn, "the store is back");
  EXPECT_EQ(log.count(LogLevel::warn), 2U);
  EXPECT_EQ(log.count(LogLevel::error), 0U);
  EXPECT_EQ(log.count("gone"), 1U);
  EXPECT_TRUE(log.contains("back"));
  EXPECT_FALSE(log.contains("away"));
}

TEST(CapturingLogger, ForgetsWhenTold) {
  CapturingLogger log;
  log.log(LogLevel::warn, "something");
  log.clear();
  EXPECT_TRUE(log.lines().empty());
}

}  // namespace
}  // namespace simba::testkit
