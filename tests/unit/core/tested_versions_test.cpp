#include "core/tested_versions.hpp"

#include <gtest/gtest.h>

namespace simba::detail {
namespace {

TEST(TestedVersions, AreNothingToRemarkOn) {
  for (const auto& [product, oldest, newest] : tested_versions()) {
    for (const auto& version : {oldest, newest}) {
      const auto text = std::to_string(version[0]) + '.' + std::to_string(version[1]) + ".7-more";
      EXPECT_EQ(untested_version(product, text), "") << product << ' ' << text;
    }
  }
  EXPECT_EQ(untested_version("MySQL", "8.4.3"), "") << "between those that were tested";
}

TEST(TestedVersions, AServerThatIsOlderOrNewerIsToldWithTheirRange) {
  EXPECT_EQ(untested_version("MySQL", "9.8.0-commercial"),
            "MySQL 9.8 is newer than the versions that Simba is tested with, 5.7 to 9.7");
  EXPECT_EQ(untested_version("MariaDB", "10.6.18-MariaDB"),
            "MariaDB 10.6 is older than the versions that Simba is tested with, 10.11 to 11.8");
  EXPECT_EQ(untested_version("Redis", "8.2.1"),
            "Redis 8.2 is newer than the versions that Simba is tested with, 7.0 to 8.0");
  EXPECT_EQ(untested_version("ZooKeeper", "3.7.2"),
            "ZooKeeper 3.7 is older than the versions that Simba is tested with, 3.8 to 3.9");
  EXPECT_EQ(untested_version("SQLite", "3.37.2"),
            "SQLite 3.37 is older than the versions that Simba is tested with, 3.40 to 3.53");
}

TEST(TestedVersions, OfPostgreSqlHaveOneNumber) {
  EXPECT_EQ(untested_version("PostgreSQL", "18.9"), "");
  EXPECT_EQ(untested_version("PostgreSQL", "14.20"),
            "PostgreSQL 14 is older than the versions that Simba is tested with, 15 to 18");
}

TEST(TestedVersions, NothingIsSaidOfWhatNobodyKnows) {
  EXPECT_EQ(untested_version("Oracle", "23.1"), "");
  EXPECT_EQ(untested_version("Redis", "unknown"), "");
  EXPECT_EQ(untested_product("Redis"), "");
}

TEST(TestedVersions, AProductThatOnlySpeaksTheProtocolIsToldWithWhatBreaks) {
  EXPECT_EQ(untested_product("TiDB"),
            "this is TiDB, which Simba is not tested with: each of its servers decides about "
            "leases by its own clock");
}

}  // namespace
}  // namespace simba::detail
