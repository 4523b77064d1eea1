// The rules about two processes that use one contender id.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checker_fixture.hpp"

namespace simba::sim {
namespace {

using namespace std::chrono_literals;

constexpr auto barred = "mutex [m0], contender [a]: contends no more: it is used twice";

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

TEST_F(NamesakeCheckerTest, OtherRulesAreNotJudgedBesideNamesakes) {
  checker_.expect_namesakes();
  checker_.fail(Rule::two_owners, "of one id");
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  checker_.fail(Rule::standstill, "of any kind");
  EXPECT_EQ(checker_.rule(), Rule::standstill);
}

}  // namespace
}  // namespace simba::sim
