#include "sql/workers/statement_pool.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/testkit/capturing_logger.hpp"
#include "unit/sql/fake_database.hpp"

namespace simba::sql {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using Answer = Result<std::optional<Row>>;

struct StatementPoolTest : testing::Test {
  /// Closed when the last reference goes.
  std::shared_ptr<StatementPool> make_pool(std::size_t size = 2) {
    SqlOptions options;
    options.pool_size = size;
    options.statement_timeout = 10s;
    const auto pool =
        std::make_shared<StatementPool>(database, SqlPlan{options, {}}, log, connections);
    return {pool.get(), [pool](StatementPool*) { pool->close(); }};
  }

  static std::future<Answer> ask(StatementPool& pool, Change change, const std::string& mutex) {
    auto promise = std::make_shared<std::promise<Answer>>();
    auto future = promise->get_future();
    pool.change(change, {.mutex = mutex, .contender_id = "me", .ttl = 1s, .transition = 1s},
                [promise](Answer answer) { promise->set_value(std::move(answer)); });
    return future;
  }

  static const Error& error_in(const Answer& answer) { return std::get<Error>(answer); }

  const std::shared_ptr<FakeDatabase> database = std::make_shared<FakeDatabase>();
  const std::shared_ptr<detail::ConnectionMeter> connections =
      std::make_shared<detail::ConnectionMeter>();
  const std::shared_ptr<testkit::CapturingLogger> log =
      std::make_shared<testkit::CapturingLogger>();
};

/// Holds up the statements that begin with a mutex until it is opened, or the pool closes.
class Barrier {
 public:
  Barrier(FakeDatabase& database, std::string mutex) {
    database.before_change = [this, held = std::move(mutex)](const Wakeup& closing,
                                                             std::span<const Ask> asks) {
      if (asks.front().mutex != held) return;
      if (first_.exchange(false)) entered_.set_value();
      while (!open_ && wait_for(closing, real_now() + 1ms) != Waited::woken) {
      }
    };
  }
  void wait_until_entered() { entered_.get_future().wait(); }
  void open() { open_ = true; }

 private:
  std::promise<void> entered_;
  std::atomic<bool> first_{true};
  std::atomic<bool> open_{false};
};

TEST_F(StatementPoolTest, ConnectsAtTheFirstRequestAndKeepsTheConnection) {
  const auto pool = make_pool(1);
  EXPECT_EQ(database->connects, 0);
  for (int i = 0; i < 3; ++i) {
    const Answer answer = ask(*pool, Change::acquire, "m").get();
    EXPECT_EQ(std::get<0>(answer)->owner_id, "me");
  }
  EXPECT_EQ(database->connects, 1);
}

TEST_F(StatementPoolTest, WhatWaitsAtTheSameMomentGoesAsOneStatement) {
  Barrier barrier{*database, "first"};
  const auto pool = make_pool(1);
  std::vector<std::future<Answer>> answers;
  answers.push_back(ask(*pool, Change::guard, "first"));
  barrier.wait_until_entered();
  for (int i = 0; i < 50; ++i) answers.push_back(ask(*pool, Change::guard, std::to_string(i)));
  barrier.open();
  for (auto& answer : answers) EXPECT_EQ(answer.get().index(), 0U);
  EXPECT_THAT(database->statements(), ElementsAre(1, 50));
}

TEST_F(StatementPoolTest, AStatementThatHangsDoesNotHoldUpAnotherMutex) {
  Barrier barrier{*database, "stuck"};
  const auto pool = make_pool(2);
  auto stuck = ask(*pool, Change::guard, "stuck");
  barrier.wait_until_entered();
  EXPECT_EQ(ask(*pool, Change::guard, "other").get().index(), 0U);
  EXPECT_EQ(stuck.wait_for(0s), std::future_status::timeout);
  barrier.open();
  stuck.get();
}

TEST_F(StatementPoolTest, AProblemOfOneMutexReachesItsRequestAlone) {
  database->on_change = [](Change change, std::span<const Ask> asks) {
    std::vector<Row> rows = FakeDatabase::grant(change, asks);
    for (Row& row : rows) {
      if (row.mutex == "bad") row.problem = Error{ErrorKind::permission, "not this one"};
    }
    return rows;
  };
  Barrier barrier{*database, "first"};
  const auto pool = make_pool(1);
  auto first = ask(*pool, Change::acquire, "first");
  barrier.wait_until_entered();
  auto good = ask(*pool, Change::acquire, "good");
  auto bad = ask(*pool, Change::acquire, "bad");
  barrier.open();
  first.get();
  EXPECT_EQ(good.get().index(), 0U);
  const Answer answer = bad.get();
  ASSERT_EQ(answer.index(), 1U);
  EXPECT_EQ(error_in(answer).kind(), ErrorKind::permission);
  EXPECT_THAT(database->statements(), ElementsAre(1, 2));
  EXPECT_EQ(error_in(ask(*pool, Change::acquire, "bad").get()).kind(), ErrorKind::permission);
}

TEST_F(StatementPoolTest, AnErrorReachesEveryRequestOfTheStatement) {
  database->on_change = [](Change, std::span<const Ask>) -> std::vector<Row> {
    throw Error{ErrorKind::in_doubt, "connection lost"};
  };
  const auto pool = make_pool();
  EXPECT_EQ(error_in(ask(*pool, Change::acquire, "m").get()).kind(), ErrorKind::in_doubt);
}

TEST_F(StatementPoolTest, WhatADriverThrowsBesidesErrorsIsAnInternalError) {
  database->on_change = [](Change, std::span<const Ask>) -> std::vector<Row> {
    throw std::logic_error{"out of range"};
  };
  const auto pool = make_pool();
  EXPECT_EQ(error_in(ask(*pool, Change::acquire, "m").get()).kind(), ErrorKind::internal);
}

TEST_F(StatementPoolTest, AConnectionServesWhileAnotherThreadCannotConnect) {
  std::atomic<bool> taken{false};
  database->on_connect = [&] {
    if (taken.exchange(true)) throw Error{ErrorKind::authentication, "too many"};
  };
  const auto pool = make_pool(2);
  while (ask(*pool, Change::acquire, "m").get().index() != 0) {  // the other was faster
  }
  const LocalTime begun = real_now();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(ask(*pool, Change::guard, std::to_string(i)).get().index(), 0U);
  }
  EXPECT_LT(real_now() - begun, 5s) << "requests wait for the thread that has no connection";
}

