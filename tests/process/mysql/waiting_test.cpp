#include <algorithm>

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/mysql/console.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "simba/testkit/served_time.hpp"
#include "support/patience.hpp"
#include "support/servers.hpp"

// What those that wait do to the server.
namespace simba::mysql::test {
namespace {

/// Contenders that wait for what others own, from one factory.
class Waiters {
 public:
  Waiters(const MySqlOptions& options, int count) : factory_{make_mysql_factory(options)} {
    Client{options}.connect();  // makes the table
    std::string rows;
    for (int i = 0; i < count; ++i) {
      rows += fmt::format("{}('waited-{}',0,4102444800000,4102444800000,'another',1)",
                          i == 0 ? "" : ",", i);
    }
    Console{options}.run("INSERT INTO simba_mutex VALUES " + rows);
    for (int i = 0; i < count; ++i) {
      const std::string name = fmt::format("waited-{}", i);
      contenders_.push_back(std::make_unique<testkit::RecordingContender>(name));
      services_.push_back(factory_->create_mutex_contend_service(*contenders_.back()));
      services_.back()->start();
    }
  }

  bool owns(std::size_t index) const { return services_.at(index)->is_owner(); }

 private:
  std::unique_ptr<MutexServiceFactory> factory_;
  std::vector<std::unique_ptr<testkit::RecordingContender>> contenders_;
  std::vector<std::unique_ptr<MutexContendService>> services_;
};

/// What the server was asked, from the moment on that this is made.
class StatementLog {
 public:
  explicit StatementLog(const MySqlOptions& options) : console_{options} {
    console_.run("SET GLOBAL log_output='TABLE', GLOBAL general_log=1");
  }

  void clear() { console_.run("TRUNCATE mysql.general_log"); }

  int count(const std::string& condition) { return std::stoi(value("COUNT(*)", condition)); }

  std::string value(const std::string& what, const std::string& condition) {
    return console_.value("SELECT " + what +
                          " FROM mysql.general_log WHERE argument NOT LIKE '%general_log%' AND " +
                          condition);
  }

  /// How many looks a second there were, once they have lasted for a while; 0: not yet. All from
  /// one statement: looks go on meanwhile.
  int looks_a_second() {
    const std::string span = "TIMESTAMPDIFF(MICROSECOND,MIN(event_time),MAX(event_time))";
    const std::string rate = "IF(" + span + ">3000000,CEIL((COUNT(*)-1)*1e6/" + span + "),0)";
    return std::stoi(value(rate, look));
  }

  static constexpr const char* look = "argument LIKE 'SELECT mutex,owner_id%mutex IN %'";

