// The checker of the simulation is told of things that must not happen, and says so.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checker_fixture.hpp"

namespace simba::sim {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST_F(CheckerTest, OwnersThatFollowEachOtherAreFine) {
  first_service_.own(1);
  look();
  first_service_.owner = false;
  first_service_.signal.request_stop();
  look();
  second_service_.own(2);
  look();
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  EXPECT_EQ(checker_.ownerships(), 2U);
}

TEST_F(CheckerTest, TwoOwnersAreNamed) {
  first_service_.own(1);
  look();
  second_service_.own(2);
  look();
  EXPECT_EQ(checker_.rule(), Rule::two_owners);
  EXPECT_THAT(checker_.what(), HasSubstr("a in one"));
  EXPECT_THAT(checker_.what(), HasSubstr("b in other"));
}

TEST_F(CheckerTest, AnOwnerInACrashedProcessIsNone) {
  first_service_.own(1);
  look();
  one_.crash();
  second_service_.own(2);
  look();
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(CheckerTest, TwoOwnersAreExcusedOnlyUntilTheServerAnswersAgain) {
  checker_.heard(one_, "a", world_.now(), world_.now(), 1);
  first_service_.own(1);
  look();
  checker_.forgot(world_.now() - 1s, world_.now());
  second_service_.own(2);
  look();
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  second_service_.owner = false;
  look();
  pass(1s);
  checker_.heard(one_, "a", world_.now(), world_.now(), 1);
  second_service_.own(3);
  look();
  EXPECT_EQ(checker_.rule(), Rule::two_owners);
}

TEST_F(CheckerTest, AnAnswerToARequestOfAnEarlierLifeEndsNoExcuse) {
  const LocalTime before = world_.now();
  pass(1s);
  checker_.heard(one_, "a", world_.now(), world_.now(), 2);
  first_service_.own(2);
  look();
  checker_.forgot(world_.now() - 500ms, world_.now());
  pass(1s);
  checker_.heard(one_, "a", before, world_.now(), 1);
  second_service_.own(3);
  look();
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(CheckerTest, ATokenThatDoesNotGrowIsFound) {
  first_service_.own(5);
  look();
  first_service_.owner = false;
  look();
  second_service_.own(5);
  look();
  EXPECT_EQ(checker_.rule(), Rule::token_order);
}

TEST_F(CheckerTest, AGrantWithATokenThatDoesNotGrowIsFound) {
  checker_.executed(call(Call::Kind::acquire, first_), one_, Record{}, held_by(first_, 7));
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  checker_.executed(call(Call::Kind::acquire, second_), other_, Record{}, held_by(second_, 7));
  EXPECT_EQ(checker_.rule(), Rule::token_order);
}

TEST_F(CheckerTest, ABeliefBeyondTheLeaseIsFound) {
  record_ = held_by(first_, 1);
  const LocalTime end{record_.transition_at};
  const auto believe = [&](LocalTime until) {
    LocalLease lease;
    lease.transition_at = until;
    first_service_.state =
        MutexState{MutexOwner::none(), MutexOwner{"a", {}, lease, 1, one_.runtime()->clock}};
    checker_.heard(one_, "a", world_.now(), world_.now(), 1);
    look();
  };
  first_service_.own(1);
  believe(end - plan_.margin);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  believe(end - plan_.margin / 2);
  EXPECT_EQ(checker_.rule(), Rule::deadline);
}

TEST_F(CheckerTest, ALossThatIsNotSignalledBeforeTheNextGrantIsFound) {
  first_service_.own(1);
  look();
  first_service_.owner = false;
  look();
  checker_.executed(call(Call::Kind::acquire, second_), other_, held_by(first_, 1),
                    held_by(second_, 2));
  EXPECT_EQ(checker_.rule(), Rule::silent_loss);
}

TEST_F(CheckerTest, AGrantBesideAnOwnerIsFoundAlsoInAPausedProcess) {
  first_service_.own(1);
  look();
  one_.pause(1s);
  first_service_.owner = false;
  checker_.executed(call(Call::Kind::acquire, second_), other_, held_by(first_, 1),
                    held_by(second_, 2));
  EXPECT_FALSE(checker_.failed()) << "it cannot be signalled";
  first_service_.owner = true;
  checker_.executed(call(Call::Kind::acquire, second_), other_, held_by(first_, 1),
                    held_by(second_, 3));
  EXPECT_EQ(checker_.rule(), Rule::two_owners);
}

TEST_F(CheckerTest, ALossThatIsNotToldToWhoAsksAfreshIsFound) {
  first_service_.own(1);
  look();
  first_service_.owner = false;
  first_service_.tells_losses = false;
  look();
  EXPECT_EQ(checker_.rule(), Rule::silent_loss);
}

TEST_F(CheckerTest, ACallbackAfterStopIsFound) {
  checker_.started(first_);
  checker_.acquired_begins(first_);
  checker_.callback_ends(first_, false);
  checker_.stop_begins(first_);
  checker_.released_begins(first_);
  checker_.callback_ends(first_, true);
  checker_.stop_returned(first_);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  checker_.acquired_begins(first_);
  EXPECT_EQ(checker_.rule(), Rule::callback_after_stop);
}

TEST_F(CheckerTest, CallbacksThatDoNotTakeTurnsAreFound) {
  checker_.started(first_);
  checker_.released_begins(first_);
  EXPECT_EQ(checker_.rule(), Rule::callback_order);
}

TEST_F(CheckerTest, AReleaseBeforeTheCallbackHasReturnedIsFound) {
  checker_.started(first_);
  checker_.heard(one_, "a", world_.now(), world_.now(), 1);
  checker_.acquired_begins(first_);
  checker_.callback_ends(first_, false);
  checker_.stop_begins(first_);
  checker_.released_begins(first_);
  const Record free{.token = 1};
  checker_.executed(call(Call::Kind::release, first_, 1), one_, held_by(first_, 1), free);
  EXPECT_EQ(checker_.rule(), Rule::early_release);
}

TEST_F(CheckerTest, AReleaseOfAForgottenOlderGrantIsFoundWhereTheOwnerDoesNotKnow) {
  checker_.started(first_);
  checker_.heard(one_, "a", world_.now(), world_.now(), 1);
  first_service_.own(2);
  look();
  checker_.acquired_begins(first_);
  checker_.callback_ends(first_, false);
  checker_.forgot(world_.now() - 1s, world_.now());
  pass(2s);
  checker_.heard(one_, "a", world_.now(), world_.now(), 1);
  checker_.executed(call(Call::Kind::release, first_, 1), one_, held_by(first_, 1),
                    Record{.token = 1});
  EXPECT_EQ(checker_.rule(), Rule::early_release);
}

TEST_F(CheckerTest, AReleaseOfAnOlderGrantIsExcusedOnlyWhereTheServerForgotTheNewerOne) {
  checker_.started(first_);
  checker_.heard(one_, "a", world_.now(), world_.now(), 1);
  first_service_.own(2);
  look();
  checker_.acquired_begins(first_);
  checker_.callback_ends(first_, false);
  const LocalTime granted = world_.now();
  first_service_.signal.request_stop();
  checker_.stop_begins(first_);
  pass(2s);
  checker_.heard(one_, "a", world_.now(), world_.now(), 1);
  const Call release = call(Call::Kind::release, first_, 1);
  checker_.forgot(granted - 1s, granted);
  checker_.executed(release, one_, held_by(first_, 1), Record{.token = 1});
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  first_.granted = world_.now();
  checker_.executed(release, one_, held_by(first_, 1), Record{.token = 1});
  EXPECT_EQ(checker_.rule(), Rule::early_release);
}

TEST_F(CheckerTest, AReleaseBeyondTheDrainLimitIsExcusedAndCounted) {
  checker_.started(first_);
  checker_.acquired_begins(first_);
  checker_.callback_ends(first_, false);
  checker_.stop_begins(first_);
  pass(plan_.drain_limit);
  checker_.heard(one_, "a", world_.now(), world_.now(), 1);
  const Record free{.token = 1};
  checker_.executed(call(Call::Kind::release, first_, 1), one_, held_by(first_, 1), free);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  EXPECT_EQ(checker_.excused(), 1U);
}

TEST_F(CheckerTest, AGrantAfterStopThatIsNotGivenBackIsFound) {
  checker_.grant_arrives(one_, "a");
  checker_.asks_to_release(one_, "a", 1);
  checker_.grant_arrived(one_, "a", 1);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  checker_.grant_arrives(one_, "a");
  checker_.grant_arrived(one_, "a", 1);
  EXPECT_FALSE(checker_.failed()) << checker_.what();  // it may still do so
  pass(plan_.request_timeout + 1s);
  EXPECT_EQ(checker_.rule(), Rule::kept_grant);
}

TEST_F(CheckerTest, ALeaseThatIsShownForLongerThanTheStoreKeepsItIsFound) {
  record_ = held_by(first_, 1);
  first_service_.shown = one_.local_now() + 16s - plan_.margin;
  look();
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  first_service_.shown += 1ms;
  look();
  EXPECT_EQ(checker_.rule(), Rule::wrong_lease);
}

TEST_F(CheckerTest, ALeaseThatIsShownOfWhatAnotherOwnsIsFound) {
  record_ = held_by(second_, 2);
  first_service_.shown = one_.local_now() + 1s;
  look();
  EXPECT_EQ(checker_.rule(), Rule::wrong_lease);
}

TEST_F(CheckerTest, AGrantToAnotherWhileALeaseIsShownIsFound) {
  record_ = held_by(first_, 1);
  first_service_.shown = one_.local_now() + 10s;
  look();
  checker_.executed(call(Call::Kind::acquire, second_), other_, record_, held_by(second_, 2));
  EXPECT_EQ(checker_.rule(), Rule::wrong_lease);
}

TEST_F(CheckerTest, ALeaseOfWhichTheServerHasForgottenTheGrantMayBeShown) {
  checker_.heard(one_, "a", world_.now(), world_.now(), 1);
  first_service_.own(1);
  look();
  checker_.forgot(world_.now() - 1s, world_.now());
  pass(2s);
  checker_.heard(one_, "a", world_.now(), world_.now(), 1);  // of an older grant
  first_service_.owner = false;
  first_service_.shown = one_.local_now() + 10s;
  record_ = held_by(second_, 2);
  look();
  EXPECT_NE(checker_.rule(), Rule::wrong_lease) << checker_.what();
}

TEST_F(CheckerTest, ARenewalOfALeaseThatIsOverIsFound) {
  const Record before = held_by(first_, 1);
  pass(16s + 1ms);
  checker_.executed(call(Call::Kind::guard, first_), one_, before, held_by(first_, 1));
  EXPECT_EQ(checker_.rule(), Rule::late_renewal);
}

TEST_F(CheckerTest, WorkWithASmallerTokenOrWithoutTheLeadIsFound) {
  checker_.started(first_);
  checker_.started(second_);
  second_service_.own(2);
  checker_.work_begins(second_);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  first_service_.own(1);
  checker_.work_begins(first_);
  EXPECT_EQ(checker_.rule(), Rule::work_order);
}

TEST_F(CheckerTest, NobodyOwningInPeaceForLongerThanTheBoundIsFound) {
  checker_.started(first_);
  checker_.peace_begins();
  pass(checker_.owner_bound());
  checker_.check_owners();
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  pass(1ms);
  checker_.check_owners();
  EXPECT_EQ(checker_.rule(), Rule::no_owner);
}

TEST_F(CheckerTest, NobodyTakingOverFromACrashedOwnerWithinTheBoundIsFound) {
  checker_.started(first_);
  checker_.started(second_);
  first_service_.own(1);
  look();
  checker_.peace_begins();
  pass(1h);
  one_.crash();
  checker_.crashed(one_);
  pass(checker_.owner_bound());
  checker_.check_owners();
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  pass(1ms);
  second_service_.own(2);
  look();
  EXPECT_EQ(checker_.rule(), Rule::no_owner);
}

TEST_F(CheckerTest, WhatTheLibraryCallsAnErrorOfItsOwnIsFound) {
  checker_.logged(one_, "on_released of mutex [m0] takes longer than its limit");
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  checker_.logged(one_, "internal error: something that cannot be");
  EXPECT_EQ(checker_.rule(), Rule::internal_error);
  EXPECT_THAT(checker_.what(), HasSubstr("one logs: internal error"));
}

TEST_F(CheckerTest, AnAcquireBeyondItsTimeIsFound) {
  checker_.took(first_, Rule::late_return, "acquire(timeout)", 1s, 1s);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  checker_.took(first_, Rule::late_return, "acquire(timeout)", 2s, 1s);
  EXPECT_EQ(checker_.rule(), Rule::late_return);
}

TEST_F(CheckerTest, ABrokenRuleIsTheLastThingInTheTrace) {
  Trace trace{true};
  const Scene scene{world_, threads_, trace};
  Checker checker{scene, 1, plan_};
  checker.fail(Rule::leak, "something");
  checker.fail(Rule::leak, "something else");
  trace.event(world_.now(), "one", "goes on");
  EXPECT_THAT(trace.text(), testing::EndsWith("leak broken: something\n"));
}

TEST_F(CheckerTest, AStopBeyondItsBoundIsFound) {
  checker_.took(first_, Rule::slow_stop, "stop()", checker_.stop_bound(), checker_.stop_bound());
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  checker_.took(first_, Rule::slow_stop, "stop()", checker_.stop_bound() + 1s,
                checker_.stop_bound());
  EXPECT_EQ(checker_.rule(), Rule::slow_stop);
}

}  // namespace
}  // namespace simba::sim
