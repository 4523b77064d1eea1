#include <algorithm>
#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mysql/hints/lock_name.hpp"
#include "mysql/statements.hpp"
#include "process/mysql/console.hpp"
#include "simba/testkit/capturing_logger.hpp"
#include "simba/testkit/served_time.hpp"
#include "support/patience.hpp"
#include "support/servers.hpp"

namespace simba::mysql::test {
namespace {

using sql::Change;
using sql::Hint;
using sql::Row;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testkit::ServedTime;

/// A process that waits: a session and a feed of its own.
struct Waiter {
  explicit Waiter(const MySqlOptions& options) : client{options, log} {}

  Hint wait(const std::vector<std::string>& mutexes, std::chrono::milliseconds span) {
    return feed->wait(mutexes, sql::real_now() + span, wakeup);
  }

  /// In rounds, as a store does.
  Hint wait_in_rounds(const std::vector<std::string>& mutexes) {
    const LocalTime until = sql::real_now() + 10s;
    Hint hint;
    while (hint.mutexes.empty() && sql::real_now() < until) hint = wait(mutexes, 100ms);
    return hint;
  }

  const std::shared_ptr<testkit::CapturingLogger> log =
      std::make_shared<testkit::CapturingLogger>();
  sql::Wakeup wakeup;
  Client client;
  std::unique_ptr<sql::Session> session = client.connect();
  std::unique_ptr<sql::ChangeFeed> feed = client.database.make_feed();
};

class MySqlHint : public ::testing::Test {
 protected:
  explicit MySqlHint(const MySqlOptions& own) : options{own} {}
  MySqlHint() : MySqlHint{shared()} {}

  void acquire(const std::string& name) { change(*session, Change::acquire, ask(name, "me")); }

  void release(const std::string& name) {
    const auto rows = session->change(Change::release, std::vector{ask(name, "me")}, soon());
    session->after(Change::release, rows);
  }

  /// Whether somebody waits for it inside the server.
  bool is_waited_for(const std::string& name) {
    return Console{options}.value(fmt::format("SELECT IS_USED_LOCK('{}') IS NOT NULL",
                                              lock_name(options.database, name))) == "1";
  }

  /// Lets it wait until it has begun to do so inside the server.
  void begin_to_wait(Waiter& waiter) {
    ASSERT_TRUE(support::eventually([&] {
      waiter.wait({mutex}, 50ms);
      return is_waited_for(mutex);
    }));
  }

  /// Lets it do so until nobody waits any more.
  void wait_for_nothing(Waiter& waiter) {
    ASSERT_TRUE(support::eventually([&] {
      waiter.wait({}, 20ms);
      return !is_waited_for(mutex);
    }));
  }

  /// Releases as soon as somebody waits inside the server.
  std::thread release_when_waited_for(const std::string& name) {
    return std::thread{[this, name] {
      EXPECT_TRUE(support::eventually([&] { return is_waited_for(name); }));
      std::this_thread::sleep_for(20ms);  // the wait begins where the lock was got
      released_at = time.now();
      release(name);
    }};
  }

