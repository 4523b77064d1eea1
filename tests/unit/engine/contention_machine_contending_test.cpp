#include "machine_driver.hpp"

namespace simba::engine {
namespace {

using Phase = ContentionMachine::Phase;
using Watching = Actions::Watching;

TEST(ContentionMachineContending, AsksAtOnceWhenStarted) {
  MachineDriver driver;
  const Request request = driver.started();
  EXPECT_EQ(request.kind, Request::Kind::acquire);
  EXPECT_EQ(request.sent_at, driver.now());
  EXPECT_EQ(driver.phase(), Phase::contending);
}

TEST(ContentionMachineContending, WaitsForTheInitialDelay) {
  auto options = MachineDriver::plain_options();
  options.initial_delay = 3s;
  MachineDriver driver{options};
  EXPECT_FALSE(driver.step(Start{}).send);
  EXPECT_EQ(driver.machine().wake_at(), driver.now() + 3s);
  EXPECT_TRUE(driver.tick_at_wake().send);
}

TEST(ContentionMachineContending, CountsTheLeaseFromBeforeTheRequestWasSent) {
  MachineDriver driver;
  const Request request = driver.started();
  driver.pass(1s);
  const Actions actions = driver.answer(request, driver.mine(5));
  ASSERT_TRUE(actions.granted);
  EXPECT_EQ(actions.granted->fencing_token, 5U);
  EXPECT_EQ(driver.machine().owned_until(), request.sent_at + 16s - 500ms);
  EXPECT_EQ(driver.machine().in_ttl_until(), request.sent_at + 10s);
}

TEST(ContentionMachineContending, ShortensTheLeaseByTheDriftAllowance) {
  auto options = MachineDriver::plain_options();
  options.clock_drift_ppm = 1'000;
  MachineDriver driver{options};
  const LocalTime sent_at = driver.now();
  driver.own();
  EXPECT_EQ(driver.machine().owned_until(), sent_at + 16s - 16ms - 500ms);
}

TEST(ContentionMachineContending, TakesAnEarlierMomentFromTheStore) {
  MachineDriver driver;
  const Request request = driver.started();
  LeaseRecord record = driver.mine(1);
  record.counted_from = request.sent_at - 4s;
  driver.answer(request, record);
  EXPECT_EQ(driver.machine().owned_until(), request.sent_at - 4s + 15'500ms);
}

TEST(ContentionMachineContending, NeverCountsLaterThanTheSending) {
  MachineDriver driver;
  const Request request = driver.started();
  LeaseRecord record = driver.mine(1);
  record.counted_from = request.sent_at + 4s;
  driver.pass(5s);
  // The request has timed out by now and its answer comes late: it still counts from its sending.
  driver.tick();
  driver.answer(request, record);
  EXPECT_EQ(driver.machine().owned_until(), request.sent_at + 15'500ms);
}

TEST(ContentionMachineContending, DoesNotBelieveALongerLeaseThanItAskedFor) {
  MachineDriver driver;
  const Request request = driver.started();
  LeaseRecord record = driver.mine(1);
  record.ttl_left = 1h;
  record.transition_left = 2h;
  driver.answer(request, record);
  EXPECT_EQ(driver.machine().owned_until(), request.sent_at + 15'500ms);
  EXPECT_EQ(driver.machine().in_ttl_until(), request.sent_at + 10s);
}

TEST(ContentionMachineContending, DoesNotBelieveAGrantWhoseLeaseHasPassedAlready) {
  MachineDriver driver;
  const Request request = driver.started();
  driver.pass(15'500ms);
  const Actions actions = driver.answer(request, driver.mine(1));
  EXPECT_FALSE(actions.granted);
  EXPECT_TRUE(find_event<AcquireFailed>(actions));
  EXPECT_EQ(driver.phase(), Phase::contending);
  const Actions again = driver.tick_at_wake();
  ASSERT_TRUE(again.send);
  EXPECT_TRUE(driver.answer(*again.send, driver.mine(2)).granted);
}

TEST(ContentionMachineContending, SaysWhoOwnsAndWatchesOnceItWasRefused) {
  MachineDriver driver;
  const Actions actions = driver.answer(driver.started(), driver.held("other", 3));
  ASSERT_TRUE(actions.observed);
  EXPECT_EQ(actions.observed->owner_id, "other");
  EXPECT_EQ(actions.observed->fencing_token, 3U);
  EXPECT_EQ(actions.watching, Watching::begin);
}

TEST(ContentionMachineContending, WatchesOnlyOnce) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  const Actions again = driver.tick_at_wake();
  ASSERT_TRUE(again.send);
  EXPECT_EQ(driver.answer(*again.send, driver.held("other", 3)).watching, Watching::unchanged);
}

TEST(ContentionMachineContending, AsksAgainWhenTheLeaseOfTheOwnerMustHaveEnded) {
  MachineDriver driver;
  const LocalTime asked = driver.now();
  driver.answer(driver.started(), driver.held("other", 3));
  EXPECT_GE(driver.machine().wake_at(), asked + 16s - 200ms);
  EXPECT_LT(driver.machine().wake_at(), asked + 16s + 1s);
}

TEST(ContentionMachineContending, NeverAsksInATightLoopNearTheEndOfALease) {
  MachineDriver driver;
  LeaseRecord record = driver.held("other", 3);
  record.transition_left = 0ms;
  driver.answer(driver.started(), record);
  EXPECT_GE(driver.machine().wake_at(), driver.now() + driver.plan().retry_min);
}

TEST(ContentionMachineContending, AsksSoonWhenTheMutexWasFreeButNotGranted) {
  MachineDriver driver;
  driver.answer(driver.started(), MachineDriver::free());
  EXPECT_GE(driver.machine().wake_at(), driver.now() + driver.plan().retry_min);
  EXPECT_LE(driver.machine().wake_at(), driver.now() + 2 * driver.plan().retry_min);
}

TEST(ContentionMachineContending, AsksAtOnceOnAHintThatTheMutexIsFree) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  EXPECT_TRUE(driver.notice(Notice::Kind::changed).send);
}

TEST(ContentionMachineContending, AsksOnceMoreWhenAHintCameWhileARequestWasInFlight) {
  MachineDriver driver;
  const Request request = driver.started();
  EXPECT_FALSE(driver.notice(Notice::Kind::changed).send);
  EXPECT_TRUE(driver.answer(request, driver.held("other", 3)).send);
}

TEST(ContentionMachineContending, AHintNamingAnotherOwnerIsShownAndDelaysNothing) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  const LocalTime wake = driver.machine().wake_at();
  const Actions actions = driver.notice(Notice::Kind::changed, driver.held("third", 4));
  EXPECT_FALSE(actions.send);
  ASSERT_TRUE(actions.observed);
  EXPECT_EQ(actions.observed->owner_id, "third");
  EXPECT_EQ(driver.machine().wake_at(), wake);
}

TEST(ContentionMachineContending, DoesNotAskAsLongAsItHearsThatTheOwnerRenews) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  for (FencingToken token = 4; token < 10; ++token) {
    driver.pass(6s);
    const Actions actions = driver.renewed("other", token);
    EXPECT_FALSE(actions.send);
    EXPECT_EQ(actions.observed.value().fencing_token, token);
    EXPECT_GE(driver.machine().wake_at(), driver.now() + 16s - 200ms);
    EXPECT_LT(driver.machine().wake_at(), driver.now() + 16s + 1s);
  }
  EXPECT_TRUE(driver.tick_at_wake().send) << "the lease that it has heard of last is over";
}

TEST(ContentionMachineContending, CountsARenewalThatItHearsOfLateFromWhenTheStoreSaidIt) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  driver.pass(8s);
  const LocalTime said = driver.now() - 3s;
  driver.renewed("other", 4, said);
  EXPECT_GE(driver.machine().wake_at(), said + 16s - 200ms);
  EXPECT_LT(driver.machine().wake_at(), said + 16s + 1s);
}

TEST(ContentionMachineContending, ARenewalNeverBringsForwardAnAttempt) {
  MachineDriver driver;
  LeaseRecord record = driver.held("other", 3);
  record.transition_left = 10min;
  driver.answer(driver.started(), record);
  const LocalTime wake = driver.machine().wake_at();
  driver.renewed("other", 4);
  EXPECT_EQ(driver.machine().wake_at(), wake);
}

TEST(ContentionMachineContending, ARenewalPutsAnAttemptOffByALeaseOfItsOwnAtMost) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  driver.pass(6s);
  LeaseRecord record = driver.held("other", 4);
  record.transition_left = 1h;  // by a clock that is behind that of the server which decides
  record.counted_from = driver.now();
  driver.notice(Notice::Kind::renewed, record);
  EXPECT_GE(driver.machine().wake_at(), driver.now() + 16s - 200ms);
  EXPECT_LT(driver.machine().wake_at(), driver.now() + 16s + 1s);
}

