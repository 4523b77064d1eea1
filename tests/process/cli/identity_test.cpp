// What the command does when another process uses its contender id.
#include <chrono>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/cli/fixture.hpp"
#include "support/safety.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using support::CliProgram;
using testing::HasSubstr;

struct CliIdentity : support::CliTest {
  /// Takes the mutex over under the id "twin", as another store would let another process do. The
  /// owner lives as long as `thief`.
  void take_over() const { thief->acquire("m", "twin", 60s, 60s); }

  static Words as_twin(Words options = {}) {
    options = with_short_lease(options);
    options.insert(options.end(), {"--id", "twin"});
    return options;
  }

  void expect_loud_end(CliProgram& program) const {
    EXPECT_EQ(program.wait(), 78) << program.err();
    EXPECT_THAT(program.err(), HasSubstr("contender id [twin] is also used by another process"));
    EXPECT_EQ(owner(), "twin") << "it has released what is not its own";
  }

  const std::unique_ptr<sql::MutexOwnerRepository> thief =
      sqlite::make_sqlite_repository({.path = database});
};

TEST_F(CliIdentity, ASecondRunWithTheSameIdNeverRunsItsCommand) {
  CliProgram first{script("echo runs; while :; do sleep 0.01; done", as_twin())};
  ASSERT_TRUE(first.says("runs"));
  CliProgram second{script("echo runs", as_twin())};
  EXPECT_EQ(second.wait(), 78) << second.err();
  EXPECT_EQ(second.out(), "") << (HasFailure() ? "" : support::safety_violation) << "two owners";
  EXPECT_THAT(second.err(), HasSubstr("contender id [twin] is also used by another process"));
  EXPECT_EQ(owner(), "twin");
}

TEST_F(CliIdentity, ASecondRunWithTheSameIdThatWaitsNoLongerNamesTheOwner) {
  CliProgram first{script("echo runs; while :; do sleep 0.01; done", {"--id", "twin"})};
  ASSERT_TRUE(first.says("runs"));
  CliProgram second{script("echo runs", {"--id", "twin", "--timeout", "1s"})};
  EXPECT_EQ(second.wait(), 75) << second.err();
  EXPECT_EQ(second.out(), "") << (HasFailure() ? "" : support::safety_violation) << "two owners";
  EXPECT_THAT(second.err(), HasSubstr("held under this contender id [twin]"));
  EXPECT_THAT(second.err(), HasSubstr("not acquired within 1 s; owned by twin"));
}

TEST_F(CliIdentity, ASecondRunWithTheSameIdThatAsksOnceSaysWhoHoldsIt) {
  CliProgram first{script("echo runs; while :; do sleep 0.01; done", {"--id", "twin"})};
  ASSERT_TRUE(first.says("runs"));
  CliProgram second{script("echo runs", {"--id", "twin", "--timeout", "0"})};
  EXPECT_EQ(second.wait(), 75) << second.err();
  EXPECT_THAT(second.err(), HasSubstr("held under this contender id [twin]"));
}

TEST_F(CliIdentity, ASecondRunWithTheSameIdWaitsUntilThatIsProven) {
  // That takes one and a half leases: longer than a store that does not answer is tried.
  const Words options{"--ttl", "3s", "--transition", "1s", "--id", "twin"};
  CliProgram first{script("echo runs; while :; do sleep 0.01; done", options)};
  ASSERT_TRUE(first.says("runs"));
  CliProgram second{script("echo runs", options)};
  EXPECT_EQ(second.wait(), 78) << second.err();
  EXPECT_THAT(second.err(), HasSubstr("contender id [twin] is also used by another process"));
}

TEST_F(CliIdentity, ARunThatIsTakenOverEndsItsCommandAndSaysWhy) {
  CliProgram program{script("echo runs; while :; do sleep 0.01; done", as_twin())};
  ASSERT_TRUE(program.says("runs"));
  take_over();
  expect_loud_end(program);
  EXPECT_THAT(program.err(), HasSubstr("mutex \"m\" lost; terminating CMD"));
}

TEST_F(CliIdentity, ACandidateThatIsTakenOverEndsInsteadOfTakingTurns) {
  CliProgram program{line("elect", as_twin())};
  ASSERT_TRUE(program.says("leading"));
  take_over();
  expect_loud_end(program);
}

TEST_F(CliIdentity, ACandidateThatIsTakenOverWhileItsLastHookRunsSaysSoToo) {
  CliProgram program{line("elect", as_twin({"--on-released", "echo hook; exec sleep 600"}))};
  ASSERT_TRUE(program.says("leading"));
  program.signal(SIGTERM);
  ASSERT_TRUE(program.says("hook"));
  take_over();
  expect_loud_end(program);
}

TEST_F(CliIdentity, AScheduleThatIsTakenOverWhileItsCommandEndsSaysSoToo) {
  Words words = line("schedule", as_twin({"--every", "1h"}));
  words.insert(words.end(), {"--", "sh", "-c",
                             "trap 'echo ending; sleep 600' TERM; echo runs; "
                             "while :; do sleep 0.01; done"});
  CliProgram program{words};
  ASSERT_TRUE(program.says("runs"));
  program.signal(SIGTERM);
  ASSERT_TRUE(program.says("ending"));
  take_over();
  expect_loud_end(program);
}

TEST_F(CliIdentity, AScheduleThatIsTakenOverEndsInsteadOfTakingTurns) {
  Words words = line("schedule", as_twin({"--every", "10ms"}));
  words.insert(words.end(), {"--", "echo", "runs"});
  CliProgram program{words};
  ASSERT_TRUE(program.says("runs"));
  take_over();
  expect_loud_end(program);
}

}  // namespace
}  // namespace simba
