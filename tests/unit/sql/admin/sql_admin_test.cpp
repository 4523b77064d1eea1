#include "sql/admin/sql_admin.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/testkit/capturing_logger.hpp"
#include "unit/sql/fake_database.hpp"

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

/// A table of a thousand mutexes.
class FullTable final : public TableInspector {
 public:
  bool has_table() override { return true; }
  void read_names(const std::function<void(std::string name)>& add) override {
    for (int i = 0; i < 1'000; ++i) add("m" + std::to_string(i) + rest_of_names);
  }
  engine::StoreReport examine() override { return {}; }

  std::string rest_of_names{};  ///< set before use
};

struct SqlAdminListing : testing::Test {
  std::vector<engine::MutexEntry> list() {
    return make_sql_admin(
               std::move(table), [this](Schema) { return database; }, {}, {}, log)
        ->list();
  }

  /// The error that ends a listing.
  std::string refusal() {
    try {
      list();
      return "accepted";
    } catch (const Error& error) {
      return error.what();
    }
  }

  std::unique_ptr<FullTable> table = std::make_unique<FullTable>();

  const std::shared_ptr<FakeDatabase> database = std::make_shared<FakeDatabase>();
  const std::shared_ptr<testkit::CapturingLogger> log =
      std::make_shared<testkit::CapturingLogger>();
};

TEST_F(SqlAdminListing, LeavesOutTheOneRowThatCannotBeRead) {
  database->on_look = [](std::span<const std::string> mutexes) {
    if (std::ranges::find(mutexes, "m7") == mutexes.end()) return;
    throw Error{ErrorKind::configuration, "invalid row"};
  };
  EXPECT_THAT(list(), SizeIs(999));
  EXPECT_EQ(log->count("cannot read mutex \"m7\""), 1U) << log->text();
}

TEST_F(SqlAdminListing, IsGivenUpWhereNamesOrOwnersTakeTooMuchMemory) {
  const std::string large(1'000'000, 'x');
  table->rest_of_names = large;
  EXPECT_THAT(refusal(), HasSubstr("(limit: 128 MiB); name one mutex with -m"));
  EXPECT_EQ(database->looks, 0);

  table = std::make_unique<FullTable>();
  database->owner_of_all = large.substr(0, 200'000);
  EXPECT_THAT(refusal(), HasSubstr("(limit: 128 MiB); name one mutex with -m"));
}

TEST_F(SqlAdminListing, FailsWhereEveryMutexFails) {
  database->on_look = [](std::span<const std::string>) {
    throw Error{ErrorKind::configuration, "column ttl_at is missing"};
  };
  EXPECT_THROW(list(), Error);
  EXPECT_EQ(log->text(), "");
  EXPECT_LT(database->looks, 5) << "not one by one";
}

TEST_F(SqlAdminListing, DoesNotConnectForEachMutexOfATableThatWasDroppedMeanwhile) {
  database->on_look = [this](std::span<const std::string>) {
    database->broken = true;
    database->on_connect = [] { throw Error{ErrorKind::configuration, "table is missing"}; };
    throw Error{ErrorKind::configuration, "table is missing"};
  };
  EXPECT_THROW(list(), Error);
  EXPECT_EQ(log->text(), "");
  EXPECT_LT(database->connects, 5);
}

}  // namespace
}  // namespace simba::sql