TEST(ContentionMachineContending, ARenewalThatIsOlderThanWhatItKnowsDelaysNothing) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 5));
  const LocalTime wake = driver.machine().wake_at();
  driver.pass(6s);
  driver.renewed("other", 4);
  EXPECT_EQ(driver.machine().wake_at(), wake);
}

TEST(ContentionMachineContending, ARenewalThatDoesNotSaySinceWhenDelaysNothing) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  const LocalTime wake = driver.machine().wake_at();
  driver.pass(6s);
  EXPECT_TRUE(driver.notice(Notice::Kind::renewed, driver.held("other", 4)).observed);
  EXPECT_EQ(driver.machine().wake_at(), wake);
}

TEST(ContentionMachineContending, ARenewalDelaysNoRequestThatIsRepeatedAfterAnError) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  driver.answer(driver.tick_at_wake().send.value(), MachineDriver::unavailable());
  const LocalTime wake = driver.machine().wake_at();
  driver.renewed("other", 4);
  EXPECT_EQ(driver.machine().wake_at(), wake);
}

TEST(ContentionMachineContending, ARenewalTakesBackNoHintThatTheMutexIsFree) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  const Request request = driver.tick_at_wake().send.value();
  driver.notice(Notice::Kind::changed);
  driver.renewed("other", 4);
  EXPECT_TRUE(driver.answer(request, driver.held("other", 4)).send);
}

