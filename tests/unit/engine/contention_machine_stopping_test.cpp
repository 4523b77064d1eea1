#include "machine_driver.hpp"

namespace simba::engine {
namespace {

using Phase = ContentionMachine::Phase;

TEST(ContentionMachineStopping, ReleasesOnlyAfterTheCallbacksAreOver) {
  MachineDriver driver;
  driver.own(4);
  const Actions stopping = driver.step(Stop{});
  EXPECT_FALSE(stopping.send);
  EXPECT_FALSE(stopping.settled);
  EXPECT_EQ(stopping.observed.value().owner_id, "");
  EXPECT_LT(driver.machine().owned_until(), driver.now());
  const Actions drained = driver.step(Drained{.drain = stopping.drain.value()});
  ASSERT_TRUE(drained.send);
  EXPECT_EQ(drained.send->kind, Request::Kind::release);
  EXPECT_EQ(drained.send->token, 4U);
  EXPECT_TRUE(driver.answer(*drained.send, MachineDriver::free()).settled);
  EXPECT_EQ(driver.phase(), Phase::idle);
  EXPECT_EQ(driver.machine().wake_at(), never);
}

TEST(ContentionMachineStopping, RenewsWhileTheCallbacksRun) {
  MachineDriver driver;
  driver.own();
  const Actions stopping = driver.step(Stop{});
  const Request guard = driver.renewing();
  const Actions renewed = driver.answer(guard, driver.mine(1));
  EXPECT_FALSE(renewed.renewed) << "nobody is told that a stopping contender owns";
  driver.renewing();
  EXPECT_EQ(driver.phase(), Phase::draining);
  EXPECT_EQ(driver.step(Drained{.drain = stopping.drain.value()}).send->kind,
            Request::Kind::release);
}

TEST(ContentionMachineStopping, RenewsNoMoreBeyondTheDrainLimitAndLetsTheLeaseRunOut) {
  auto options = MachineDriver::plain_options();
  options.drain_limit = 7s;
  MachineDriver driver{options};
  driver.own();
  const LocalTime stopped = driver.now();
  driver.step(Stop{});
  Actions actions;
  LocalTime last_guard{};
  while (driver.phase() == Phase::draining) {
    actions = driver.tick_at_wake();
    if (actions.send) {
      last_guard = driver.now();
      driver.answer(*actions.send, driver.mine(1));
    }
  }
  EXPECT_LT(last_guard, stopped + 7s);
  EXPECT_EQ(driver.now(), last_guard + 15'500ms);
  EXPECT_TRUE(actions.drain_overrun);
  EXPECT_TRUE(actions.settled);
}

TEST(ContentionMachineStopping, ShowsTheEndOfTheLeaseWhileTheCallbacksRun) {
  MachineDriver driver;
  EXPECT_EQ(driver.machine().lease_until(), LocalTime::min());
  driver.own();
  const LocalTime first = driver.now() + 15'500ms;
  EXPECT_EQ(driver.machine().lease_until(), first);
  const Actions stopping = driver.step(Stop{});
  EXPECT_EQ(driver.machine().owned_until(), LocalTime::min());
  EXPECT_EQ(driver.machine().lease_until(), first);
  driver.answer(driver.renewing(), driver.mine(1));
  EXPECT_EQ(driver.machine().lease_until(), driver.now() + 15'500ms);
  driver.step(Drained{.drain = stopping.drain.value()});
  EXPECT_EQ(driver.machine().lease_until(), LocalTime::min()) << "the release is under way";
}

TEST(ContentionMachineStopping, WhatIsWithheldIsNeitherRenewedNorGivenBackAndRunsOut) {
  MachineDriver driver;
  driver.own();
  const Actions stopping = driver.step(Stop{});
  driver.answer(driver.renewing(), driver.mine(1));
  const LocalTime end = driver.now() + 15'500ms;
  driver.pass(1s);
  EXPECT_FALSE(driver.step(Withhold{}).send);
  const Actions drained = driver.step(Drained{.drain = stopping.drain.value()});
  EXPECT_TRUE(drained.withheld);
  EXPECT_TRUE(drained.settled) << "stop() need not wait";
  EXPECT_FALSE(drained.send || drained.give_back);
  EXPECT_EQ(driver.phase(), Phase::expiring);
  EXPECT_EQ(driver.machine().lease_until(), end);
  driver.notice(Notice::Kind::changed);
  while (driver.phase() == Phase::expiring) {
    const Actions actions = driver.tick_at_wake();
    EXPECT_FALSE(actions.send || actions.give_back || actions.drain_overrun);
  }
  EXPECT_EQ(driver.now(), end);
  EXPECT_EQ(driver.phase(), Phase::idle);
  EXPECT_EQ(driver.machine().wake_at(), never);
}

TEST(ContentionMachineStopping, ARenewalUnderWayDoesNotReviveWhatIsWithheld) {
  MachineDriver driver;
  driver.own();
  const Actions stopping = driver.step(Stop{});
  const Request early = driver.renewing();
  driver.step(Withhold{});
  EXPECT_FALSE(driver.answer(early, driver.mine(1)).send);
  const LocalTime end = driver.now() + 15'500ms;
  while (driver.machine().wake_at() < end) EXPECT_FALSE(driver.tick_at_wake().send);
  EXPECT_EQ(driver.phase(), Phase::draining) << "on_released still runs";
  EXPECT_EQ(driver.machine().lease_until(), end);
  EXPECT_TRUE(driver.tick_at_wake().drain_overrun);
  EXPECT_FALSE(driver.step(Drained{.drain = stopping.drain.value()}).send);
}

TEST(ContentionMachineStopping, WhereASessionHoldsWhatIsWithheldItIsGivenBackWhenTheLeaseIsOver) {
  MachineDriver driver{MachineDriver::plain_options(), AfterLoss::contend_again, 0ns,
                       OwnerWatch::kept};
  driver.own(4);
  const Actions stopping = driver.step(Stop{});
  driver.step(Withhold{});
  EXPECT_FALSE(driver.step(Drained{.drain = stopping.drain.value()}).give_back);
  Actions actions;
  while (driver.phase() == Phase::expiring) actions = driver.tick_at_wake();
  ASSERT_TRUE(actions.give_back);
  EXPECT_EQ(actions.give_back->kind, Request::Kind::release);
  EXPECT_EQ(actions.give_back->token, 4U);
}

TEST(ContentionMachineStopping, OnlyTheStopUnderWayCanBeToldToWithhold) {
  MachineDriver driver;
  driver.own();
  driver.step(Withhold{});
  EXPECT_EQ(driver.phase(), Phase::owning);
  driver.answer(driver.renewing(), driver.mine(1));
  Actions stopping = driver.step(Stop{});
  driver.step(Withhold{});
  driver.step(Drained{.drain = stopping.drain.value()});
  ASSERT_EQ(driver.phase(), Phase::expiring);
  driver.go_to(driver.machine().lease_until());
  EXPECT_TRUE(driver.own(1).granted) << "it may own again once that is over";
  stopping = driver.step(Stop{});
  EXPECT_EQ(driver.step(Drained{.drain = stopping.drain.value()}).send->kind,
            Request::Kind::release);
  EXPECT_FALSE(driver.step(Withhold{}).withheld);
  EXPECT_EQ(driver.phase(), Phase::releasing);
}

TEST(ContentionMachineStopping, WhatIsWithheldStaysSoWhenStartedAndStoppedAgain) {
  MachineDriver driver;
  driver.own();
  const Actions stopping = driver.step(Stop{});
  driver.step(Withhold{});
  driver.step(Drained{.drain = stopping.drain.value()});
  const LocalTime end = driver.machine().lease_until();
  EXPECT_FALSE(driver.step(Start{}).send) << "what it asked for, its next stop would give back";
  driver.step(Inherited{});
  const Actions stopped = driver.step(Stop{});
  EXPECT_FALSE(stopped.send || stopped.give_back);
  EXPECT_TRUE(stopped.settled);
  EXPECT_EQ(driver.phase(), Phase::expiring);
  EXPECT_EQ(driver.machine().lease_until(), end);
  driver.step(Start{});
  driver.go_to(end);
  EXPECT_TRUE(driver.tick().send) << "nothing is held any more";
}

TEST(ContentionMachineStopping, ALossOfWhatIsWithheldEndsIt) {
  MachineDriver driver{MachineDriver::plain_options(), AfterLoss::contend_again, 0ns,
                       OwnerWatch::kept};
  driver.own();
  const Actions stopping = driver.step(Stop{});
  driver.step(Withhold{});
  driver.step(Drained{.drain = stopping.drain.value()});
  const Actions revoked = driver.notice(Notice::Kind::revoked);
  EXPECT_TRUE(revoked.settled);
  EXPECT_FALSE(revoked.give_back);
  EXPECT_EQ(driver.machine().lease_until(), LocalTime::min());
}

TEST(ContentionMachineStopping, ALossWhileTheCallbacksRunEndsTheDraining) {
  MachineDriver driver;
  driver.own();
  const Actions stopping = driver.step(Stop{});
  const Actions lost = driver.answer(driver.renewing(), driver.held("other", 2));
  EXPECT_TRUE(lost.drain_overrun);
  EXPECT_TRUE(lost.settled);
  EXPECT_FALSE(driver.step(Drained{.drain = stopping.drain.value()}).send);
}

TEST(ContentionMachineStopping, AFailedReleaseIsRetriedUntilTheLeaseEnds) {
  MachineDriver driver;
  driver.own();
  const LocalTime deadline = driver.machine().owned_until();
  const Actions stopping = driver.step(Stop{});
  Request release = driver.step(Drained{.drain = stopping.drain.value()}).send.value();
  int tries = 0;
  Actions actions;
  while (driver.phase() == Phase::releasing) {
    driver.answer(release, MachineDriver::unavailable());
    actions = driver.tick_at_wake();
    if (actions.send) release = *actions.send;
    ++tries;
  }
  EXPECT_GT(tries, 10);
  EXPECT_TRUE(actions.settled);
  EXPECT_EQ(driver.now(), deadline);
}

TEST(ContentionMachineStopping, AReleaseWithoutAnAnswerTimesOutAndIsRepeated) {
  MachineDriver driver;
  driver.own();
  const Actions stopping = driver.step(Stop{});
  const Request first = driver.step(Drained{.drain = stopping.drain.value()}).send.value();
  driver.tick_at_wake();
  const Actions second = driver.tick_at_wake();
  ASSERT_TRUE(second.send);
  EXPECT_EQ(second.send->kind, Request::Kind::release);
  EXPECT_FALSE(driver.answer(first, MachineDriver::free()).settled) << "not the newest request";
  EXPECT_TRUE(driver.answer(*second.send, driver.held("other", 2)).settled);
}

TEST(ContentionMachineStopping, ReleasesAgainUnderTheTokenThatTheStoreNames) {
  MachineDriver driver;
  driver.own(4);
  const Actions stopping = driver.step(Stop{});
  const Request first = driver.step(Drained{.drain = stopping.drain.value()}).send.value();
  const Actions again = driver.answer(first, driver.mine(6));
  ASSERT_TRUE(again.send);
  EXPECT_EQ(again.send->token, 6U);
}

TEST(ContentionMachineStopping, AStoreThatStillNamesUsAfterTheReleaseIsAskedAgainLater) {
  MachineDriver driver;
  driver.own(4);
  const Actions stopping = driver.step(Stop{});
  const Request first = driver.step(Drained{.drain = stopping.drain.value()}).send.value();
  const Actions again = driver.answer(first, driver.mine(4));
  EXPECT_FALSE(again.send);
  EXPECT_TRUE(driver.tick_at_wake().send);
}

TEST(ContentionMachineStopping, AWaiterLeavesTheQueueOfTheStore) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  const Actions actions = driver.step(Stop{});
  EXPECT_EQ(actions.watching, Actions::Watching::end);
  ASSERT_TRUE(actions.send);
  EXPECT_EQ(actions.send->kind, Request::Kind::release);
  EXPECT_EQ(actions.send->token, 0U);
  EXPECT_TRUE(driver.answer(*actions.send, driver.held("other", 3)).settled);
}

TEST(ContentionMachineStopping, AWaiterThatWasGrantedMeanwhileGivesItBack) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  const Actions actions = driver.step(Stop{});
  const Actions granted = driver.answer(actions.send.value(), driver.mine(4));
  ASSERT_TRUE(granted.send);
  EXPECT_EQ(granted.send->token, 4U);
}

TEST(ContentionMachineStopping, AWaiterWaitsForTheStoreNoLongerThanOneRequest) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  driver.step(Stop{});
  const LocalTime stopped = driver.now();
  Actions actions;
  while (driver.phase() == Phase::releasing) actions = driver.tick_at_wake();
  EXPECT_TRUE(actions.settled);
  EXPECT_LE(driver.now(), stopped + driver.plan().request_timeout);
}

TEST(ContentionMachineStopping, OneThatHasNeverAskedIsDoneAtOnce) {
  auto options = MachineDriver::plain_options();
  options.initial_delay = 3s;
  MachineDriver driver{options};
  driver.step(Start{});
  const Actions actions = driver.step(Stop{});
  EXPECT_TRUE(actions.settled);
  EXPECT_FALSE(actions.send);
  EXPECT_TRUE(driver.step(Stop{}).settled) << "stopping twice does no harm";
}

TEST(ContentionMachineStopping, AGrantThatComesAfterTheStopIsGivenBack) {
  MachineDriver driver;
  const Request acquire = driver.started();
  const Actions stopping = driver.step(Stop{});
  driver.answer(stopping.send.value(), MachineDriver::free());
  ASSERT_EQ(driver.phase(), Phase::idle);
  const Actions late = driver.answer(acquire, driver.mine(5));
  EXPECT_FALSE(late.granted);
  ASSERT_TRUE(late.give_back);
  EXPECT_EQ(late.give_back->kind, Request::Kind::release);
  EXPECT_EQ(late.give_back->token, 5U);
}

TEST(ContentionMachineStopping, AnAcquisitionThatWasOvertakenByTheStopLeavesTheQueueAgain) {
  MachineDriver driver;
  const Request acquire = driver.started();
  const Actions stopping = driver.step(Stop{});
  driver.answer(stopping.send.value(), MachineDriver::free());
  const Actions late = driver.answer(acquire, driver.held("other", 3));
  ASSERT_TRUE(late.give_back);
  EXPECT_EQ(late.give_back->kind, Request::Kind::release);
  EXPECT_EQ(late.give_back->token, 0U);
}

TEST(ContentionMachineStopping, AnAcquisitionThatIsAnsweredDuringTheReleaseMakesItReleaseAgain) {
  MachineDriver driver;
  const Request acquire = driver.started();
  const Request release = driver.step(Stop{}).send.value();
  driver.answer(acquire, driver.held("other", 3));  // and put in the queue, after the release
  const Actions first = driver.answer(release, driver.held("other", 3));
  EXPECT_FALSE(first.settled);
  ASSERT_TRUE(first.send);
  EXPECT_EQ(first.send->kind, Request::Kind::release);
  EXPECT_TRUE(driver.answer(*first.send, driver.held("other", 3)).settled);
}

TEST(ContentionMachineStopping, AReleaseThatIsAnsweredInTheNextLifeLetsItAskAgain) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  const Request leave = driver.step(Stop{}).send.value();
  driver.pass(1h);  // nobody has answered, and it is given up
  driver.step(Tick{});
  ASSERT_EQ(driver.phase(), Phase::idle);
  driver.answer(driver.started(), driver.held("other", 3));
  const Actions late = driver.answer(leave, driver.held("other", 3));
  ASSERT_TRUE(late.send) << "the release may have taken it out of the queue";
  EXPECT_EQ(late.send->kind, Request::Kind::acquire);
}

