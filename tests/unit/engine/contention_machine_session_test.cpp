// What a machine makes of a store that has sessions: it keeps its watch while it owns, and what the
// session holds for it is given back when the local lease has ended.
#include <gtest/gtest.h>

#include "unit/engine/machine_driver.hpp"

namespace simba::engine {
namespace {

using Phase = ContentionMachine::Phase;
using Watching = Actions::Watching;

MachineDriver with_session(AfterLoss after_loss = AfterLoss::contend_again) {
  return MachineDriver{MachineDriver::plain_options(), after_loss, 0ns, OwnerWatch::kept};
}

Actions lose_by_time(MachineDriver& driver) {
  Actions lost;
  while (!lost.lost) lost = driver.tick_at_wake();
  return lost;
}

TEST(ContentionMachineSession, AnOwnerWatches) {
  MachineDriver driver = with_session();
  EXPECT_EQ(driver.own().watching, Watching::begin);
}

TEST(ContentionMachineSession, AnOwnerThatHasWaitedGoesOnWatching) {
  MachineDriver driver = with_session();
  EXPECT_EQ(driver.answer(driver.started(), driver.held("other", 1)).watching, Watching::begin);
  LeaseRecord record = driver.mine(2);
  record.counted_from = driver.now();
  const Actions granted = driver.notice(Notice::Kind::granted, record);
  ASSERT_TRUE(granted.granted);
  EXPECT_EQ(granted.watching, Watching::unchanged);
}

TEST(ContentionMachineSession, WithoutSessionsAnOwnerDoesNotWatch) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 1));
  LeaseRecord record = driver.mine(2);
  record.counted_from = driver.now();
  EXPECT_EQ(driver.notice(Notice::Kind::granted, record).watching, Watching::end);
}

TEST(ContentionMachineSession, ASuspendedSessionPutsTheOwnerAtRiskOnce) {
  MachineDriver driver = with_session();
  driver.own();
  EXPECT_NE(find_event<AtRisk>(driver.notice(Notice::Kind::suspended)), nullptr);
  EXPECT_EQ(find_event<AtRisk>(driver.notice(Notice::Kind::suspended)), nullptr);
  EXPECT_EQ(driver.phase(), Phase::owning);
}

TEST(ContentionMachineSession, ARevokedSessionEndsTheOwnershipAtOnceAndContendsAnew) {
  MachineDriver driver = with_session();
  driver.own();
  const Actions lost = driver.notice(Notice::Kind::revoked);
  ASSERT_TRUE(lost.lost);
  EXPECT_EQ(find_event<OwnershipLost>(lost)->reason, LossReason::revoked);
  const Actions again = driver.step(Drained{.drain = lost.drain.value()});
  ASSERT_TRUE(again.send);
  EXPECT_EQ(again.send->kind, Request::Kind::acquire);
}

TEST(ContentionMachineSession, AHintMakesAnOwnerRenewAtOnce) {
  MachineDriver driver = with_session();
  driver.own();
  const Actions actions = driver.notice(Notice::Kind::changed);
  ASSERT_TRUE(actions.send);
  EXPECT_EQ(actions.send->kind, Request::Kind::guard);
}

TEST(ContentionMachineSession, TheWatchEndsWhenAStoppedOwnerReleases) {
  MachineDriver driver = with_session();
  driver.own();
  const Actions stopping = driver.step(Stop{});
  EXPECT_EQ(stopping.watching, Watching::unchanged) << "it still owns, and must hear of an end";
  EXPECT_EQ(driver.step(Drained{.drain = stopping.drain.value()}).watching, Watching::end);
}

TEST(ContentionMachineSession, OneThatStaysOutGivesBackWhatTheSessionHoldsAndWatchesNoMore) {
  MachineDriver driver = with_session(AfterLoss::stay_out);
  driver.own(3);
  const Actions lost = lose_by_time(driver);
  const Actions out = driver.step(Drained{.drain = lost.drain.value()});
  EXPECT_EQ(driver.phase(), Phase::lapsed);
  EXPECT_EQ(out.watching, Watching::end);
  ASSERT_TRUE(out.give_back);
  EXPECT_EQ(out.give_back->kind, Request::Kind::release);
  EXPECT_EQ(out.give_back->token, 3U);
}