TEST(ContentionMachineContending, BelievesAGrantThatTheStoreSendsByItself) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  LeaseRecord record = driver.mine(4);
  record.counted_from = driver.now() - 1s;
  const Actions actions = driver.notice(Notice::Kind::granted, record);
  ASSERT_TRUE(actions.granted);
  EXPECT_EQ(actions.watching, Watching::end);
  EXPECT_EQ(driver.machine().owned_until(), driver.now() - 1s + 15'500ms);
}

TEST(ContentionMachineContending, AsksInsteadOfBelievingAGrantThatDoesNotSaySinceWhen) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  const Actions actions = driver.notice(Notice::Kind::granted, driver.mine(4));
  EXPECT_FALSE(actions.granted);
  ASSERT_TRUE(actions.send);
  EXPECT_EQ(actions.send->kind, Request::Kind::acquire);
}

TEST(ContentionMachineContending, AsksInsteadOfBelievingAGrantOfAnOldToken) {
  MachineDriver driver;
  driver.own(9);
  const Actions lost = driver.notice(Notice::Kind::revoked);
  const Actions asking = driver.step(Drained{.drain = lost.drain.value()});
  driver.answer(asking.send.value(), driver.held("other", 10));
  LeaseRecord record = driver.mine(9);
  record.counted_from = driver.now();
  EXPECT_FALSE(driver.notice(Notice::Kind::granted, record).granted);
}