TEST(ContentionMachineStopping, AGrantThatComesDuringTheReleaseIsGivenBackToo) {
  MachineDriver driver;
  const Request acquire = driver.started();
  driver.step(Stop{});
  EXPECT_EQ(driver.answer(acquire, driver.mine(5)).give_back.value().token, 5U);
}

TEST(ContentionMachineStopping, AGrantNoticeAfterTheStopIsGivenBack) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  const Actions stopping = driver.step(Stop{});
  driver.answer(stopping.send.value(), driver.held("other", 3));
  LeaseRecord record = driver.mine(6);
  record.counted_from = driver.now();
  const Actions late = driver.notice(Notice::Kind::granted, record);
  EXPECT_FALSE(late.granted);
  EXPECT_EQ(late.give_back.value().token, 6U);
}

TEST(ContentionMachineStopping, AGrantNoticeOfAnEarlierLifeIsNotBelievedByTheNext) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  LeaseRecord granted = driver.mine(5);
  granted.counted_from = driver.now();
  const Noticed late{.notice = Notice{.kind = Notice::Kind::granted, .record = granted},
                     .life = driver.machine().life()};
  // The notice is under way while the contender stops, learns of the grant and gives it back.
  const Actions stopping = driver.step(Stop{});
  const Actions again = driver.answer(stopping.send.value(), driver.mine(5));
  driver.answer(again.send.value(), MachineDriver::free());
  // Another owns when the next life asks; only now the notice arrives.
  driver.answer(driver.started(), driver.held("third", 6));
  EXPECT_FALSE(driver.step(late).granted);
  EXPECT_EQ(driver.phase(), Phase::contending);
  Noticed repeated = late;
  repeated.life = driver.machine().life();
  EXPECT_FALSE(driver.step(repeated).granted) << "a token that is not greater than all seen";
}