TEST(ContentionMachineSession, AStoppedOneWhoseCallbacksOutlastTheLeaseGivesItBack) {
  MachineDriver driver = with_session();
  driver.own(3);
  driver.step(Stop{});
  Actions actions;
  while (driver.phase() == Phase::draining) actions = driver.tick_at_wake();
  EXPECT_TRUE(actions.drain_overrun);
  EXPECT_EQ(actions.watching, Watching::end);
  ASSERT_TRUE(actions.give_back);
  EXPECT_EQ(actions.give_back->token, 3U);
}

TEST(ContentionMachineSession, ALeaseThatIsShorterThanAskedForIsRenewedSooner) {
  MachineDriver driver = with_session();
  LeaseRecord record = driver.mine(1);
  record.ttl_left = 4s;
  record.transition_left = 8s;  // half of what was asked for
  const LocalTime asked = driver.now();
  driver.answer(driver.started(), record);
  driver.renewing();
  EXPECT_EQ(driver.now() - asked, 2'500ms) << "half of the usual 5 s";
}

TEST(ContentionMachineSession,
     AStoppedOneWhoseCallbackHangsAfterALossGivesBackWhatTheSessionHolds) {
  MachineDriver driver = with_session();
  driver.own(3);
  lose_by_time(driver);
  driver.step(Stop{});
  ASSERT_EQ(driver.phase(), Phase::draining);
  const Actions actions = driver.tick_at_wake();
  EXPECT_TRUE(actions.settled);
  ASSERT_TRUE(actions.give_back);
  EXPECT_EQ(actions.give_back->token, 3U);
}

TEST(ContentionMachineSession, ALifeThatBeginsWhileTheLastOneDrainsWatchesAnew) {
  MachineDriver driver = with_session();
  driver.own();
  driver.step(Stop{});
  EXPECT_EQ(driver.step(Start{}).watching, Watching::end);
}

TEST(ContentionMachineSession, ALifeThatBeginsWhileTheLastOneDrainsLetsTheLeaseEndFirst) {
  MachineDriver driver = with_session();
  driver.own();
  const LocalTime end = driver.machine().owned_until();
  driver.step(Stop{});
  EXPECT_FALSE(driver.step(Start{}).send) << "the session would let others in";
  const Actions actions = driver.tick_at_wake();
  ASSERT_TRUE(actions.send);
  EXPECT_EQ(actions.send->kind, Request::Kind::acquire);
  EXPECT_EQ(driver.now(), end);
}

TEST(ContentionMachineSession, ARenewalThatHasNothingNewToTellIsNotRepeatedAtOnce) {
  MachineDriver driver = with_session();
  LeaseRecord record = driver.mine(1);
  record.counted_from = driver.now();
  driver.answer(driver.started(), record);
  const Request guard = driver.renewing();
  const LocalTime renewed = driver.now();
  driver.answer(guard, record);
  driver.renewing();
  EXPECT_EQ(driver.now() - renewed, 800ms) << "a twentieth of the lease";
}

TEST(ContentionMachineSession, TheLessIsGrantedTheSoonerItIsAskedAgain) {
  MachineDriver driver = with_session();
  LeaseRecord record = driver.mine(1);
  record.counted_from = driver.now();
  record.ttl_left = 1s;
  record.transition_left = 2s;
  driver.answer(driver.started(), record);
  const Request guard = driver.renewing();
  const LocalTime renewed = driver.now();
  driver.answer(guard, record);
  driver.renewing();
  EXPECT_EQ(driver.now() - renewed, 100ms) << "a twentieth of what is granted";
}

TEST(ContentionMachineSession, ASuspensionThatTellsHowLongTheSessionIsSureExtendsTheLease) {
  MachineDriver driver = with_session();
  driver.own(3);
  driver.pass(2s);
  LeaseRecord record = driver.mine(3);
  record.counted_from = driver.now() - 1s;
  const LocalTime before = driver.machine().owned_until();
  EXPECT_TRUE(driver.notice(Notice::Kind::suspended, record).renewed);
  EXPECT_EQ(driver.machine().owned_until(), before + 1s);
}

TEST(ContentionMachineSession, ASuspensionOfAnotherOwnershipExtendsNothing) {
  MachineDriver driver = with_session();
  driver.own(3);
  driver.pass(2s);
  LeaseRecord record = driver.mine(2);
  record.counted_from = driver.now();
  EXPECT_FALSE(driver.notice(Notice::Kind::suspended, record).renewed);
}

}  // namespace
}  // namespace simba::engine
