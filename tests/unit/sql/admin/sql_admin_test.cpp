#include "sql/admin/sql_admin.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simba::sql {
namespace {

using engine::Finding;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<TableColumn> columns_of_simba() {
  return {{"mutex", "varchar(66)", 66},      {"acquired_at", "bigint", 63},
          {"ttl_at", "bigint", 63},          {"transition_at", "bigint", 63},
          {"owner_id", "varchar(128)", 128}, {"version", "int unsigned", 32}};
}

TEST(SqlAdminColumns, AreFineWhereTheyHoldWhatTheSchemaHolds) {
  EXPECT_THAT(check_columns(columns_of_simba(), 31), IsEmpty());
  auto columns = columns_of_simba();
  for (auto& column : columns) column.most.reset();
  EXPECT_THAT(check_columns(columns, 63), IsEmpty()) << "without a limit";
  columns.push_back({"of_someone", "text", {}});
  EXPECT_THAT(check_columns(columns, 63), IsEmpty());
}

TEST(SqlAdminColumns, AreAProblemWhereTheyAreMissing) {
  const auto findings = check_columns({}, 31);
  EXPECT_THAT(findings, SizeIs(6));
  EXPECT_TRUE(has_problem(findings));
  EXPECT_THAT(findings.front().text, HasSubstr("lacks column mutex"));
}

TEST(SqlAdminColumns, AreAWarningWhereSomeNamesDoNotFit) {
  auto columns = columns_of_simba();
  columns[4] = {"owner_id", "varchar(36)", 36};
  const auto findings = check_columns(columns, 31);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings.front().weight, Finding::Weight::warning);
  EXPECT_THAT(findings.front().text, HasSubstr("must hold 128 characters (is varchar(36))"));
  EXPECT_FALSE(has_problem(findings));
}

TEST(SqlAdminColumns, AreAProblemWhereNoTimeFits) {
  auto columns = columns_of_simba();
  columns[2] = {"ttl_at", "int", 31};
  EXPECT_TRUE(has_problem(check_columns(columns, 31)));
}

}  // namespace
}  // namespace simba::sql
