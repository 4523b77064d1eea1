#include "mysql/answer.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "simba/core/error.hpp"

namespace simba::mysql {
namespace {

using Values = std::vector<StatementResult::Value>;

const Values good{"m", "me", "1", "2", "3", "4294967296", "5"};

template <typename Call>
void expect_internal(Call call) {
  try {
    call();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::internal) << error.what();
  }
}

TEST(MySqlAnswer, ARowIsReadColumnByColumn) {
  const sql::Row row = answer::row(good);
  EXPECT_EQ(row.mutex, "m");
  EXPECT_EQ(row.owner_id, "me");
  EXPECT_EQ(row.acquired_at, 1);
  EXPECT_EQ(row.ttl_at, 2);
  EXPECT_EQ(row.transition_at, 3);
  EXPECT_EQ(row.version, 4294967296U);
  EXPECT_EQ(row.now, 5);
}

TEST(MySqlAnswer, WhatMakesNoSenseIsAnErrorAndNeverACrash) {
  for (std::size_t i = 0; i < good.size(); ++i) {
    Values values = good;
    values[i].reset();
    expect_internal([&] { answer::row(values); });
    values.resize(i);
    expect_internal([&] { answer::row(values); });
  }
  for (const char* number : {"", "x", "-1", "1.5", "1 ", "99999999999999999999999"}) {
    Values values = good;
    values[4] = number;
    expect_internal([&] { answer::row(values); });
  }
  expect_internal([] { answer::last({}); });
  expect_internal([] { answer::rows({.affected = 0, .columns = 2, .rows = {}}); });
}

TEST(MySqlAnswer, WhatAServerTellsOfItselfDiffersFromWhatAnotherTells) {
  const auto of = [](std::vector<Values> rows) {
    return answer::identity({.affected = 0, .columns = 2, .rows = std::move(rows)});
  };
  EXPECT_EQ(of({{"hostname", "a"}, {"port", "3306"}}), of({{"hostname", "a"}, {"port", "3306"}}));
  EXPECT_NE(of({{"hostname", "a"}, {"port", "3306"}}), of({{"hostname", "a"}, {"port", "3307"}}));
  EXPECT_EQ(of({}), "") << "nothing";
  EXPECT_NE(of({{"hostname", std::nullopt}}), "");
}

TEST(MySqlAnswer, AMomentBeyondEverySensibleOneStaysInBounds) {
  Values values = good;
  values[4] = "18446744073709551615";
  EXPECT_GT(answer::row(values).transition_at, 0);
}

/// Rows of two mutexes that contender "me" has asked for, after an UPDATE.
class MySqlRefusals : public testing::Test {
 protected:
  static sql::Row row(const std::string& mutex, FencingToken version,
                      const std::string& owner = "me") {
    return {.mutex = mutex, .owner_id = owner, .transition_at = 9, .version = version, .now = 1};
  }

  /// Whether the row of "a", and that of "b", was refused.
  std::vector<bool> refused(sql::Change change, std::uint64_t affected,
                            const std::vector<sql::Row>& before,
                            const std::vector<sql::Row>& after) const {
    std::vector<bool> all;
    for (const sql::Row& one : answer::with_refusals(after, before, affected, change, asks)) {
      all.push_back(one.refused);
    }
    return all;
  }

  using Answers = std::vector<bool>;
  const std::vector<sql::Ask> asks{{.mutex = "a", .contender_id = "me", .version = 5},
                                   {.mutex = "b", .contender_id = "me", .version = 7}};
  const std::vector<sql::Row> ours{row("a", 5), row("b", 7)};
};

TEST_F(MySqlRefusals, WhatTheUpdateHasChangedIsNotRefused) {
  EXPECT_EQ(refused(sql::Change::guard, 2, ours, {row("a", 6), row("b", 8)}),
            (Answers{false, false}));
  EXPECT_EQ(refused(sql::Change::acquire, 2, {row("a", 3, "other"), row("b", 7)},
                    {row("a", 4), row("b", 8)}),
            (Answers{false, false}));
  EXPECT_EQ(refused(sql::Change::acquire, 1, {}, {row("a", 1), row("b", 9, "other")}),
            (Answers{false, false}));
}

TEST_F(MySqlRefusals, ARowOfANamesakeIsAlsoWhereItAloneIsNotChanged) {
  EXPECT_EQ(refused(sql::Change::guard, 1, {row("a", 6), row("b", 7)}, {row("a", 6), row("b", 8)}),
            (Answers{true, false}));
  EXPECT_EQ(
      refused(sql::Change::acquire, 1, {row("a", 9), row("b", 7)}, {row("a", 9), row("b", 8)}),
      (Answers{true, false}));
}

TEST_F(MySqlRefusals, ATakeOverBetweenTheLookAndTheUpdateIsNotTakenForOurs) {
  EXPECT_EQ(refused(sql::Change::guard, 0, ours, {row("a", 6), row("b", 9, "other")}),
            (Answers{true, false}));
  EXPECT_EQ(refused(sql::Change::acquire, 0, {}, {row("a", 1), row("b", 1)}),
            (Answers{true, true}));
}

TEST_F(MySqlRefusals, ATakeOverBetweenTheUpdateAndTheLookIsNotTakenForOurs) {
  EXPECT_EQ(refused(sql::Change::guard, 2, ours, {row("a", 7), row("b", 8)}),
            (Answers{true, false}));
}

TEST_F(MySqlRefusals, WhatBecomesFreeBetweenTheLookAndTheUpdateIsGranted) {
  EXPECT_EQ(
      refused(sql::Change::acquire, 2, {row("a", 9), row("b", 9)}, {row("a", 11), row("b", 11)}),
      (Answers{false, false}));
}

TEST_F(MySqlRefusals, WhereItCannotBeKnownWhoseChangeItWasAcquisitionsAskAgain) {
  const std::vector<sql::Row> after{row("a", 6), row("b", 8)};
  EXPECT_EQ(refused(sql::Change::acquire, 1, ours, after), (Answers{true, true}));
  EXPECT_EQ(refused(sql::Change::guard, 1, ours, after), (Answers{false, false}));
}

TEST_F(MySqlRefusals, OneThatNamesNoVersionIsNotJudged) {
  const std::vector<sql::Ask> any{{.mutex = "a", .contender_id = "me"}};
  const auto rows = answer::with_refusals({row("a", 6)}, {}, 0, sql::Change::guard, any);
  EXPECT_FALSE(rows.at(0).refused);
}

TEST(MySqlAnswer, AResultThatIsMissingIsAnError) {
  Reply reply;
  expect_internal([&] { answer::statement(reply, 1); });
  reply.results.push_back({.affected = 3});
  EXPECT_EQ(answer::statement(reply, 1).affected, 3U);
  expect_internal([&] { answer::statement(reply, 2); });
}

}  // namespace
}  // namespace simba::mysql