TEST(ContentionMachineContending, AsksInsteadOfBelievingAGrantThatIsTooOld) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  LeaseRecord record = driver.mine(4);
  record.counted_from = driver.now() - 16s;
  const Actions actions = driver.notice(Notice::Kind::granted, record);
  EXPECT_FALSE(actions.granted);
  EXPECT_TRUE(actions.send);
}

TEST(ContentionMachineContending, AGrantForSomebodyElseIsOnlyAHint) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  const Actions actions = driver.notice(Notice::Kind::granted, driver.held("third", 4));
  EXPECT_FALSE(actions.granted);
  EXPECT_TRUE(actions.send);
}

TEST(ContentionMachineContending, RetriesAFailedAttemptWithAGrowingPause) {
  MachineDriver driver;
  Request request = driver.started();
  std::chrono::nanoseconds longest{0};
  for (int i = 0; i < 10; ++i) {
    const Actions failed = driver.answer(request, MachineDriver::unavailable());
    EXPECT_TRUE(find_event<AcquireFailed>(failed));
    const auto pause = driver.machine().wake_at() - driver.now();
    EXPECT_GE(pause, 50ms);
    EXPECT_LE(pause, 1s);
    longest = std::max(longest, pause);
    request = driver.tick_at_wake().send.value();
  }
  EXPECT_GE(longest, 500ms);
}

TEST(ContentionMachineContending, RetriesSlowlyWhereTheStoreRefusesUsForGood) {
  MachineDriver driver;
  driver.answer(driver.started(), Error{ErrorKind::authentication, "wrong password"});
  EXPECT_EQ(driver.machine().wake_at(), driver.now() + driver.plan().retry_refused);
}

TEST(ContentionMachineContending, ARequestWithoutAnAnswerTimesOutAndIsRepeated) {
  MachineDriver driver;
  const Request request = driver.started();
  EXPECT_EQ(driver.machine().wake_at(), driver.now() + 2s);
  const Actions actions = driver.tick_at_wake();
  const auto* failed = find_event<AcquireFailed>(actions);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->error.kind(), ErrorKind::timeout);
  const Actions again = driver.tick_at_wake();
  ASSERT_TRUE(again.send);
  EXPECT_NE(again.send->id, request.id);
}

TEST(ContentionMachineContending, ALateGrantOfATimedOutRequestIsBelievedFromItsOwnSending) {
  MachineDriver driver;
  const Request first = driver.started();
  driver.tick_at_wake();
  const Request second = driver.tick_at_wake().send.value();
  const Actions granted = driver.answer(first, driver.mine(1));
  ASSERT_TRUE(granted.granted);
  EXPECT_EQ(driver.machine().owned_until(), first.sent_at + 15'500ms);
  // The second one raised the token at the store; the contender's stays, the release knows.
  driver.answer(second, driver.mine(2));
  EXPECT_EQ(driver.phase(), Phase::owning);
  const Actions stopping = driver.step(Stop{});
  const Actions released = driver.step(Drained{.drain = stopping.drain.value()});
  EXPECT_EQ(released.send.value().token, 2U);
}

TEST(ContentionMachineContending, ALateRefusalOrErrorOfATimedOutRequestChangesNothing) {
  MachineDriver driver;
  const Request first = driver.started();
  driver.tick_at_wake();
  const LocalTime wake = driver.machine().wake_at();
  EXPECT_FALSE(driver.answer(first, driver.held("other", 1)).observed);
  EXPECT_TRUE(driver.answer(first, MachineDriver::unavailable()).events.empty());
  EXPECT_EQ(driver.machine().wake_at(), wake);
}

TEST(ContentionMachineContending, ALostSessionMakesItAskAgain) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  EXPECT_TRUE(driver.notice(Notice::Kind::revoked).send);
}

TEST(ContentionMachineContending, ASuspendedSessionIsNothingToAWaiter) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  const Actions actions = driver.notice(Notice::Kind::suspended);
  EXPECT_FALSE(actions.send);
  EXPECT_TRUE(actions.events.empty());
}

}  // namespace
}  // namespace simba::engine