TEST(ContentionMachineStopping, OtherNoticesOfAnEarlierLifeChangeNothing) {
  MachineDriver driver;
  driver.own(1);
  const Actions stopping = driver.step(Stop{});
  const Actions drained = driver.step(Drained{.drain = stopping.drain.value()});
  driver.answer(drained.send.value(), MachineDriver::free());
  driver.own(2);
  const Noticed late{.notice = Notice{.kind = Notice::Kind::revoked}, .life = 1};
  EXPECT_FALSE(driver.step(late).lost);
  EXPECT_EQ(driver.phase(), Phase::owning);
}

TEST(ContentionMachineStopping, HintsAfterTheStopChangeNothing) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  const Actions stopping = driver.step(Stop{});
  driver.answer(stopping.send.value(), driver.held("other", 3));
  EXPECT_FALSE(driver.notice(Notice::Kind::changed).send);
  EXPECT_FALSE(driver.notice(Notice::Kind::revoked).send);
  EXPECT_FALSE(driver.tick().send);
}

TEST(ContentionMachineStopping, AGrantThatComesWhileItLeavesTheQueueAgainIsGivenBack) {
  MachineDriver driver;
  const Request acquire = driver.started();
  const Actions stopped = driver.step(Stop{});
  ASSERT_TRUE(stopped.send);
  driver.answer(*stopped.send, driver.held("other", 1));  // it has overtaken the acquisition
  const Actions queued = driver.answer(acquire, driver.held("other", 1));
  ASSERT_TRUE(queued.give_back);
  const Actions granted = driver.answer(*queued.give_back, driver.mine(2));
  ASSERT_TRUE(granted.give_back);
  EXPECT_EQ(granted.give_back->token, 2U);
}