  const MySqlOptions options;
  Client client{options};
  std::unique_ptr<sql::Session> session = client.connect();
  std::string mutex = unique("hinted");
  const ServedTime time;
  std::chrono::milliseconds released_at{};
};

TEST_F(MySqlHint, AReleaseReachesTheWaiterAtOnce) {
  Waiter waiter{options};
  std::vector<std::chrono::milliseconds> spans;
  for (int i = 0; i < 5; ++i) {
    wait_for_nothing(waiter);
    acquire(mutex);
    auto releaser = release_when_waited_for(mutex);
    // A wait that runs out, which takes two seconds, gives no hint.
    const Hint hint = waiter.wait_in_rounds({mutex});
    const auto hinted_at = time.now();
    releaser.join();
    EXPECT_THAT(hint.mutexes, ElementsAre(mutex));
    spans.push_back(hinted_at - released_at);
  }
  std::sort(spans.begin(), spans.end());
  EXPECT_LT(spans[spans.size() / 2], support::scaled(100ms));
  EXPECT_LT(spans.back(), support::scaled(1s));
}

TEST_F(MySqlHint, AnAcquisitionEndsTheWaitOfItsOwnProcess) {
  Waiter waiter{options};
  std::thread acquirer{[&] {
    EXPECT_TRUE(support::eventually([&] { return is_waited_for(mutex); }));
    const auto rows =
        waiter.session->change(Change::acquire, std::vector{ask(mutex, "me")}, soon());
    waiter.session->after(Change::acquire, rows);
  }};
  // One that runs out gives no hint.
  EXPECT_THAT(waiter.wait_in_rounds({mutex}).mutexes, ElementsAre(mutex));
  acquirer.join();
  wait_for_nothing(waiter);
}

TEST_F(MySqlHint, TheFirstMutexesHaveHintsAndTheOthersNone) {
  MySqlOptions one = options;
  one.hint_connections = 1;
  Waiter waiter{one};
  acquire(mutex);
  acquire(mutex + "-2");
  auto releaser = release_when_waited_for(mutex);
  release(mutex + "-2");
  EXPECT_THAT(waiter.wait({mutex, mutex + "-2"}, 5s).mutexes, ElementsAre(mutex));
  releaser.join();
}

TEST_F(MySqlHint, WhoeverWaitsSecondIsNextWhenTheFirstHasWaitedEnough) {
  Waiter first{options};
  Waiter second{options};
  begin_to_wait(first);
  second.wait({mutex}, 100ms);
  for (int i = 0; i < 2; ++i) {
    acquire(mutex);
    auto releaser = release_when_waited_for(mutex);
    Waiter& waiter = i == 0 ? first : second;
    EXPECT_THAT(waiter.wait_in_rounds({mutex}).mutexes, ElementsAre(mutex)) << i;
    releaser.join();
    if (i == 0) first.wait({}, 100ms);  // it waits for nothing now
  }
}

TEST_F(MySqlHint, TheWaitEndsAtItsTimeAndWhenWoken) {
  Waiter waiter{options};
  const auto before = sql::real_now();
  EXPECT_LT(ServedTime::taken_by([&] { EXPECT_TRUE(waiter.wait({mutex}, 150ms).mutexes.empty()); }),
            support::scaled(400ms));
  EXPECT_GE(sql::real_now() - before, 150ms);

  std::thread waker{[&] {
    std::this_thread::sleep_for(50ms);
    waiter.wakeup.raise();
  }};
  EXPECT_LT(ServedTime::taken_by([&] { EXPECT_TRUE(waiter.wait({mutex}, 5s).mutexes.empty()); }),
            support::scaled(1s));
  waker.join();
}

TEST_F(MySqlHint, DestroyingAFeedThatWaitsTakesNoTime) {
  auto waiter = std::make_unique<Waiter>(options);
  waiter->wait({mutex}, 200ms);
  EXPECT_LT(ServedTime::taken_by([&] { waiter.reset(); }), support::scaled(100ms));
}

TEST_F(MySqlHint, AWaitGoesOnWithAnotherSessionWhenItsOwnIsGone) {
  Waiter waiter{options};
  begin_to_wait(waiter);
  const auto second = waiter.client.connect();
  waiter.session.reset();
  wait_for_nothing(waiter);
  acquire(mutex);
  auto releaser = release_when_waited_for(mutex);
  EXPECT_THAT(waiter.wait_in_rounds({mutex}).mutexes, ElementsAre(mutex));
  releaser.join();
}

TEST_F(MySqlHint, WithoutASessionTheWaitIsForTheTimeOnly) {
  Waiter waiter{options};
  waiter.session.reset();
  const auto before = sql::real_now();
  EXPECT_TRUE(waiter.wait({mutex}, 150ms).mutexes.empty());
  EXPECT_GE(sql::real_now() - before, 150ms);
  EXPECT_EQ(Console{options}.value(
                fmt::format("SELECT IS_USED_LOCK('{}')", lock_name(options.database, mutex))),
            "null");
}

// With SLEEP() in the place of a lock to wait for, MariaDB stood still for two seconds whenever one
// wait was ended while another began.
TEST_F(MySqlHint, EndingManyWaitsHoldsUpNobody) {
  constexpr int waiters = 16;
  constexpr int rounds = 200;
  Console lasting{options};
  const auto session = std::stoull(lasting.value("SELECT CONNECTION_ID()"));
  lasting.run(statements::lock_session(session));
  std::atomic<int> ended{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < waiters; ++i) {
    threads.emplace_back([&, name = fmt::format("{}-{}", mutex, i)](const std::stop_token& over) {
      Console console{options};
      const std::string wait = statements::wait_for_release(options.database, name, session);
      while (!over.stop_requested()) {
        try {
          if (console.value(wait) == "1") ++ended;
        } catch (const std::runtime_error& error) {
          EXPECT_THAT(error.what(), HasSubstr("interrupted"));
          ++ended;
        }
      }
    });
  }
  Console console{options};
  std::chrono::milliseconds longest{0};
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < waiters; ++i) {
      const auto begun = time.now();
      const std::string waiter =
          console.value(fmt::format("SELECT IS_USED_LOCK('{}')",
                                    lock_name(options.database, fmt::format("{}-{}", mutex, i))));
      if (waiter != "null") console.run(statements::end_wait(std::stoull(waiter)));
      longest = std::max(longest, time.now() - begun);
    }
  }
  threads.clear();
  EXPECT_GT(ended, waiters * rounds / 10);
  EXPECT_LT(longest, 1500ms);
}