 private:
  Console console_;
};

TEST(MySqlWaiting, NeitherKillsNorLocksAnythingByName) {
  const support::MariaDbServer server;
  const MySqlOptions options = options_of(server.location());
  StatementLog log{options};
  const auto factory = make_mysql_factory(options);
  SimbaLocker owner{"m", *factory};
  owner.acquire(10s);
  const auto other = make_mysql_factory(options);
  testkit::RecordingContender contender{"m"};
  const auto service = other->create_mutex_contend_service(contender);
  service->start();
  EXPECT_TRUE(support::eventually([&] { return log.count(StatementLog::look) > 2; }));
  owner.close();
  EXPECT_TRUE(support::eventually([&] { return service->is_owner(); }));
  EXPECT_EQ(log.count("argument RLIKE 'KILL|_LOCK[(]|SLEEP[(]'"), 0);
}

TEST(MySqlWaiting, TakesTheConnectionsOfThePoolAndTenLooksASecond) {
  const support::MariaDbServer server;
  const MySqlOptions options = options_of(server.location());
  const Waiters waiters{options, 20};
  StatementLog log{options};
  int a_second = 0;
  ASSERT_TRUE(support::eventually([&] { return (a_second = log.looks_a_second()) > 0; }));
  EXPECT_LE(a_second, 12);
  EXPECT_LE(
      log.count("argument LIKE '%simba_mutex%' AND NOT (" + std::string{StatementLog::look} + ")"),
      20)
      << "those that wait try again now and then, by the lease";
  EXPECT_LE(std::stoi(log.value("COUNT(DISTINCT thread_id)", StatementLog::look)), 2);
}

/// A name or contender id as it is written in statements.
std::string bytes_of(const std::string& text) {
  return fmt::format("{:02x}", fmt::join(std::vector<unsigned char>{text.begin(), text.end()}, ""));
}

// An attempt at the end of each lease that was known of would cost more than all looks together.
TEST(MySqlWaiting, AWaiterDoesNotAskWhileTheOwnerRenews) {
  const support::MariaDbServer server;
  MySqlOptions options = options_of(server.location());
  options.sql.contention.ttl = support::scaled_lease(1s);
  options.sql.contention.transition = support::scaled_lease(4s);
  const auto factory = make_mysql_factory(options);
  SimbaLocker owner{"m", *factory};
  owner.acquire(10s);
  StatementLog log{options};
  const auto other = make_mysql_factory(options);
  testkit::RecordingContender contender{"m", "waiter"};
  const auto service = other->create_mutex_contend_service(contender);
  service->start();
  const std::string attempt = "argument LIKE '%" + bytes_of("waiter") + "%'";
  ASSERT_TRUE(support::eventually([&] { return log.count(attempt) > 0; }));
  ASSERT_TRUE(support::eventually([&] { return log.count(StatementLog::look) > 0; }));
  log.clear();
  Console console{options};
  const auto version = [&] {
    return std::stoull(console.value("SELECT version FROM simba_mutex WHERE mutex='m'"));
  };
  const auto before = version();
  // Ten renewals take longer than a lease.
  ASSERT_TRUE(support::eventually([&] { return version() >= before + 10; }));
  EXPECT_EQ(log.count(attempt), 0);
  owner.close();
  EXPECT_TRUE(support::eventually([&] { return service->is_owner(); }));
}

// The cost of a look grows with its names: what 2 % of a core pays for is 250 of them, ten times a
// second.
TEST(MySqlWaiting, ForTwoThousandMutexesLooksAtNoMoreThanForAFew) {
  const support::MariaDbServer server;
  MySqlOptions options = options_of(server.location());
  options.sql.contention.ttl = 1h;  // so that nobody tries again meanwhile
  constexpr int count = 2'000;
  const Waiters waiters{options, count};
  StatementLog log{options};
  // Each looks once for itself when it comes; then there are rounds alone.
  int a_second = 0;
  ASSERT_TRUE(support::eventually([&] {
    log.clear();
    return support::eventually([&] { return (a_second = log.looks_a_second()) > 0; }) &&
           log.value("COUNT(DISTINCT argument)", StatementLog::look) == std::to_string(count / 250);
  }));
  EXPECT_LE(a_second, 12);
  const std::string names = "(LENGTH(argument)-LENGTH(REPLACE(argument,'x\\'','')))/2";
  EXPECT_EQ(std::stod(log.value("MAX(" + names + ")", StatementLog::look)), 250);
  EXPECT_EQ(std::stod(log.value("MIN(" + names + ")", StatementLog::look)), 250);
}

TEST(MySqlWaiting, AReleaseByAnotherProcessIsNoticedAtTheNextLook) {
  const support::MariaDbServer server;
  const MySqlOptions options = options_of(server.location());
  const Waiters waiters{options, 5};
  Console console{options};
  std::vector<std::chrono::nanoseconds> spans;
  for (std::size_t i = 0; i < 5; ++i) {
    console.run(
        fmt::format("UPDATE simba_mutex SET acquired_at=0,ttl_at=0,transition_at=0,"
                    "owner_id='',version=version+1 WHERE mutex='waited-{}'",
                    i));
    spans.push_back(testkit::ServedTime::taken_by(
        [&] { ASSERT_TRUE(support::eventually([&] { return waiters.owns(i); })); }));
  }
  std::sort(spans.begin(), spans.end());
  EXPECT_LT(spans[2], support::scaled(200ms));
}

/// Somebody has locked the table, as ALTER TABLE and FLUSH TABLES WITH READ LOCK do.
TEST(MySqlWaiting, ForALockedTableTakesNoMoreConnectionsThanThePoolHas) {
  const MySqlOptions owner = own_database();
  Client{owner}.connect();  // makes the table
  MySqlOptions options = own_user(owner, fmt::format("ALL ON {}.*", owner.database));
  options.sql.statement_timeout = 300ms;  // shorter than any time the server can be told to wait
  const auto factory = make_mysql_factory(options);
  testkit::RecordingContender contender{"m"};
  const auto service = factory->create_mutex_contend_service(contender);
  Console locker{owner};
  locker.run("LOCK TABLES simba_mutex WRITE");
  service->start();
  Console console{owner};
  const auto connections = [&] {
    return std::stoi(console.value(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE user = '" + options.user + "'"));
  };
  EXPECT_TRUE(support::eventually([&] { return connections() == 2; }));
  EXPECT_FALSE(support::within(5s, [&] { return connections() > 2; }));
  locker.run("UNLOCK TABLES");
  EXPECT_TRUE(support::within(5s, [&] { return service->is_owner(); }));
}

TEST(MySqlWaiting, ForALockedTableTheServerGivesUpBeforeTheClient) {
  const MySqlOptions options = own_database();
  Client client{options};
  const auto session = client.connect();
  Console locker{options};
  locker.run("LOCK TABLES simba_mutex WRITE");
  const Error error = error_of([&] { change(*session, sql::Change::acquire, ask("m", "me")); });
  EXPECT_EQ(error.kind(), ErrorKind::unavailable) << error.what();
  EXPECT_THAT(error.what(), ::testing::HasSubstr("error 1205"));
  EXPECT_TRUE(session->usable());
}

}  // namespace
}  // namespace simba::mysql::test
