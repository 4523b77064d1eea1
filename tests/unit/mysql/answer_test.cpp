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

TEST(MySqlAnswer, AMomentBeyondEverySensibleOneStaysInBounds) {
  Values values = good;
  values[4] = "18446744073709551615";
  EXPECT_GT(answer::row(values).transition_at, 0);
}

}  // namespace
}  // namespace simba::mysql
