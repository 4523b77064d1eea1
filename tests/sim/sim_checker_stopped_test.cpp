// The checker of the simulation is told of what those who have stopped leave behind.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checker_fixture.hpp"

namespace simba::sim {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class StoppedCheckerTest : public CheckerTest {
 protected:
  const nanoseconds wait_ = plan_.request_timeout + unhurried;
};

TEST_F(StoppedCheckerTest, AnOwnerThatTheServerStillNamesAfterItsEndIsFound) {
  record_ = held_by(first_, 1);
  checker_.gone(first_);
  EXPECT_FALSE(checker_.failed()) << checker_.what();  // the release may be under way
  pass(wait_);
  EXPECT_EQ(checker_.rule(), Rule::leak);
  EXPECT_THAT(checker_.what(), HasSubstr("a in one"));
}

TEST_F(StoppedCheckerTest, NothingIsLeftOnceTheServerHasHeardOfTheRelease) {
  record_ = held_by(first_, 1);
  checker_.gone(first_);
  record_ = held_by(second_, 2);
  pass(wait_);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(StoppedCheckerTest, ALeaseMayRunOutBehindACallbackBeyondItsLimitAndBehindACrash) {
  record_ = held_by(first_, 1);
  first_.excused_turn = true;
  checker_.gone(first_);
  pass(wait_);
  first_.excused_turn = false;
  one_.crash();
  checker_.gone(first_);
  pass(wait_);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(StoppedCheckerTest, AGrantThatTheServerStillKnowsThoughItWasGivenBackIsFound) {
  record_ = held_by(first_, 7);
  checker_.grant_arrives(one_, "a");
  checker_.asks_to_release(one_, "a", 1);
  checker_.grant_arrived(one_, "a", 7);
  pass(wait_);
  EXPECT_EQ(checker_.rule(), Rule::kept_grant);
}

TEST_F(StoppedCheckerTest, AGrantThatWasGivenBackInTroubleOrReplacedIsNotKept) {
  const auto give_back = [&] {
    checker_.grant_arrives(one_, "a");
    checker_.asks_to_release(one_, "a", 1);
    checker_.grant_arrived(one_, "a", 7);
    pass(wait_);
  };
  record_ = held_by(first_, 7);
  calm_since_ = world_.now() + 1ms;
  give_back();
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  pass(1h);
  record_ = held_by(first_, 8);
  give_back();
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(StoppedCheckerTest, TroubleAtTheBeginningOfAStopThatTakesLongIsAnExcuseToo) {
  const auto stop_and_get = [&](FencingToken token) {
    checker_.started(first_);
    checker_.stop_begins(first_);
    pass(20s);
    checker_.stop_returned(first_);
    record_ = held_by(first_, token);
    checker_.grant_arrives(one_, "a");
    checker_.asks_to_release(one_, "a", token);
    checker_.grant_arrived(one_, "a", token);
    pass(wait_);
  };
  calm_since_ = world_.now();
  stop_and_get(7);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  pass(1min);
  stop_and_get(8);
  EXPECT_EQ(checker_.rule(), Rule::kept_grant);
}

TEST_F(StoppedCheckerTest, AMutexThatItKnowsToBeItsOwnAndDoesNotGiveBackIsFound) {
  record_ = held_by(first_, 7);
  calm_since_ = world_.now() + 1h;  // which is no excuse
  checker_.still_named(one_, "a", 7);
  checker_.asks_to_release(one_, "a", 7);
  pass(wait_ + plan_.retry_max);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  record_ = held_by(first_, 8);
  checker_.still_named(one_, "a", 8);
  pass(wait_ + plan_.retry_max);
  EXPECT_EQ(checker_.rule(), Rule::kept_grant);
}

TEST_F(StoppedCheckerTest, AMutexThatItKnowsToBeItsOwnMayBeKeptByTheNextLifeOrBeGone) {
  record_ = held_by(first_, 7);
  checker_.still_named(one_, "a", 7);
  checker_.started(first_);
  pass(wait_ + plan_.retry_max);
  checker_.has_stopped(first_);
  checker_.still_named(one_, "a", 7);
  record_ = held_by(second_, 8);
  pass(wait_ + plan_.retry_max);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(StoppedCheckerTest, ALockerThatKeepsAGrantAfterItsCloseIsFound) {
  first_.kind = Party::Kind::locker;
  checker_.grant_arrives(one_, "a");
  checker_.grant_arrived(one_, "a", 7);
  pass(wait_);
  EXPECT_EQ(checker_.rule(), Rule::kept_grant);
}

TEST_F(StoppedCheckerTest, AStopThatOnlyWaitedForTheStoreExcusesNoTurn) {
  checker_.started(first_);
  checker_.stop_begins(first_);
  pass(plan_.drain_limit);
  checker_.stop_returned(first_);
  EXPECT_FALSE(first_.excused_turn);
  checker_.started(first_);
  checker_.released_begins(first_);
  EXPECT_EQ(checker_.rule(), Rule::callback_order);
}

TEST_F(StoppedCheckerTest, AStopBehindACallbackBeyondItsLimitExcusesATurn) {
  checker_.started(first_);
  checker_.acquired_begins(first_);
  checker_.stop_begins(first_);
  pass(plan_.drain_limit);
  checker_.stop_returned(first_);
  EXPECT_TRUE(first_.excused_turn);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

/// A grant to another one while an owner that was stopped winds up.
class WindUpCheckerTest : public CheckerTest {
 protected:
  WindUpCheckerTest() {
    checker_.started(first_);
    first_service_.own(1);
    look();
    checker_.acquired_begins(first_);
    checker_.callback_ends(first_, false);
    checker_.stop_begins(first_);
    first_service_.signal.request_stop();
    first_service_.owner = false;
    look();
    checker_.released_begins(first_);
    pass(1s);
  }

  void grant_on() {
    checker_.executed(call(Call::Kind::acquire, second_), other_, held_by(first_, 1),
                      held_by(second_, 2));
  }
};

TEST_F(WindUpCheckerTest, AReleaseOfWhatIsToRunOutIsFound) {
  checker_.withholds(first_, one_.local_now() + 16s);
  checker_.callback_ends(first_, true);
  checker_.stop_returned(first_);
  pass(15s);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  checker_.asks_to_release(one_, "a", 1);
  EXPECT_EQ(checker_.rule(), Rule::early_release);
}

TEST_F(WindUpCheckerTest, WhatHasRunOutMayBeGivenBack) {
  checker_.withholds(first_, one_.local_now() + 16s);
  checker_.callback_ends(first_, true);
  checker_.stop_returned(first_);
  pass(16s);
  checker_.asks_to_release(one_, "a", 1);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(WindUpCheckerTest, OneThatDoesNotShowTheLeaseThatItKeepsIsFound) {
  record_ = held_by(first_, 1);
  first_service_.shown = one_.local_now() + 1s;
  look();
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  first_service_.shown = LocalTime::min();
  look();
  EXPECT_FALSE(checker_.failed()) << "it may be given back, too early: " << checker_.what();
  pass(unhurried);
  EXPECT_EQ(checker_.rule(), Rule::wrong_lease);
}

TEST_F(WindUpCheckerTest, OneThatIsDoneOrCouldNotRenewShowsNoLease) {
  for (const bool done : {false, true}) {
    record_ = held_by(first_, 1);
    first_service_.shown = one_.local_now() + 1s;
    look();
    if (done) {
      checker_.callback_ends(first_, true);
    } else {
      calm_since_ = world_.now();
    }
    first_service_.shown = LocalTime::min();
    look();
    pass(unhurried);
    EXPECT_FALSE(checker_.failed()) << checker_.what();
    calm_since_ = LocalTime::min();
  }
}

TEST_F(WindUpCheckerTest, IsFound) {
  grant_on();
  EXPECT_EQ(checker_.rule(), Rule::early_release);
}

TEST_F(WindUpCheckerTest, IsAllRightWhereMessagesWereInTrouble) {
  calm_since_ = world_.now();
  grant_on();
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(WindUpCheckerTest, IsAllRightBeyondTheDrainLimit) {
  pass(plan_.drain_limit);
  grant_on();
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(StoppedCheckerTest, OneThatHasStoppedAndIsStillInTheQueueIsFound) {
  checker_.started(first_);
  checker_.stop_begins(first_);
  checker_.stop_returned(first_);
  queued_ = "a";
  pass(wait_);
  EXPECT_EQ(checker_.rule(), Rule::leak);
}

TEST_F(StoppedCheckerTest, OneThatHasStoppedInTroubleMayStayInTheQueue) {
  calm_since_ = world_.now();
  checker_.started(first_);
  checker_.stop_begins(first_);
  checker_.stop_returned(first_);
  queued_ = "a";
  pass(wait_);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(StoppedCheckerTest, AnOwnershipThatEndsBeforeItsLeaseWithoutAReasonIsFound) {
  first_service_.own(5);
  look();
  first_.lease_end = one_.local_now() + plan_.lease();
  first_service_.owner = false;
  look();
  EXPECT_EQ(checker_.rule(), Rule::early_loss);
}

TEST_F(StoppedCheckerTest, AnOwnershipThatEndsWithItsLeaseOrBecauseTheStoreRefusedHasAReason) {
  for (const bool refused : {true, false}) {
    first_service_.own(refused ? 5 : 6);
    look();
    first_.lease_end = one_.local_now() + plan_.lease();
    refused ? checker_.renewal_answered(one_, "a", world_.now(), 0) : pass(plan_.lease());
    first_service_.owner = false;
    look();
  }
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(StoppedCheckerTest, AnOwnerThatGoesOnAfterTheStoreHasRefusedToRenewIsFound) {
  first_service_.own(5);
  look();
  checker_.renewal_answered(one_, "a", world_.now(), 0);
  pass(wait_);
  EXPECT_EQ(checker_.rule(), Rule::overlooked_loss);
}

TEST_F(StoppedCheckerTest, AnAnswerToARenewalOfTheOwnershipBeforeIsNoRefusal) {
  const LocalTime before = world_.now();
  pass(1s);
  checker_.heard(one_, "a", world_.now(), world_.now(), 5);
  first_service_.own(5);
  look();
  checker_.renewal_answered(one_, "a", before, 4);
  pass(wait_);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(StoppedCheckerTest, ARenewalUnderTheSameTokenIsNoRefusal) {
  first_service_.own(5);
  look();
  checker_.renewal_answered(one_, "a", world_.now(), 5);
  pass(wait_);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(StoppedCheckerTest, WorkThatBeginsWhenItsSchedulerIsGoneIsFound) {
  first_.service = nullptr;
  EXPECT_FALSE(checker_.work_begins(first_));
  EXPECT_EQ(checker_.rule(), Rule::callback_after_stop);
}

TEST_F(StoppedCheckerTest, ALossThatAServiceHasNotSignalledUntilItsEndIsFound) {
  first_service_.own(1);
  look();
  first_.service = nullptr;
  look();
  checker_.executed(call(Call::Kind::acquire, second_), other_, held_by(first_, 1),
                    held_by(second_, 2));
  EXPECT_EQ(checker_.rule(), Rule::silent_loss);
}

TEST_F(StoppedCheckerTest, ARenewalThatComesWhenTheLeaseIsOverMakesItLastNoLonger) {
  checker_.started(first_);
  const LocalTime asked = world_.now();
  checker_.heard(one_, "a", asked, asked, 1);
  checker_.acquired_begins(first_);
  const LocalTime asked_again = asked + plan_.renew_after;
  pass(plan_.lease());
  checker_.heard(one_, "a", asked_again, asked_again, 1);
  checker_.asks_to_release(one_, "a", 1);
  checker_.executed(call(Call::Kind::release, first_, 1), one_, held_by(first_, 1),
                    Record{.token = 1});
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  EXPECT_EQ(checker_.excused(), 1U);
}

TEST_F(StoppedCheckerTest, NobodyNeedOwnBeforeTheInitialDelayIsOver) {
  ContentionOptions options;
  options.initial_delay = 3s;
  const ContentionPlan plan{options};
  Checker checker{scene_, 1, plan};
  Party& party = checker.add(one_, Party::Kind::candidate, 0, "a");
  checker.started(party);
  checker.peace_begins();
  pass(checker.owner_bound() + 3s);
  checker.check_owners();
  EXPECT_FALSE(checker.failed()) << checker.what();
  pass(1ms);
  checker.check_owners();
  EXPECT_EQ(checker.rule(), Rule::no_owner);
}

}  // namespace
}  // namespace simba::sim
