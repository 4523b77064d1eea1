#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/mysql/console.hpp"
#include "process/mysql/jvm_contender.hpp"
#include "simba/testkit/capturing_logger.hpp"
#include "support/safety.hpp"

namespace simba::mysql::test {
namespace {

using sql::Change;
using sql::Row;
using ::testing::HasSubstr;

class MySqlBesideJvm : public ::testing::Test {
 protected:
  MySqlBesideJvm() { make_jvm_table(console); }

  Row acquire(const std::string& mutex, const std::string& id) {
    return change(*session, Change::acquire, ask(mutex, id));
  }

  const MySqlOptions options = own_database();
  Console console{options};
  JvmContender jvm{options, "0:1@10.0.0.1"};
  const std::shared_ptr<testkit::CapturingLogger> log =
      std::make_shared<testkit::CapturingLogger>();
  Client client{options, log};
  std::unique_ptr<sql::Session> session;

  void SetUp() override { session = client.connect(); }
};

TEST_F(MySqlBesideJvm, EachExcludesTheOther) {
  ASSERT_TRUE(jvm.acquire("m"));
  const Row theirs = acquire("m", "me");
  EXPECT_EQ(theirs.owner_id, "0:1@10.0.0.1");
  EXPECT_GT(theirs.transition_at, theirs.now);
  EXPECT_LE(theirs.transition_at, theirs.now + 16'000);
  EXPECT_TRUE(jvm.acquire("m"));  // renews
  EXPECT_TRUE(jvm.release("m"));

  const Row mine = acquire("m", "me");
  EXPECT_EQ(mine.owner_id, "me");
  EXPECT_EQ(mine.version, 4U);
  EXPECT_FALSE(jvm.acquire("m")) << support::safety_violation;
  EXPECT_FALSE(jvm.release("m")) << support::safety_violation;
  EXPECT_EQ(change(*session, Change::guard, ask("m", "me")).version, 5U);
  change(*session, Change::release, ask("m", "me"));
  EXPECT_TRUE(jvm.acquire("m"));
}

TEST_F(MySqlBesideJvm, EachTakesOverWhenTheLeaseOfTheOtherIsOver) {
  ASSERT_TRUE(jvm.acquire("m", 50, 50));
  while (acquire("m", "me").owner_id != "me") {
  }
  EXPECT_FALSE(jvm.acquire("m"));
  console.run("UPDATE simba_mutex SET ttl_at = 1, transition_at = 2");
  EXPECT_TRUE(jvm.acquire("m"));
  EXPECT_EQ(change(*session, Change::guard, ask("m", "me")).owner_id, "0:1@10.0.0.1");
}

TEST_F(MySqlBesideJvm, AVersionThatItWillNotReadForLongIsLoggedOncePerMutex) {
  const std::string warning = "the JVM library reads versions up to 2147483647 only";
  console.run("INSERT INTO simba_mutex VALUES ('m',0,0,0,'',1073741822),('n',0,0,0,'',2147483647)");
  ASSERT_EQ(acquire("m", "me").version, 1'073'741'823U);
  EXPECT_EQ(log->count(warning), 0U) << log->text();
  ASSERT_EQ(change(*session, Change::guard, ask("m", "me")).version, 1'073'741'824U);
  EXPECT_EQ(log->count("mutex \"m\" has version 1073741824"), 1U) << log->text();
  change(*session, Change::guard, ask("m", "me"));
  change(*client.connect(), Change::guard, ask("m", "me"));
  EXPECT_EQ(log->count(warning), 1U) << log->text();
  acquire("n", "me");
  EXPECT_EQ(log->count("mutex \"n\" has version 2147483648; the JVM library reads versions up to "
                       "2147483647 only: it can no longer read this one"),
            1U)
      << log->text();
}

// One that waits, and hangs before its COMMIT, keeps the owner from renewing. So the owner steps
// down in time, as it does while it is cut off; nobody else gets in, either.
TEST_F(MySqlBesideJvm, OneThatHangsBeforeItsCommitKeepsOursFromRenewing) {
  ASSERT_EQ(acquire("m", "me").owner_id, "me");
  auto limited = options;
  limited.sql.statement_timeout = 1s;
  Client other{limited, log};
  const auto owner = other.connect();
  ASSERT_FALSE(jvm.begin_acquire("m"));

  const Error error =
      error_of([&] { owner->change(Change::guard, std::vector{ask("m", "me")}, soon()); });
  EXPECT_TRUE(error.is_transient()) << error.what();

  jvm.commit();
  EXPECT_EQ(change(*owner, Change::guard, ask("m", "me")).owner_id, "me");
}

TEST_F(MySqlBesideJvm, IdsThatTheCollationTakesForEachOtherAreNotTheSameOwner) {
  const Row mine = acquire("m", "owner");
  for (const char* other : {"OWNER", "owner ", "\xC3\xB6wner"}) {
    EXPECT_EQ(acquire("m", other).version, mine.version) << other;
    EXPECT_EQ(change(*session, Change::guard, ask("m", other)).version, mine.version) << other;
    EXPECT_EQ(change(*session, Change::release, ask("m", other)).owner_id, "owner") << other;
  }
}

TEST_F(MySqlBesideJvm, ANameThatTheCollationTakesForAnotherIsRefusedByName) {
  acquire("job", "me");
  for (const char* other : {"JOB", "job ",
                            "j\xC3\xB6"
                            "b"}) {
    const Error error = error_of([&] { acquire(other, "me"); });
    EXPECT_EQ(error.kind(), ErrorKind::configuration) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(fmt::format("\"{}\" from \"job\"", other)));
    EXPECT_THAT(error.what(), HasSubstr("utf8mb4_nopad_bin"));
    EXPECT_THAT(error.what(), HasSubstr("utf8mb4_general_ci"));
    EXPECT_EQ(error_of([&] { session->init(other, soon()); }).kind(), ErrorKind::configuration);
    EXPECT_TRUE(session->look(std::vector<std::string>{other}, soon()).empty());
    EXPECT_TRUE(session->change(Change::guard, std::vector{ask(other, "me")}, soon()).empty());
    EXPECT_TRUE(session->change(Change::release, std::vector{ask(other, "me")}, soon()).empty());
  }
  EXPECT_EQ(session->look(std::vector<std::string>{"job"}, soon()).at(0).version, 1U);
}

TEST_F(MySqlBesideJvm, TheOtherNameCannotSteerATerminal) {
  console.run(
      "ALTER TABLE simba_mutex CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci");
  acquire("j\x1bob", "me");
  const Error error = error_of([&] { acquire("job", "me"); });
  EXPECT_THAT(error.what(), HasSubstr("\"job\" from \"j\\x1bob\" because"));
}

TEST_F(MySqlBesideJvm, SuchANameDoesNotStopThoseThatGoWithIt) {
  const std::vector asks{ask("JOB", "me"), ask("job", "you"), ask("other", "me")};
  const auto rows = session->change(Change::acquire, asks, soon());
  ASSERT_EQ(rows.size(), 3U);
  std::size_t refused = 0;  // one of the first two got the row
  for (const sql::Row& row : rows) {
    if (!row.problem) continue;
    ++refused;
    EXPECT_EQ(row.problem->kind(), ErrorKind::configuration);
    EXPECT_THAT(row.problem->what(), HasSubstr("cannot tell mutex name"));
    EXPECT_NE(row.mutex, "other");
  }
  EXPECT_EQ(refused, 1U);
}

TEST_F(MySqlBesideJvm, ATableOfOlderCharactersHoldsTheNamesThatItCan) {
  console.run("ALTER TABLE simba_mutex CONVERT TO CHARACTER SET latin1 COLLATE latin1_general_cs");
  EXPECT_EQ(acquire("schlo\xC3\x9F", "gr\xC3\xBC\xC3\x9F").owner_id, "gr\xC3\xBC\xC3\x9F");
  EXPECT_EQ(acquire("schlo\xC3\x9F", "gr\xC3\xBC\xC3\x9F").version, 2U);
  EXPECT_EQ(error_of([&] { acquire("\xF0\x9F\x94\x92", "me"); }).kind(), ErrorKind::configuration);
  EXPECT_EQ(error_of([&] { acquire("m", "\xF0\x9F\x94\x92"); }).kind(), ErrorKind::configuration);
}

}  // namespace
}  // namespace simba::mysql::test
