#include "config/messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simba::config {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ConfigurationMessages, FindsTheWordThatWasMeant) {
  const std::vector<std::string> known{"ttl", "transition", "initial-delay", "port"};
  EXPECT_EQ(nearest("tll", known), "ttl");
  EXPECT_EQ(nearest("tll", {"tls", "ttl"}), "ttl");  // both are near, one has the same ends
  EXPECT_EQ(nearest("transitoin", known), "transition");
  EXPECT_EQ(nearest("initialDelay", known), "initial-delay");
  EXPECT_EQ(nearest("INITIAL_DELAY", known), "initial-delay");
}

TEST(ConfigurationMessages, FindsNothingWhereNoWordIsNear) {
  EXPECT_EQ(nearest("color", {"ttl", "margin"}), std::nullopt);
  EXPECT_EQ(nearest("", {"ttl"}), std::nullopt);
  EXPECT_EQ(nearest(std::string(10'000, 'x'), {"ttl"}), std::nullopt);
}

TEST(ConfigurationMessages, ShowsNoPassword) {
  EXPECT_EQ(shown("redis://app:hunter2@host"), "\"redis://***@host\"");
  EXPECT_EQ(shown("app:hunter2@host"), "\"***@host\"");
  EXPECT_EQ(shown("redis://app:hun@ter2@host"), "\"redis://***@host\"");
  EXPECT_THAT(shown("host?Password=hunter2&ttl=1s"), Not(HasSubstr("hunter2")));
}

TEST(ConfigurationMessages, ShowsOneLineThatPrintsAndIsNotTooLong) {
  EXPECT_EQ(shown("a\nb\x1b[1m\xc3"), "\"a\\x0ab\\x1b[1m\\xc3\"");
  EXPECT_LT(shown(std::string(10'000, 'x')).size(), 100U);
}

}  // namespace
}  // namespace simba::config
