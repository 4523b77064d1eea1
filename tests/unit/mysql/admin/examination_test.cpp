#include "mysql/admin/examination.hpp"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simba::mysql {
namespace {

using engine::Finding;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t connection = 7;

/// A server on which everything is in order, but for what a test says.
struct MySqlExamination : testing::Test {
  engine::StoreReport run() const {
    const auto ask = [this](std::string_view statement) {
      Reply reply;
      auto& rows = reply.results.emplace_back().rows;
      if (statement.find("VERSION()") != std::string_view::npos) {
        rows.push_back({version, "1700000000000", served_as});
      } else if (statement.find("@@read_only") != std::string_view::npos) {
        rows.push_back({"1", "0", "0", "0", "1"});
      }
      return reply;
    };
    return Examination{settings, {.mariadb = mariadb, .connection = connection}, ask}.run();
  }

  static auto finding(Finding::Weight weight, const std::string& part) {
    return AllOf(Field(&Finding::weight, weight), Field(&Finding::text, HasSubstr(part)));
  }

  const Settings settings{[] {
    MySqlOptions options;
    options.user = "app";
    options.database = "app";
    return options;
  }()};
  bool mariadb = false;
  std::string version = "8.4.3";
  std::string served_as = std::to_string(connection);
};

TEST_F(MySqlExamination, FindsNothingWhereEverythingIsInOrder) {
  const auto report = run();
  EXPECT_EQ(report.server, "MySQL 8.4.3");
  EXPECT_THAT(report.findings, IsEmpty());
}

TEST_F(MySqlExamination, RecognizesTiDbAndVitessByTheirVersions) {
  version = "8.0.11-TiDB-v7.5.0";
  auto report = run();
  EXPECT_EQ(report.server, "TiDB 8.0.11");
  EXPECT_THAT(report.findings, ElementsAre(finding(Finding::Weight::warning, "this is TiDB")));
  version = "8.0.30-Vitess";
  report = run();
  EXPECT_EQ(report.server, "Vitess 8.0.30");
  EXPECT_THAT(report.findings, ElementsAre(finding(Finding::Weight::warning, "this is Vitess")));
}

TEST_F(MySqlExamination, AnotherNumberThanTheOneOfTheGreetingIsBehindAProxy) {
  served_as = "8";
  EXPECT_THAT(run().findings, ElementsAre(finding(Finding::Weight::warning, "through a proxy")));
}

TEST_F(MySqlExamination, AVersionThatWasNotTestedIsNoted) {
  version = "9.8.0";
  EXPECT_THAT(run().findings, ElementsAre(finding(Finding::Weight::note, "9.8 is newer")));
  mariadb = true;
  version = "10.6.18-MariaDB";
  EXPECT_THAT(run().findings, ElementsAre(finding(Finding::Weight::note, "10.6 is older")));
}

TEST_F(MySqlExamination, AVersionThatLacksWhatIsNeededIsAProblem) {
  version = "5.6.51";
  EXPECT_THAT(run().findings, ElementsAre(finding(Finding::Weight::problem, "too old")));
}

}  // namespace
}  // namespace simba::mysql
