#include "mysql/statements.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simba::mysql {
namespace {

using namespace std::chrono_literals;
using sql::Ask;
using sql::Change;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::vector<Ask> hostile{{.mutex = "a'b\"c\\; -- ",
                                .contender_id = "`%\n",
                                .ttl = 10s,
                                .transition = 6s,
                                .version = {}}};

TEST(MySqlStatements, HoldNoNameOrIdInTheClear) {
  std::vector<std::string> texts{
      statements::insert_and_acquire(hostile), statements::init(hostile[0].mutex),
      statements::namesake(hostile[0].mutex), statements::look(std::vector{hostile[0].mutex})};
  for (const Change change : {Change::acquire, Change::guard, Change::release}) {
    texts.push_back(statements::change(change, hostile));
  }
  for (const std::string& text : texts) {
    for (const char* part : {"a'b", "\"c", "\\", "--", "`", "%", "\n", "d'b", "m'x"}) {
      EXPECT_THAT(text, Not(HasSubstr(part)));
    }
  }
  EXPECT_THAT(texts[0], HasSubstr("x'61276222635c3b202d2d20'"));
}

TEST(MySqlStatements, AChangeIsAnUpdateAndALookInOneText) {
  const std::string text = statements::change(Change::acquire, hostile);
  EXPECT_THAT(text, StartsWith("UPDATE simba_mutex FORCE INDEX (PRIMARY) SET "));
  EXPECT_THAT(text, HasSubstr(";SELECT mutex,owner_id,"));
  EXPECT_THAT(text, Not(HasSubstr("CASE")));
}

// A proxy may send all of a text that begins with SELECT to a replica.
TEST(MySqlStatements, AChangeOfSeveralLooksFirstButDoesNotBeginWithSelect) {
  const std::vector<Ask> two{hostile[0], hostile[0]};
  for (const Change change : {Change::acquire, Change::guard}) {
    EXPECT_THAT(statements::change(change, two), StartsWith("DO 0;SELECT mutex,owner_id,"));
    EXPECT_THAT(statements::change(change, two), HasSubstr(";UPDATE simba_mutex "));
  }
  EXPECT_THAT(statements::change(Change::release, two), StartsWith("UPDATE "));
  EXPECT_THAT(statements::insert_and_acquire(two), StartsWith("INSERT "));
}

TEST(MySqlStatements, ABatchGivesEachMutexItsOwnOwnerAndToken) {
  const std::vector<Ask> two{
      {.mutex = "a", .contender_id = "x", .ttl = 10s, .transition = 6s, .version = 7},
      {.mutex = "b", .contender_id = "y", .ttl = 10s, .transition = 6s, .version = {}}};
  EXPECT_THAT(statements::change(Change::acquire, two),
              HasSubstr("WHEN x'61' THEN _utf8mb4 x'78' WHEN x'62' THEN _utf8mb4 x'79' END"));
  EXPECT_THAT(statements::change(Change::release, two),
              HasSubstr("version=CASE CAST(CONVERT(mutex USING utf8mb4) AS BINARY) WHEN x'61' "
                        "THEN 7 WHEN x'62' THEN version END"));
  EXPECT_THAT(statements::change(Change::release, two), StartsWith("UPDATE "));
  EXPECT_THAT(statements::change(Change::guard, two),
              HasSubstr("version<=CASE CAST(CONVERT(mutex USING utf8mb4) AS BINARY) WHEN x'61' "
                        "THEN 7 WHEN x'62' THEN version END"));
}

TEST(MySqlStatements, TheLockWaitIsHalfTheStatementTimeOutAndASecondAtLeast) {
  EXPECT_THAT(statements::set_up(false, false, 5s),
              HasSubstr("innodb_lock_wait_timeout=2,lock_wait_timeout=2;"));
  EXPECT_THAT(statements::set_up(false, false, 10ms),
              HasSubstr("innodb_lock_wait_timeout=1,lock_wait_timeout=1;"));
  EXPECT_THAT(statements::set_up(true, false, 50ms), HasSubstr("max_statement_time=0.040"));
  EXPECT_THAT(statements::set_up(false, true, 5s), HasSubstr("REPEATABLE READ"));
  EXPECT_THAT(statements::set_up(false, false, 5s), Not(HasSubstr("max_statement_time")));
}

}  // namespace
}  // namespace simba::mysql
