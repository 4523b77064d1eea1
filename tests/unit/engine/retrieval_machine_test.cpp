#include "engine/retrieval_machine.hpp"

#include <gtest/gtest.h>

#include "simba/core/random.hpp"

namespace simba::engine {
namespace {

using namespace std::chrono_literals;

class RetrievalMachineTest : public testing::Test {
 protected:
  RetrievalActions step(const RetrievalEvent& event) { return machine_.step(event, now_); }
  RetrievalActions tick_at_wake() {
    now_ = machine_.wake_at();
    return step(Tick{});
  }
  RetrievalActions answer(const Look& look, LeaseAnswer answer) {
    return step(Looked{.look = look, .answer = std::move(answer)});
  }
  RetrievalActions notice(std::optional<LeaseRecord> record = std::nullopt) {
    return step(Noticed{.notice = Notice{.record = std::move(record)}});
  }
  Look started() { return step(Start{}).look.value(); }

  static LeaseRecord held(const std::string& owner) {
    LeaseRecord record;
    record.owner_id = owner;
    record.ttl_left = 10s;
    record.transition_left = 16s;
    return record;
  }

  std::shared_ptr<const ContentionPlan> plan_ =
      std::make_shared<const ContentionPlan>(ContentionOptions{});
  RetrievalMachine machine_{plan_, make_seeded_random(1)};
  LocalTime now_{1'000s};
};

TEST_F(RetrievalMachineTest, LooksAtOnceWhenStartedAndSaysWhoOwns) {
  const RetrievalActions actions = answer(started(), held("a"));
  ASSERT_TRUE(actions.observed);
  EXPECT_EQ(actions.observed->owner_id, "a");
  EXPECT_FALSE(actions.look);
}

TEST_F(RetrievalMachineTest, LooksAgainWhenTheLeaseOfTheOwnerMustHaveEnded) {
  answer(started(), held("a"));
  EXPECT_EQ(machine_.wake_at(), now_ + 16s + plan_->retry_min);
  EXPECT_TRUE(tick_at_wake().look);
}

// As Redis tells of an owner from the JVM library after its clock stepped back by an hour.
TEST_F(RetrievalMachineTest, ALeaseThatEndsInAnHourIsLookedAtAgainAfterOneLeaseOfThePlan) {
  LeaseRecord record = held("jvm");
  record.ttl_left = record.transition_left = 1h;
  answer(started(), record);
  EXPECT_EQ(machine_.wake_at(), now_ + plan_->lease() + plan_->retry_min);
  const RetrievalActions actions = answer(tick_at_wake().look.value(), LeaseRecord{});
  EXPECT_EQ(actions.observed.value().owner_id, "");
}

TEST_F(RetrievalMachineTest, LooksNowAndThenWhileNobodyOwns) {
  answer(started(), LeaseRecord{});
  EXPECT_EQ(machine_.wake_at(), now_ + plan_->observe_interval);
}

TEST_F(RetrievalMachineTest, LooksAtOnceOnAHintWithoutARecord) {
  answer(started(), held("a"));
  EXPECT_TRUE(notice().look);
}

TEST_F(RetrievalMachineTest, ShowsEveryRecordThatANoticeBrings) {
  answer(started(), held("a"));
  EXPECT_EQ(notice(held("b")).observed->owner_id, "b");
  EXPECT_EQ(notice(LeaseRecord{}).observed->owner_id, "");
}

TEST_F(RetrievalMachineTest, AnAnswerThatANoticeHasOvertakenIsNotShownAndLookedUpAgain) {
  const Look look = started();
  EXPECT_EQ(notice(held("b")).observed->owner_id, "b");
  const RetrievalActions actions = answer(look, held("a"));
  EXPECT_FALSE(actions.observed);
  EXPECT_TRUE(actions.look);
}

TEST_F(RetrievalMachineTest, RetriesAfterAnError) {
  const RetrievalActions actions = answer(started(), Error{ErrorKind::unavailable, "down"});
  EXPECT_TRUE(actions.failed);
  EXPECT_LE(machine_.wake_at(), now_ + plan_->retry_max);
  EXPECT_TRUE(tick_at_wake().look);
}

TEST_F(RetrievalMachineTest, RetriesSlowlyWhereTheStoreRefusesUsForGood) {
  answer(started(), Error{ErrorKind::permission, "no"});
  EXPECT_EQ(machine_.wake_at(), now_ + plan_->retry_refused);
}

TEST_F(RetrievalMachineTest, ALookWithoutAnAnswerTimesOutAndItsLateAnswerIsIgnored) {
  const Look look = started();
  const RetrievalActions actions = tick_at_wake();
  ASSERT_TRUE(actions.failed);
  EXPECT_EQ(actions.failed->kind(), ErrorKind::timeout);
  EXPECT_FALSE(answer(look, held("a")).observed);
}

TEST_F(RetrievalMachineTest, DoesNothingAfterTheStop) {
  const Look look = started();
  step(Stop{});
  EXPECT_EQ(machine_.wake_at(), never);
  EXPECT_FALSE(answer(look, held("a")).observed);
  EXPECT_FALSE(notice(held("b")).observed);
  EXPECT_FALSE(notice().look);
}

}  // namespace
}  // namespace simba::engine
