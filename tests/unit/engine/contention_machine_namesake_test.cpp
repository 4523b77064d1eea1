// Another process uses the same contender id.

#include <gmock/gmock.h>

#include "machine_driver.hpp"

namespace simba::engine {
namespace {

using Phase = ContentionMachine::Phase;
using Kind = Request::Kind;

LeaseRecord by_namesake(const MachineDriver& driver, FencingToken token) {
  LeaseRecord record = driver.mine(token);
  record.namesake = true;
  return record;
}

TEST(ContentionMachineNamesake, AnOwnerWhoseMutexANamesakeHasLosesItWithAReasonOfItsOwn) {
  MachineDriver driver;
  driver.own(3);
  const Actions actions = driver.answer(driver.renewing(), by_namesake(driver, 4));
  EXPECT_TRUE(actions.lost);
  EXPECT_FALSE(actions.renewed);
  ASSERT_NE(find_event<OwnershipLost>(actions), nullptr);
  EXPECT_EQ(find_event<OwnershipLost>(actions)->reason, LossReason::duplicate_id);
  EXPECT_EQ(find_event<OwnershipLost>(actions)->fencing_token, 3U);
  EXPECT_EQ(actions.observed->owner_id, "") << "its own id would look as if it owned it";
  EXPECT_EQ(driver.machine().owned_until(), LocalTime::min());
}

TEST(ContentionMachineNamesake, TheOneThatHasNoticedStaysOutAndReleasesNothing) {
  MachineDriver driver;  // which would contend again after any other loss
  driver.own(3);
  const Actions lost = driver.answer(driver.renewing(), by_namesake(driver, 4));
  const Actions drained = driver.step(Drained{.drain = lost.drain.value_or(0)});
  EXPECT_EQ(driver.phase(), Phase::lapsed);
  EXPECT_FALSE(drained.send);
  EXPECT_FALSE(drained.give_back);
  driver.pass(1h);
  EXPECT_FALSE(driver.tick().send);
  EXPECT_FALSE(driver.notice(Notice::Kind::changed).send);
  const Actions stopped = driver.step(Stop{});
  EXPECT_TRUE(stopped.settled);
  EXPECT_FALSE(stopped.send);
}

TEST(ContentionMachineNamesake, IsToldAlsoToOneThatIsStopping) {
  MachineDriver driver;
  driver.own(3);
  driver.step(Stop{});
  const Actions lost = driver.answer(driver.renewing(), by_namesake(driver, 4));
  ASSERT_NE(find_event<OwnershipLost>(lost), nullptr);
  EXPECT_EQ(find_event<OwnershipLost>(lost)->reason, LossReason::duplicate_id);
  EXPECT_FALSE(lost.drain_overrun) << "the lease has not ended";
  EXPECT_FALSE(lost.send || lost.give_back);
}

TEST(ContentionMachineNamesake, AFormerLifeThatTheStoreRemembersInOurPlaceIsTakenOverAgain) {
  MachineDriver driver;
  driver.own(3);
  const Actions lost = driver.answer(driver.renewing(), by_namesake(driver, 2));
  EXPECT_EQ(find_event<OwnershipLost>(lost)->reason, LossReason::taken_over);
  EXPECT_TRUE(driver.step(Drained{.drain = lost.drain.value_or(0)}).send);
}

TEST(ContentionMachineNamesake, ItContendsAgainWhenItIsStoppedAndStarted) {
  MachineDriver driver;
  driver.own(3);
  const Actions lost = driver.answer(driver.renewing(), by_namesake(driver, 4));
  driver.step(Drained{.drain = lost.drain.value_or(0)});
  driver.step(Stop{});
  const Actions again = driver.answer(driver.started(), driver.mine(5));
  EXPECT_TRUE(again.granted);
  const Actions other = driver.answer(driver.renewing(), driver.held("other", 6));
  EXPECT_EQ(find_event<OwnershipLost>(other)->reason, LossReason::taken_over);
  EXPECT_TRUE(driver.step(Drained{.drain = other.drain.value_or(0)}).send) << "no longer barred";
}

TEST(ContentionMachineNamesake, AFormerLifeIsTakenOverAtOnceByNamingItsToken) {
  MachineDriver driver;
  const Request first = driver.started();
  EXPECT_EQ(first.token, 0U);
  const Actions told = driver.answer(first, by_namesake(driver, 7));
  EXPECT_FALSE(told.granted);
  ASSERT_TRUE(told.send);
  EXPECT_EQ(told.send->kind, Kind::acquire);
  EXPECT_EQ(told.send->token, 7U);
  EXPECT_TRUE(told.events.empty());
  EXPECT_TRUE(driver.answer(*told.send, driver.mine(8)).granted);
}

TEST(ContentionMachineNamesake, OneThatRenewsMeanwhileIsTakenOverByItsNewToken) {
  MachineDriver driver;
  const Actions told = driver.answer(driver.started(), by_namesake(driver, 7));
  const Actions again = driver.answer(told.send.value_or(Request{}), by_namesake(driver, 8));
  ASSERT_TRUE(again.send);
  EXPECT_EQ(again.send->token, 8U);
}

TEST(ContentionMachineNamesake, WhereTheStoreDoesNotLetItItWaitsAndSaysWhy) {
  MachineDriver driver;
  const Actions told = driver.answer(driver.started(), by_namesake(driver, 7));
  const Actions refused = driver.answer(told.send.value_or(Request{}), by_namesake(driver, 7));
  EXPECT_EQ(driver.phase(), Phase::contending);
  EXPECT_FALSE(refused.send);
  ASSERT_NE(find_event<AcquireFailed>(refused), nullptr);
  EXPECT_EQ(find_event<AcquireFailed>(refused)->error.kind(), ErrorKind::unavailable);
  EXPECT_TRUE(find_event<AcquireFailed>(refused)->namesake);
  EXPECT_EQ(refused.watching, Actions::Watching::begin);
  const Actions next = driver.tick_at_wake();
  ASSERT_TRUE(next.send);
  EXPECT_TRUE(driver.answer(*next.send, driver.mine(9)).granted) << "the former life has ended";
}

TEST(ContentionMachineNamesake, OneThatOutlivesItsLeaseIsAnotherProcessAndItStaysOut) {
  MachineDriver driver;
  const LocalTime began = driver.now();
  Actions told = driver.answer(driver.started(), by_namesake(driver, 7));
  told = driver.answer(told.send.value_or(Request{}), by_namesake(driver, 7));
  for (int asked = 0; driver.phase() == Phase::contending; ++asked) {
    ASSERT_LT(asked, 5);
    const Actions next = driver.tick_at_wake();
    told = driver.answer(next.send.value_or(Request{}), by_namesake(driver, 7));
  }
  EXPECT_EQ(driver.phase(), Phase::lapsed);
  EXPECT_GE(driver.now(), began + 24s) << "a former life would have ended by then";
  EXPECT_LE(driver.now(), began + 40s);
  ASSERT_NE(find_event<AcquireFailed>(told), nullptr);
  EXPECT_EQ(find_event<AcquireFailed>(told)->error.kind(), ErrorKind::duplicate_id);
  EXPECT_THAT(find_event<AcquireFailed>(told)->error.what(), testing::HasSubstr("[me]"));
  ASSERT_TRUE(told.give_back) << "it leaves the queue";
  EXPECT_EQ(told.give_back->kind, Kind::release);
  driver.pass(1h);
  EXPECT_FALSE(driver.tick().send);
}

TEST(ContentionMachineNamesake, WhatALivingOneRenewsIsNoReasonToAskAgain) {
  MachineDriver driver;
  const Actions told = driver.answer(driver.started(), by_namesake(driver, 7));
  driver.answer(told.send.value_or(Request{}), by_namesake(driver, 7));
  const LocalTime wake = driver.machine().wake_at();
  driver.pass(6s);
  EXPECT_FALSE(driver.renewed(MachineDriver::me, 8).send);
  EXPECT_EQ(driver.machine().wake_at(), wake) << "nor to put off the attempt that is due";
  const Request due = driver.tick_at_wake().send.value();
  driver.renewed(MachineDriver::me, 9);
  const Actions asked = driver.answer(due, by_namesake(driver, 9));
  EXPECT_FALSE(driver.answer(asked.send.value(), by_namesake(driver, 9)).send);
  EXPECT_TRUE(driver.notice(Notice::Kind::changed).send) << "it may have ended";
}

TEST(ContentionMachineNamesake, ARenewalUnderItsIdIsWorthAskingUntilTheStoreHasRefusedIt) {
  MachineDriver driver;
  driver.answer(driver.started(), driver.held("other", 3));
  driver.pass(6s);
  EXPECT_TRUE(driver.renewed(MachineDriver::me, 4).send);
}

TEST(ContentionMachineNamesake, AnOutageMeanwhileProvesNothing) {
  MachineDriver driver;
  Actions told = driver.answer(driver.started(), by_namesake(driver, 7));
  told = driver.answer(told.send.value_or(Request{}), by_namesake(driver, 7));
  for (int asked = 0; asked < 20; ++asked) {
    const Actions next = driver.tick_at_wake();
    if (!next.send) continue;
    if (asked % 2 == 0) {
      driver.answer(*next.send, MachineDriver::unavailable());
    } else {
      driver.answer(*next.send, by_namesake(driver, 7));
    }
  }
  EXPECT_EQ(driver.phase(), Phase::contending);
}

TEST(ContentionMachineNamesake, AReleaseThatFindsANamesakeIsDone) {
  MachineDriver driver;
  driver.own(3);
  const Actions stopped = driver.step(Stop{});
  const Actions drained = driver.step(Drained{.drain = stopped.drain.value_or(0)});
  ASSERT_TRUE(drained.send);
  const Actions answered = driver.answer(*drained.send, by_namesake(driver, 9));
  EXPECT_TRUE(answered.settled);
  EXPECT_FALSE(answered.send) << "it would free the mutex of another";
}

}  // namespace
}  // namespace simba::engine
