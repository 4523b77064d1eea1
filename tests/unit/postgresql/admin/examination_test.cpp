#include "postgresql/admin/examination.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simba::postgresql {
namespace {

using engine::Finding;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int session = 7;

/// A server on which everything is in order, but for what a test says.
struct PostgreSqlExamination : testing::Test {
  engine::StoreReport run() const {
    return Examination{about, [this](const char* statement) { return answer(statement); }}.run();
  }

  TableText answer(std::string_view statement) const {
    const auto asks_for = [&](std::string_view part) {
      return statement.find(part) != std::string_view::npos;
    };
    if (asks_for("server_version")) return {{version, "1700000000000", "f", "on", served_by, "t"}};
    if (asks_for("current_schemas")) return tables;
    if (asks_for("has_table_privilege")) return {{"t", "t", "t"}};
    if (!asks_for("format_type")) return {{"1"}};
    TableText columns{{"mutex", "text", "", "", "t"}, {"owner_id", "text", "", "", "t"}};
    for (const auto* const number : {"acquired_at", "ttl_at", "transition_at", "version"}) {
      columns.push_back({number, "bigint", "", "8", "t"});
    }
    return columns;
  }

  static auto finding(Finding::Weight weight, const std::string& part) {
    return AllOf(Field(&Finding::weight, weight), Field(&Finding::text, HasSubstr(part)));
  }

  Examination::About about{.name = "PostgreSQL at db",
                           .user = "app",
                           .database = "app",
                           .version = 170'000,
                           .session = session};
  std::string version = "17.4 (Debian 17.4-1)";
  std::string served_by = std::to_string(session);
  TableText tables{{"app", "t", "f", "public", "f"}};
};

TEST_F(PostgreSqlExamination, FindsNothingWhereEverythingIsInOrder) {
  const auto report = run();
  EXPECT_EQ(report.server, "PostgreSQL 17.4");
  EXPECT_THAT(report.findings, IsEmpty());
}

TEST_F(PostgreSqlExamination, RecognizesCockroachByWhatTheConnectionSays) {
  about.cockroach = true;
  version = "13.0.0";
  const auto report = run();
  EXPECT_EQ(report.server, "CockroachDB 13.0.0");
  EXPECT_THAT(report.findings,
              ElementsAre(finding(Finding::Weight::warning, "this is CockroachDB")));
}

TEST_F(PostgreSqlExamination, RecognizesYugabyteByItsVersion) {
  version = "15.2-YB-2.25.0.0-b0";
  const auto report = run();
  EXPECT_EQ(report.server, "YugabyteDB 15.2-YB-2.25.0.0-b0");
  EXPECT_THAT(report.findings,
              ElementsAre(finding(Finding::Weight::warning, "this is YugabyteDB")));
}

TEST_F(PostgreSqlExamination, AnotherProcessThanTheOneOfTheConnectionIsBehindAPooler) {
  served_by = "8";
  EXPECT_THAT(run().findings, ElementsAre(finding(Finding::Weight::warning, "through a pooler")));
  about.listen = Listen::no;
  EXPECT_THAT(run().findings, IsEmpty()) << "nobody is to be notified";
}

TEST_F(PostgreSqlExamination, AVersionThatWasNotTestedIsNoted) {
  version = "19.1";
  EXPECT_THAT(run().findings, ElementsAre(finding(Finding::Weight::note, "19 is newer")));
  version = "14.20";
  EXPECT_THAT(run().findings, ElementsAre(finding(Finding::Weight::note, "14 is older")));
}

TEST_F(PostgreSqlExamination, AVersionThatLacksWhatIsNeededIsAProblem) {
  about.version = 110'022;
  const auto report = run();
  EXPECT_EQ(report.server, "PostgreSQL 11");
  EXPECT_THAT(report.findings, ElementsAre(finding(Finding::Weight::problem, "too old")));
}

TEST_F(PostgreSqlExamination, ATableThatHidesThatOfATrustedRoleIsAProblem) {
  tables = {{"mallory", "f", "f", "app", "t"}, {"app", "t", "f", "public", "f"}};
  EXPECT_THAT(run().findings,
              ElementsAre(finding(Finding::Weight::problem, "table app.simba_mutex of role")));
}

TEST_F(PostgreSqlExamination, TwoTablesInTheSearchPathAreAWarningThatNamesBoth) {
  tables = {{"app", "t", "f", "app", "f"}, {"app", "t", "f", "public", "f"}};
  EXPECT_THAT(
      run().findings,
      ElementsAre(AllOf(finding(Finding::Weight::warning, "app.simba_mutex, which is used here"),
                        finding(Finding::Weight::warning, "public.simba_mutex"))));
}

}  // namespace
}  // namespace simba::postgresql
