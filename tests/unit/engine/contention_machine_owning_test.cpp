#include "machine_driver.hpp"

namespace simba::engine {
namespace {

using Phase = ContentionMachine::Phase;

TEST(ContentionMachineOwning, RenewsWellBeforeTheTtlHasPassed) {
  MachineDriver driver;
  const LocalTime sent_at = driver.now();
  driver.own();
  EXPECT_EQ(driver.machine().wake_at(), sent_at + 5s);
  driver.renewing();
}

TEST(ContentionMachineOwning, RenewsNoLaterThanTheTtlWhateverIsConfigured) {
  auto options = MachineDriver::plain_options();
  options.renew_at_percent = 100;
  MachineDriver driver{options};
  const LocalTime sent_at = driver.now();
  driver.own();
  EXPECT_EQ(driver.machine().wake_at(), sent_at + 10s);
}

TEST(ContentionMachineOwning, MovesRenewalsForwardToACommonGrid) {
  auto options = MachineDriver::plain_options();
  options.renew_grid = 500ms;
  MachineDriver driver{options, AfterLoss::contend_again, 100ms};
  driver.pass(123ms);
  const LocalTime sent_at = driver.now();
  driver.own();
  const LocalTime due = driver.machine().wake_at();
  EXPECT_LE(due, sent_at + 5s);
  EXPECT_GT(due, sent_at + 4'500ms);
  EXPECT_EQ((due.time_since_epoch() + 100ms) % 500ms, 0ns);
}

TEST(ContentionMachineOwning, ARenewalMovesTheDeadlineCountedFromItsSending) {
  MachineDriver driver;
  driver.own(3);
  const Request guard = driver.renewing();
  driver.pass(1s);
  const Actions actions = driver.answer(guard, driver.mine(3));
  ASSERT_TRUE(actions.renewed);
  EXPECT_EQ(driver.machine().owned_until(), guard.sent_at + 15'500ms);
  EXPECT_EQ(driver.machine().wake_at(), guard.sent_at + 5s);
}

TEST(ContentionMachineOwning, TheFencingTokenOfTheContenderStaysWhenTheStoreRaisesIt) {
  MachineDriver driver;
  driver.own(3);
  const Actions actions = driver.answer(driver.renewing(), driver.mine(4));
  ASSERT_TRUE(actions.renewed);
  EXPECT_EQ(actions.renewed->fencing_token, 3U);
}

TEST(ContentionMachineOwning, AFailedRenewalIsUnknownAndNotLost) {
  MachineDriver driver;
  driver.own();
  const LocalTime deadline = driver.machine().owned_until();
  const Actions actions = driver.answer(driver.renewing(), MachineDriver::unavailable());
  const auto* failed = find_event<RenewalFailed>(actions);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->lease_left, deadline - driver.now());
  EXPECT_EQ(driver.phase(), Phase::owning);
  EXPECT_EQ(driver.machine().owned_until(), deadline);
  EXPECT_LE(driver.machine().wake_at(), driver.now() + 100ms);
  EXPECT_TRUE(driver.answer(driver.renewing(), driver.mine(1)).renewed);
}

TEST(ContentionMachineOwning, ErrorsThatDoNotPassAreStillRetriedQuicklyWhileTheLeaseLasts) {
  MachineDriver driver;
  driver.own();
  driver.answer(driver.renewing(), Error{ErrorKind::permission, "no"});
  EXPECT_LE(driver.machine().wake_at(), driver.now() + 1s);
}

TEST(ContentionMachineOwning, SeveralRetriesFitIntoTheLeaseWhenNothingAnswers) {
  MachineDriver driver;
  driver.own();
  int renewals = 0;
  while (driver.phase() == Phase::owning) {
    const Actions actions = driver.tick_at_wake();
    if (actions.send && actions.send->kind == Request::Kind::guard) ++renewals;
  }
  EXPECT_GE(renewals, 4);
}

TEST(ContentionMachineOwning, AnAnswerThatOutlastedItsTimeoutStillRenews) {
  MachineDriver driver;
  driver.own();
  const Request guard = driver.renewing();
  driver.tick_at_wake();
  const Actions late = driver.answer(guard, driver.mine(1));
  EXPECT_TRUE(late.renewed);
  EXPECT_EQ(driver.machine().owned_until(), guard.sent_at + 15'500ms);
}

TEST(ContentionMachineOwning, AnAnswerOlderThanTheLeaseDoesNotShortenIt) {
  MachineDriver driver;
  driver.own();
  const Request first = driver.renewing();
  driver.tick_at_wake();
  const Request second = driver.renewing();
  driver.answer(second, driver.mine(1));
  const LocalTime deadline = driver.machine().owned_until();
  EXPECT_FALSE(driver.answer(first, driver.mine(1)).renewed);
  EXPECT_EQ(driver.machine().owned_until(), deadline);
}

TEST(ContentionMachineOwning, AStoreThatNeverMovesTheLeaseIsNotAskedInATightLoop) {
  MachineDriver driver;
  driver.own();
  const LocalTime counted_from = driver.now();
  const Request guard = driver.renewing();
  LeaseRecord record = driver.mine(1);
  record.counted_from = counted_from;
  EXPECT_FALSE(driver.answer(guard, record).send);
  EXPECT_GE(driver.machine().wake_at(), driver.now() + driver.plan().retry_min);
}

TEST(ContentionMachineOwning, IsAtRiskOnceTheTtlHasPassed) {
  MachineDriver driver;
  const LocalTime sent_at = driver.now();
  driver.own();
  driver.go_to(sent_at + 10s);
  const Actions actions = driver.tick();
  const auto* at_risk = find_event<AtRisk>(actions);
  ASSERT_TRUE(at_risk);
  EXPECT_EQ(at_risk->lease_left, 5'500ms);
  EXPECT_EQ(driver.phase(), Phase::owning);
  EXPECT_FALSE(find_event<AtRisk>(driver.tick()));
}

TEST(ContentionMachineOwning, IsAtRiskAtOnceWhenTheSessionIsSuspended) {
  MachineDriver driver;
  driver.own();
  EXPECT_TRUE(find_event<AtRisk>(driver.notice(Notice::Kind::suspended)));
  EXPECT_FALSE(find_event<AtRisk>(driver.notice(Notice::Kind::suspended)));
}

TEST(ContentionMachineOwning, StepsDownAtTheLocalDeadlineBeforeTheStoreLetsAnyoneIn) {
  MachineDriver driver;
  const LocalTime sent_at = driver.now();
  driver.own(8);
  driver.go_to(sent_at + 15'500ms - 1ns);
  EXPECT_FALSE(driver.tick().lost);
  driver.pass(1ns);
  const Actions actions = driver.tick();
  EXPECT_TRUE(actions.lost);
  const auto* lost = find_event<OwnershipLost>(actions);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->reason, LossReason::expired);
  EXPECT_EQ(lost->fencing_token, 8U);
  ASSERT_TRUE(actions.observed);
  EXPECT_EQ(actions.observed->owner_id, "");
  EXPECT_LT(driver.machine().owned_until(), driver.now());
}

TEST(ContentionMachineOwning, ARenewalThatAnswersAfterTheDeadlineDoesNotBringOwnershipBack) {
  MachineDriver driver;
  const LocalTime sent_at = driver.now();
  driver.own();
  const Request guard = driver.renewing();
  driver.go_to(sent_at + 15'500ms);  // paused meanwhile: the answer is the first event on waking
  const Actions actions = driver.answer(guard, driver.mine(1));
  EXPECT_TRUE(actions.lost);
  EXPECT_FALSE(actions.renewed);
}

TEST(ContentionMachineOwning, IsLostAtOnceWhenTheStoreNamesAnotherOwner) {
  MachineDriver driver;
  driver.own();
  const Actions actions = driver.answer(driver.renewing(), driver.held("other", 2));
  EXPECT_TRUE(actions.lost);
  EXPECT_EQ(find_event<OwnershipLost>(actions)->reason, LossReason::taken_over);
  EXPECT_EQ(actions.observed->owner_id, "other");
}

TEST(ContentionMachineOwning, IsLostAtOnceWhenTheStoreKnowsOnlyAnOlderGrantOfIt) {
  MachineDriver driver;
  driver.own(3);
  const Actions actions = driver.answer(driver.renewing(), driver.mine(2));
  EXPECT_TRUE(actions.lost);
  EXPECT_EQ(driver.machine().owned_until(), LocalTime::min());
  ASSERT_TRUE(actions.drain);
  const Actions next = driver.step(Drained{.drain = *actions.drain});
  ASSERT_TRUE(next.send);
  EXPECT_EQ(next.send->kind, Request::Kind::acquire);  // under a new token
}

TEST(ContentionMachineOwning, AnOlderGrantIsGivenBackByOneThatStaysOut) {
  MachineDriver driver{MachineDriver::plain_options(), AfterLoss::stay_out};
  driver.own(3);
  const Actions actions = driver.answer(driver.renewing(), driver.mine(2));
  ASSERT_TRUE(actions.drain);
  const Actions next = driver.step(Drained{.drain = *actions.drain});
  ASSERT_TRUE(next.give_back);
  EXPECT_EQ(next.give_back->token, 2U);
}

TEST(ContentionMachineOwning, AnOlderGrantIsKeptWhileCallbacksStillRunUnderIt) {
  MachineDriver driver;
  driver.own(3);
  const Request guard = driver.renewing();
  driver.step(Stop{});
  const Actions actions = driver.answer(guard, driver.mine(2));
  EXPECT_FALSE(actions.give_back);
  EXPECT_FALSE(actions.settled);
  EXPECT_EQ(driver.phase(), Phase::draining);
}

TEST(ContentionMachineOwning, IsLostAtOnceWhenTheSessionHasEnded) {
  MachineDriver driver;
  driver.own();
  const Actions actions = driver.notice(Notice::Kind::revoked);
  EXPECT_TRUE(actions.lost);
  EXPECT_EQ(find_event<OwnershipLost>(actions)->reason, LossReason::revoked);
}

TEST(ContentionMachineOwning, AHintOfAChangeMakesItRenewAndNotStepDown) {
  MachineDriver driver;
  driver.own();
  const Actions actions = driver.notice(Notice::Kind::changed, driver.held("other", 2));
  EXPECT_FALSE(actions.lost);
  ASSERT_TRUE(actions.send);
  EXPECT_EQ(actions.send->kind, Request::Kind::guard);
}

TEST(ContentionMachineOwning, AHintDuringARenewalMakesItRenewOnceMore) {
  MachineDriver driver;
  driver.own();
  const Request guard = driver.renewing();
  EXPECT_FALSE(driver.notice(Notice::Kind::changed).send);
  EXPECT_TRUE(driver.answer(guard, driver.mine(1)).send);
}

TEST(ContentionMachineOwning, AHintThatNamesUsIsNoNews) {
  MachineDriver driver;
  driver.own();
  EXPECT_FALSE(driver.notice(Notice::Kind::changed, driver.mine(1)).send);
}

TEST(ContentionMachineOwning, AGrantNoticeThatComesSecondIsNoNews) {
  MachineDriver driver;
  driver.own(3);
  LeaseRecord record = driver.mine(3);
  record.counted_from = driver.now();
  const Actions actions = driver.notice(Notice::Kind::granted, record);
  EXPECT_FALSE(actions.granted);
  EXPECT_FALSE(actions.give_back);
  EXPECT_EQ(driver.phase(), Phase::owning);
}

TEST(ContentionMachineOwning, ContendsAgainAfterALossOnceTheCallbacksAreOver) {
  MachineDriver driver;
  driver.own();
  const Actions lost = driver.notice(Notice::Kind::revoked);
  EXPECT_EQ(driver.phase(), Phase::draining);
  EXPECT_EQ(driver.machine().wake_at(), never);
  EXPECT_FALSE(driver.step(Drained{.drain = lost.drain.value() + 1}).send);
  const Actions again = driver.step(Drained{.drain = lost.drain.value()});
  ASSERT_TRUE(again.send);
  EXPECT_EQ(again.send->kind, Request::Kind::acquire);
}

TEST(ContentionMachineOwning, StaysOutAfterALossWhereToldSo) {
  MachineDriver driver{MachineDriver::plain_options(), AfterLoss::stay_out};
  driver.own();
  const Actions lost = driver.notice(Notice::Kind::revoked);
  EXPECT_FALSE(driver.step(Drained{.drain = lost.drain.value()}).send);
  EXPECT_EQ(driver.phase(), Phase::lapsed);
  EXPECT_EQ(driver.machine().wake_at(), never);
  EXPECT_TRUE(driver.step(Stop{}).settled);
  EXPECT_EQ(driver.phase(), Phase::idle);
}

}  // namespace
}  // namespace simba::engine
