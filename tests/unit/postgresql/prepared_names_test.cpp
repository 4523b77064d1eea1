#include "postgresql/prepared_names.hpp"

#include <gtest/gtest.h>

namespace simba::postgresql {
namespace {

TEST(PostgreSqlPreparedNames, AreTheSameForTheSameTextAloneAndFitAnIdentifier) {
  EXPECT_EQ(prepared_name("SELECT 1"), prepared_name("SELECT 1"));
  EXPECT_NE(prepared_name("SELECT 1"), prepared_name("SELECT 2"));
  EXPECT_LT(prepared_name("SELECT 1").size(), 64U);
}

TEST(PostgreSqlPreparedNames, AreGivenUpWhereTheSessionIsSharedOrTheTableAltered) {
  EXPECT_TRUE(PreparedNames::shows_misfit("26000"));
  EXPECT_TRUE(PreparedNames::shows_misfit("42P05"));
  EXPECT_TRUE(PreparedNames::shows_misfit("0A000"));
  EXPECT_FALSE(PreparedNames::shows_misfit("55P03"));
}

}  // namespace
}  // namespace simba::postgresql
