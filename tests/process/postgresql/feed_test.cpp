#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/postgresql/console.hpp"
#include "simba/testkit/capturing_logger.hpp"
#include "support/patience.hpp"
#include "support/servers.hpp"

namespace simba::postgresql::test {
namespace {

using sql::Change;
using sql::Hint;
using ::testing::Contains;
using ::testing::ElementsAre;

constexpr auto terminate_the_others =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND "
    "pid <> pg_backend_pid()";

class PostgreSqlFeed : public ::testing::Test {
 protected:
  Hint wait(std::chrono::milliseconds span = 10s) {
    return feed->wait({}, sql::real_now() + span, wakeup);
  }

  PostgreSqlOptions options = own_database();
  std::shared_ptr<testkit::CapturingLogger> log = std::make_shared<testkit::CapturingLogger>();
  Client client{options, log};
  std::unique_ptr<sql::Session> session = client.connect();
  std::unique_ptr<sql::ChangeFeed> feed = client.database.make_feed();
  sql::Wakeup wakeup;
};

TEST_F(PostgreSqlFeed, HintsAtEverythingFirstAndThenAtEachChangeOfOwner) {
  EXPECT_TRUE(wait().all);
  const std::string name = "it's \"m\" \\ \xF0\x9F\xA6\x81";
  change(*session, Change::acquire, ask(name, "me"));
  EXPECT_THAT(wait().mutexes, ElementsAre(name));
  change(*session, Change::release, ask(name, "me"));
  EXPECT_THAT(wait().mutexes, ElementsAre(name));
  change(*session, Change::acquire, ask(name, "other"));
  EXPECT_THAT(wait().mutexes, ElementsAre(name));
}

TEST_F(PostgreSqlFeed, SaysNothingOfRenewalsRefusalsAndLooks) {
  change(*session, Change::acquire, ask("m", "me"));
  EXPECT_TRUE(wait().all);
  change(*session, Change::acquire, ask("m", "me"));
  change(*session, Change::guard, ask("m", "me"));
  change(*session, Change::acquire, ask("m", "other"));
  change(*session, Change::release, ask("m", "other"));
  session->look(std::vector<std::string>{"m"}, soon());
  change(*session, Change::acquire, ask("last", "me"));
  EXPECT_THAT(wait().mutexes, ElementsAre("last"));
}

TEST_F(PostgreSqlFeed, ConnectsAnewAndHintsAtEverythingAndTellsOnce) {
  EXPECT_TRUE(wait().all);
  for (int i = 0; i < 2; ++i) {
    Console{options}.run(terminate_the_others);
    ASSERT_TRUE(support::eventually([&] { return wait(50ms).all; }));
  }
  EXPECT_EQ(log->count(LogLevel::warn), 2U);
  EXPECT_EQ(log->count(LogLevel::info), 2U);
}

/// Whether this thread of ours waits for something.
bool sleeps(pid_t thread) {
  std::ifstream stream{fmt::format("/proc/self/task/{}/stat", thread)};
  const std::string text{std::istreambuf_iterator<char>{stream}, {}};
  return text.find(") S ") != std::string::npos;
}

TEST_F(PostgreSqlFeed, EndsItsWaitAtTheWakeupAndInTime) {
  EXPECT_TRUE(wait().all);
  const LocalTime start = sql::real_now();
  EXPECT_FALSE(wait(50ms).all);
  EXPECT_GE(sql::real_now() - start, 50ms);
  const pid_t waiting = ::gettid();
  std::jthread waker{[&] {
    EXPECT_TRUE(support::eventually([&] { return sleeps(waiting); }));
    wakeup.raise();
  }};
  EXPECT_TRUE(wait(60s).mutexes.empty());
  EXPECT_LT(sql::real_now() - start, 30s);
}

TEST_F(PostgreSqlFeed, WithoutListenOnlyWaits) {
  options.listen = Listen::no;
  Client silent{options};
  feed = silent.database.make_feed();
  const LocalTime start = sql::real_now();
  EXPECT_FALSE(wait(30ms).all);
  EXPECT_GE(sql::real_now() - start, 30ms);
}

TEST(PostgreSqlFeedOfAServer, ThatIsDownOrSilentWaitsAndTellsOnceAndComesBack) {
  support::PostgreSqlServer server;
  PostgreSqlOptions options = options_of(server.location());
  options.sql.connect_timeout = 200ms;
  const auto log = std::make_shared<testkit::CapturingLogger>();
  Client client{options, log};
  const auto feed = client.database.make_feed();
  sql::Wakeup wakeup;
  const auto wait = [&](std::chrono::milliseconds span) {
    const LocalTime start = sql::real_now();
    const Hint hint = feed->wait({}, start + span, wakeup);
    EXPECT_TRUE(hint.all || sql::real_now() - start < span + 1s);
    return hint.all;
  };

  server.stop();
  EXPECT_FALSE(wait(600ms));
  server.start();
  EXPECT_TRUE(support::eventually([&] { return wait(20ms); }));
  EXPECT_EQ(log->count(LogLevel::warn), 1U);

  server.stop();
  EXPECT_FALSE(wait(300ms));
  server.start();
  server.pause();
  EXPECT_FALSE(wait(600ms));
  server.resume();
  EXPECT_TRUE(support::eventually([&] { return wait(20ms); }));
  EXPECT_EQ(log->count(LogLevel::warn), 2U);
}

}  // namespace
}  // namespace simba::postgresql::test