TEST_F(MySqlHint, WithoutHintConnectionsOnlyTheSessionConnects) {
  MySqlOptions none = own_user(options, "ALL ON simba.*");
  none.hint_connections = 0;
  Waiter waiter{none};
  EXPECT_TRUE(waiter.wait({mutex}, 200ms).mutexes.empty());
  EXPECT_EQ(Console{options}.value("SELECT COUNT(*) FROM information_schema.processlist WHERE "
                                   "user = '" +
                                   none.user + "'"),
            "1");
}

TEST_F(MySqlHint, AReleaseThatMayNotTellDoesWithout) {
  const MySqlOptions other = own_user(options, "ALL ON simba.*");
  const auto log = std::make_shared<testkit::CapturingLogger>();
  Client stranger{other, log};
  const auto its_session = stranger.connect();
  Waiter waiter{options};
  begin_to_wait(waiter);
  for (int i = 0; i < 2; ++i) {
    change(*its_session, Change::acquire, ask(mutex, "it"));
    const auto rows = its_session->change(Change::release, std::vector{ask(mutex, "it")}, soon());
    EXPECT_EQ(rows.at(0).owner_id, "");
    its_session->after(Change::release, rows);
  }
  EXPECT_TRUE(its_session->usable());
  EXPECT_EQ(log->count("waiters poll: "), 1U) << log->text();
}

int statements_so_far(Console& console) {
  return std::stoi(console.value(
      "SELECT variable_value FROM information_schema.global_status WHERE variable_name = "
      "'Questions'"));
}

TEST(MySqlHints, GoOnWithAnotherSessionWhenTheServerHasEndedTheFirst) {
  const support::MariaDbServer server;
  const MySqlOptions options = options_of(server.location());
  Waiter waiter{options};
  Console console{options};
  const std::string first = console.value(
      "SELECT id FROM information_schema.processlist WHERE user = 'simba' AND id <> "
      "CONNECTION_ID()");
  waiter.wait({"m"}, 100ms);
  console.run("KILL CONNECTION " + first);
  const int before = statements_so_far(console);
  for (int i = 0; i < 15; ++i) waiter.wait({"m"}, 100ms);
  EXPECT_LE(statements_so_far(console) - before, 10) << "there is nothing to wait for";

  const auto second = waiter.client.connect();
  const std::string waits =
      fmt::format("SELECT IS_USED_LOCK('{}') IS NOT NULL", lock_name(options.database, "m"));
  EXPECT_TRUE(support::within(10s, [&] {
    waiter.wait({"m"}, 100ms);
    return console.value(waits) == "1";
  }));
}

TEST(MySqlHints, ComeBackAfterARestartOfTheServerAndSayBothOnce) {
  support::MariaDbServer server;
  const MySqlOptions options = options_of(server.location());
  Waiter waiter{options};
  waiter.wait({"m"}, 300ms);
  server.kill();
  for (int i = 0; i < 15; ++i) waiter.wait({"m"}, 100ms);
  EXPECT_TRUE(support::eventually([&] {
    return waiter.log->count("no notifications of releases for now") == 1;
  })) << waiter.log->text();
  server.start();
  const auto second = waiter.client.connect();  // may have the number that the first one had
  EXPECT_TRUE(support::within(10s, [&] {
    waiter.wait({"m"}, 100ms);
    return waiter.log->contains("notifications of releases work again");
  })) << waiter.log->text();
}

TEST(MySqlHints, CostAFewStatementsASecondAtMost) {
  const support::MariaDbServer server;
  const MySqlOptions options = options_of(server.location());
  Waiter waiter{options};
  std::vector<std::string> mutexes;
  for (int i = 0; i < 1'000; ++i) mutexes.push_back(fmt::format("m-{}", i));
  Console console{options};
  waiter.wait(mutexes, 1s);
  const int before = statements_so_far(console);
  for (int i = 0; i < 30; ++i) waiter.wait(mutexes, 100ms);
  EXPECT_LE(statements_so_far(console) - before, 20);
  for (const char* first : {"m-0", "m-1"}) {
    EXPECT_NE(
        console.value(fmt::format("SELECT IS_USED_LOCK('{}')", lock_name(options.database, first))),
        "null")
        << first;
  }
  EXPECT_EQ(
      console.value("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'simba' "
                    "AND id <> CONNECTION_ID()"),
      "3")
      << "the session and two that wait";
}

}  // namespace
}  // namespace simba::mysql::test
