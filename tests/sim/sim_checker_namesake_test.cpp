// The rules about two processes that use one contender id.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checker_fixture.hpp"

namespace simba::sim {
namespace {

using namespace std::chrono_literals;

constexpr auto barred = "mutex [m0], contender [a]: no longer contending: it is used twice";

class NamesakeCheckerTest : public CheckerTest {
 protected:
  /// The first one owns with token 1, and one of its id, in the other process, takes over.
  void overtake() {
    checker_.expect_namesakes();
    checker_.started(first_);
    first_service_.own(1);
    look();
    const Record before = held_by(first_, 1);
    record_ = held_by(first_, 2);
    record_.instance = 7;
    Call taking = call(Call::Kind::acquire, first_, 1);
    taking.instance = 7;
    checker_.executed(taking, other_, before, record_);
  }
  /// One of the id of the first one, in the other process, is not let in by a store that sees the
  /// first one alive.
  void keep_out() {
    checker_.expect_namesakes(true);
    checker_.started(twin_);
    record_ = held_by(first_, 1);
    record_.transition_at += 1h;
    Call asking = call(Call::Kind::acquire, twin_, 1);
    asking.instance = 7;
    checker_.executed(asking, other_, record_, record_);
  }
  Party& twin_ = checker_.add(other_, Party::Kind::candidate, 0, "a");

  nanoseconds bound() const { return plan_.renew_after + plan_.request_timeout + unhurried; }
};

TEST_F(NamesakeCheckerTest, AnOwnerThatDoesNotNoticeAtItsRenewalThatItWasTakenOverIsFound) {
  overtake();
  EXPECT_EQ(checker_.overtaken(), 1U);
  pass(bound() - 1ms);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  pass(2ms);
  EXPECT_EQ(checker_.rule(), Rule::unnoticed_namesake);
}

TEST_F(NamesakeCheckerTest, OneThatLosesWithoutKnowingWhyIsFound) {
  overtake();
  first_service_.owner = false;
  look();
  pass(bound() + 1ms);
  EXPECT_EQ(checker_.rule(), Rule::unnoticed_namesake);
}

TEST_F(NamesakeCheckerTest, OneThatHasNoticedOrHadTroubleOrWhoseNamesakeIsGoneIsFine) {
  overtake();
  checker_.logged(one_, barred);
  pass(bound() + 1ms);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  overtake();
  calm_since_ = world_.now();
  pass(bound() + 1ms);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  calm_since_ = LocalTime::min();
  overtake();
  record_ = Record{.token = 2};
  pass(bound() + 1ms);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(NamesakeCheckerTest, OneThatOwnsAgainThoughItHasNoticedIsFound) {
  overtake();
  checker_.logged(one_, barred);
  first_service_.owner = false;
  look();
  first_service_.own(3);
  look();
  EXPECT_EQ(checker_.rule(), Rule::taking_turns);
}

TEST_F(NamesakeCheckerTest, OneThatIsStartedAgainMayOwnAgain) {
  overtake();
  checker_.logged(one_, barred);
  first_service_.owner = false;
  look();
  checker_.started(first_);
  first_service_.own(3);
  look();
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(NamesakeCheckerTest, OneThatNoticesWhatIsNotThereIsFound) {
  checker_.logged(one_, barred);
  EXPECT_EQ(checker_.rule(), Rule::false_namesake);
}

TEST_F(NamesakeCheckerTest, OneThatWaitsBesideALivingOneOfItsIdForEverIsFound) {
  keep_out();
  EXPECT_EQ(checker_.kept_out(), 1U);
  pass(40s);  // two leases and a half
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  pass(5s);
  EXPECT_EQ(checker_.rule(), Rule::unnoticed_namesake);
}

TEST_F(NamesakeCheckerTest, OneThatHasGivenUpOrStoppedOrHadTroubleDoesNotWaitForEver) {
  keep_out();
  checker_.logged(other_, barred);
  pass(45s);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  keep_out();
  checker_.stop_begins(twin_);
  checker_.stop_returned(twin_);
  pass(45s);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  keep_out();
  calm_since_ = world_.now();
  pass(45s);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  calm_since_ = LocalTime::min();
  keep_out();
  record_ = held_by(second_, 2);
  pass(45s);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(NamesakeCheckerTest, OneThatAsksAgainThoughItHasNoticedIsFound) {
  keep_out();
  checker_.logged(other_, barred);
  checker_.started(twin_);
  checker_.asks_to_acquire(other_, "a");
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  checker_.logged(other_, barred);
  checker_.asks_to_acquire(other_, "a");
  EXPECT_EQ(checker_.rule(), Rule::taking_turns);
}

TEST_F(NamesakeCheckerTest, WhereTheStoreSeesWhoIsAliveThereAreNoTwoOwnersEither) {
  checker_.expect_namesakes(true);
  checker_.fail(Rule::no_owner, "of one id");
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  checker_.fail(Rule::two_owners, "of one id");
  EXPECT_EQ(checker_.rule(), Rule::two_owners);
}

TEST_F(NamesakeCheckerTest, OneWhoseGrantTheServerHasForgottenMayTakeAFormerLifeForAnother) {
  checker_.heard(one_, "a", world_.now(), world_.now(), 1);
  first_service_.own(1);
  look();
  checker_.forgot(world_.now() - 1s, world_.now());
  checker_.logged(one_, barred);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  first_service_.owner = false;
  look();
  checker_.logged(one_, barred);
  EXPECT_EQ(checker_.rule(), Rule::false_namesake) << "one that waits has no grant";
}

TEST_F(NamesakeCheckerTest, OtherRulesAreNotJudgedBesideNamesakes) {
  checker_.expect_namesakes();
  checker_.fail(Rule::two_owners, "of one id");
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  checker_.fail(Rule::standstill, "of any kind");
  EXPECT_EQ(checker_.rule(), Rule::standstill);
}

}  // namespace
}  // namespace simba::sim