TEST(ContentionMachineStopping, AGrantOfWhichItHearsWhenItHasGivenUpItsReleaseIsGivenBack) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 1));
  const Actions stopped = driver.step(Stop{});
  ASSERT_TRUE(stopped.send);
  driver.pass(2s);
  EXPECT_TRUE(driver.tick().settled);
  const Actions granted = driver.answer(*stopped.send, driver.mine(2));  // from the queue
  ASSERT_TRUE(granted.give_back);
  EXPECT_EQ(granted.give_back->token, 2U);
  EXPECT_FALSE(driver.answer(*granted.give_back, MachineDriver::free()).give_back);
}

TEST(ContentionMachineStopping, AGrantThatAnotherAnswerThanTheAwaitedOneTellsOfIsGivenBack) {
  MachineDriver driver;
  const Request acquire = driver.started();
  const Actions stopped = driver.step(Stop{});
  ASSERT_TRUE(stopped.send);
  ASSERT_TRUE(driver.answer(*stopped.send, driver.mine(2)).send);  // gets lost
  const Actions late = driver.answer(acquire, driver.mine(1));
  ASSERT_TRUE(late.give_back);
  // A copy of the acquisition came before it.
  const Actions told = driver.answer(*late.give_back, driver.mine(3));
  ASSERT_TRUE(told.give_back);
  EXPECT_EQ(told.give_back->token, 3U);
  driver.pass(2s);
  driver.tick();
  const Actions again = driver.tick_at_wake();
  ASSERT_TRUE(again.send);
  EXPECT_EQ(again.send->token, 3U);
}

