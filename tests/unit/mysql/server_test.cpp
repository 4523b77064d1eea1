#include "mysql/server.hpp"

#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sql/workers/poll_wait.hpp"

namespace simba::mysql {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// A pool of two connections.
class MySqlServerPlaces : public ::testing::Test {
 protected:
  static Settings settings() {
    MySqlOptions options;
    options.user = "simba";
    options.database = "locks";
    options.sql.pool_size = 2;
    return Settings{options};
  }

  /// Empty: there was a place; else why not.
  std::string open() {
    try {
      server.open_place();
      return {};
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unavailable);
      return error.what();
    }
  }

  /// The same, and at this server.
  std::string open_at(const std::string& identity) {
    if (auto why = open(); !why.empty()) return why;
    try {
      server.arrived(identity);
      return {};
    } catch (const Error& error) {
      server.close_place(identity, LocalTime::min());
      return error.what();
    }
  }

  void leave_behind(const std::string& identity) {
    server.close_place(identity, sql::real_now() + 1h);
  }

  Server server{settings(), make_null_logger()};
};

TEST_F(MySqlServerPlaces, AreTakenByWhatWasLeftBehindUntilItMustBeOver) {
  ASSERT_EQ(open_at("a"), "");
  server.close_place("a", sql::real_now() + 1ms);
  ASSERT_EQ(open_at("a"), "");
  leave_behind("a");
  while (!open().empty()) {  // the first has been over for long by now, or soon
  }
  EXPECT_THAT(open(), HasSubstr("may still be executing 1 statement(s)"));
}

TEST_F(MySqlServerPlaces, AreNotTakenByWhatWasAnswered) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(open_at("a"), "");
    server.close_place("a", LocalTime::min());
  }
}

TEST_F(MySqlServerPlaces, AreNotTakenByWhatAnotherServerWasLeftWith) {
  ASSERT_EQ(open_at("a"), "");
  leave_behind("a");
  EXPECT_EQ(open_at("b"), "") << "one is free at either";
  EXPECT_EQ(open_at("b"), "") << "and the other one is at this server";
  server.close_place("b", LocalTime::min());
  leave_behind("b");
  EXPECT_EQ(open_at("b"), "");
  EXPECT_THAT(open(), HasSubstr("may still be executing 1 statement(s)"));
}

TEST_F(MySqlServerPlaces, AreTakenAgainWhenTheAddressLeadsBackToAServerThatIsStillBusy) {
  ASSERT_EQ(open_at("a"), "");
  ASSERT_EQ(open_at("a"), "");
  leave_behind("a");
  server.close_place("a", LocalTime::min());
  ASSERT_EQ(open_at("b"), "");
  EXPECT_THAT(open_at("a"), HasSubstr("may still be executing 1 statement(s)"))
      << "a connection to another server is open: there would be two at this one";
}

TEST_F(MySqlServerPlaces, AreTakenEverywhereByWhatWasLeftNobodyKnowsWhere) {
  ASSERT_EQ(open(), "");
  leave_behind("");
  ASSERT_EQ(open_at("b"), "");
  EXPECT_THAT(open(), HasSubstr("may still be executing 1 statement(s)"));
}

}  // namespace
}  // namespace simba::mysql