TEST_F(StatementPoolTest, ABrokenConnectionIsReplacedBeforeTheNextStatement) {
  const auto pool = make_pool(1);
  ask(*pool, Change::acquire, "m").get();
  database->broken = true;
  EXPECT_EQ(ask(*pool, Change::guard, "m").get().index(), 0U);
  EXPECT_EQ(database->connects, 2);
}

TEST_F(StatementPoolTest, ItsConnectionsAreCountedUntilTheyEnd) {
  {
    const auto pool = make_pool(1);
    ask(*pool, Change::acquire, "m").get();
    EXPECT_EQ(connections->snapshot(), (ConnectionStatistics{.open = 1, .opened = 1}));
    database->broken = true;
    ask(*pool, Change::guard, "m").get();
    EXPECT_EQ(connections->snapshot(), (ConnectionStatistics{.open = 1, .opened = 2}));
  }
  EXPECT_EQ(connections->snapshot(), (ConnectionStatistics{.open = 0, .opened = 2}));
  database->on_connect = [] { throw Error{ErrorKind::authentication, "wrong password"}; };
  ask(*make_pool(1), Change::acquire, "m").get();
  EXPECT_EQ(connections->snapshot(), (ConnectionStatistics{.open = 0, .opened = 2, .failed = 1}));
}

TEST_F(StatementPoolTest, WhileTheDatabaseIsDownRequestsFailWithoutNewAttempts) {
  database->on_connect = [] { throw Error{ErrorKind::authentication, "wrong password"}; };
  const auto pool = make_pool(1);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(error_in(ask(*pool, Change::acquire, "m").get()).kind(), ErrorKind::authentication);
  }
  EXPECT_LE(database->connects, 3);
}

TEST_F(StatementPoolTest, ThatTheDatabaseIsDownIsLoggedOnce) {
  database->on_connect = [] { throw Error{ErrorKind::authentication, "wrong password"}; };
  {
    const auto pool = make_pool(1);
    for (int i = 0; i < 5; ++i) ask(*pool, Change::acquire, "m").get();
  }
  EXPECT_EQ(log->count(LogLevel::info), 1U);
  EXPECT_EQ(log->count(LogLevel::warn), 0U) << "the mutexes that ask warn of it themselves";
}

TEST_F(StatementPoolTest, AMutexWithoutARowIsAnsweredWithNone) {
  database->on_change = [](Change, std::span<const Ask>) { return std::vector<Row>{}; };
  const auto pool = make_pool();
  EXPECT_FALSE(std::get<0>(ask(*pool, Change::guard, "m").get()));
}

TEST_F(StatementPoolTest, ClosingAnswersAllThatWaitsAndEndsWhatHangs) {
  Barrier barrier{*database, "hanging"};
  auto pool = make_pool(1);
  auto hanging = ask(*pool, Change::guard, "hanging");
  barrier.wait_until_entered();
  auto waiting = ask(*pool, Change::guard, "waiting");
  pool.reset();
  EXPECT_EQ(error_in(waiting.get()).kind(), ErrorKind::unavailable);
  EXPECT_EQ(hanging.get().index(), 0U);
}

TEST_F(StatementPoolTest, ARequestAfterClosingFails) {
  const auto pool = make_pool();
  pool->close();
  EXPECT_THAT(error_in(ask(*pool, Change::guard, "m").get()).what(), HasSubstr("closed"));
}

TEST_F(StatementPoolTest, AHandlerMayDestroyThePool) {
  auto pool = make_pool();
  std::promise<void> destroyed;
  pool->change(Change::acquire, {.mutex = "m", .contender_id = "me", .ttl = 1s, .transition = 1s},
               [&](const Answer&) {
                 pool.reset();
                 destroyed.set_value();
               });
  destroyed.get_future().wait();
}

}  // namespace
}  // namespace simba::sql