TEST(ContentionMachineStopping, AnAnswerOfAnEarlierLifeChangesNothing) {
  MachineDriver driver;
  driver.own(1);
  const Request guard = driver.renewing();
  const Actions stopping = driver.step(Stop{});
  const Actions drained = driver.step(Drained{.drain = stopping.drain.value()});
  driver.answer(drained.send.value(), MachineDriver::free());
  const Request acquire = driver.started();
  EXPECT_FALSE(driver.answer(guard, driver.mine(1)).renewed);
  EXPECT_FALSE(driver.answer(guard, driver.held("other", 2)).lost);
  EXPECT_EQ(driver.phase(), Phase::contending);
  EXPECT_TRUE(driver.answer(acquire, driver.mine(3)).granted);
}

TEST(ContentionMachineStopping, ALateGrantOfAnEarlierLifeMakesTheNewLifeAskAgain) {
  MachineDriver driver;
  const Request old = driver.started();
  const Actions stopping = driver.step(Stop{});
  driver.answer(stopping.send.value(), MachineDriver::free());
  driver.answer(driver.started(), driver.held("other", 3));
  const Actions late = driver.answer(old, driver.mine(4));
  EXPECT_FALSE(late.granted);
  EXPECT_FALSE(late.give_back) << "it would end what the new life is about to get";
  ASSERT_TRUE(late.send);
  EXPECT_EQ(late.send->kind, Request::Kind::acquire);
}

TEST(ContentionMachineStopping, CanBeStartedAgainWhileTheReleaseIsStillTried) {
  MachineDriver driver;
  driver.own(1);
  const Actions stopping = driver.step(Stop{});
  const Request release = driver.step(Drained{.drain = stopping.drain.value()}).send.value();
  const Request acquire = driver.started();
  EXPECT_FALSE(driver.answer(release, MachineDriver::free()).settled);
  EXPECT_TRUE(driver.answer(acquire, driver.mine(2)).granted);
}

TEST(ContentionMachineStopping, CanBeStartedAgainAlthoughACallbackNeverReturned) {
  MachineDriver driver;
  driver.own(1);
  const Actions stopping = driver.step(Stop{});
  const Request acquire = driver.started();
  EXPECT_EQ(acquire.kind, Request::Kind::acquire);
  driver.answer(acquire, driver.mine(2));
  EXPECT_FALSE(driver.step(Drained{.drain = stopping.drain.value()}).send);
  EXPECT_EQ(driver.phase(), Phase::owning);
}

TEST(ContentionMachineStopping, AfterAnExpiredLeaseTheStoreIsToldSinceItMayHaveRenewed) {
  MachineDriver driver;
  driver.own(1);
  driver.renewing();  // carried out, but its answer never comes
  Actions lost;
  while (!lost.lost) lost = driver.tick_at_wake();
  EXPECT_FALSE(driver.step(Stop{}).settled);
  const Actions drained = driver.step(Drained{.drain = lost.drain.value()});
  ASSERT_TRUE(drained.send);
  EXPECT_EQ(drained.send->kind, Request::Kind::release);
  EXPECT_TRUE(driver.answer(*drained.send, MachineDriver::free()).settled);
}

TEST(ContentionMachineStopping, AfterAnExpiredLeaseItGivesUpAtTheDrainLimit) {
  MachineDriver driver;
  driver.own(1);
  Actions lost;
  while (!lost.lost) lost = driver.tick_at_wake();
  const LocalTime stopped = driver.now();
  driver.step(Stop{});
  const Actions actions = driver.tick_at_wake();
  EXPECT_TRUE(actions.settled);
  EXPECT_EQ(driver.now(), stopped + driver.plan().drain_limit);
}

TEST(ContentionMachineStopping, AfterATakeOverThereIsNothingToRelease) {
  MachineDriver driver;
  driver.own(1);
  driver.answer(driver.renewing(), driver.held("other", 2));
  EXPECT_TRUE(driver.step(Stop{}).settled);
}

TEST(ContentionMachineStopping, ALapsedOneTellsTheStoreWhereItMayStillBeNamed) {
  MachineDriver driver{MachineDriver::plain_options(), AfterLoss::stay_out};
  driver.own(1);
  Actions lost;
  while (!lost.lost) lost = driver.tick_at_wake();
  driver.step(Drained{.drain = lost.drain.value()});
  ASSERT_EQ(driver.phase(), Phase::lapsed);
  const Actions actions = driver.step(Stop{});
  ASSERT_TRUE(actions.send);
  EXPECT_EQ(actions.send->kind, Request::Kind::release);
  EXPECT_FALSE(driver.step(Stop{}).settled) << "still releasing";
}

}  // namespace
}  // namespace simba::engine
