// The rules of shared slots are told of right and of wrong beginnings, ends and reports.

#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/slot_record.hpp"
#include "sim/checker_fixture.hpp"
#include "sim/slot_rules.hpp"

namespace simba::sim {
namespace {

using namespace std::chrono_literals;
using detail::SlotRecord;
using testing::HasSubstr;

class SlotRulesTest : public CheckerTest {
 protected:
  class NoClient final : public Client {
   public:
    void noticed(std::uint64_t, Push::Kind, const Answer&) override {}
    void broken() override {}
  };

  SlotRulesTest() {
    network_.connect(one_, client_);
    network_.connect(other_, client_);
    for (Party* party : {&first_, &second_}) {
      party->kind = Party::Kind::scheduler;
      party->stopped = false;
      party->contends_since = world_.now();
    }
    checker_.record_of = [this](std::size_t) -> const Record& { return record_; };
    checker_.server_true = [](ServerTime at) { return LocalTime{at}; };
    record_ = held_by(first_, 1);
    record_.first = 1;
    record_.transition_at += 1h;
    share({});
    rules_.add(first_);
    rules_.add(second_);
    first_service_.own(1);
  }

  void share(const SlotOptions& options) {
    rules_.expect(0, ScheduleConfig::shared_rate(0ms, 10s, options), true);
    kept_.definition = "every 10s";
    kept_.fingerprint = "f";
    kept_.anchor = wall();
    write();
  }

  SystemTime wall() const { return network_.wall_now(0); }

  /// The store hears it.
  void write() {
    TextCall call{.kind = TextCall::Kind::write, .contender = "a", .now = wall()};
    RecordAnswer answer{.outcome = RecordAnswer::Outcome::written};
    answer.record.text = detail::to_text(kept_);
    network_.after_text(call, answer);
  }

  Slot begin_in_store(const Party& party, FencingToken token, Slot slot) {
    slot = detail::begin_run(kept_, slot, {party.id, token}, wall());
    write();
    return slot;
  }

  void end_in_store(RunOutcome outcome, const SlotOptions& options = {}) {
    detail::end_run(kept_, {.outcome = outcome}, options, wall());
    write();
  }

  bool begin_work(Party& party, FencingToken token, const Slot& slot) {
    return rules_.begins(party, simba::Run{token, {}, [] { return 1'000'000'000ns; }, slot});
  }

  void end_work(Party& party, const Slot& slot, WorkEnd how) {
    rules_.ends(party, slot, how);
    checker_.work_ends(party);
  }

  /// All of it, as it should be.
  Slot run(Party& party, FencingToken token, Slot slot, WorkEnd how) {
    slot = begin_in_store(party, token, slot);
    begin_work(party, token, slot);
    end_work(party, slot, how);
    return slot;
  }

  void look_on(nanoseconds span) {
    for (nanoseconds passed = 0s; passed < span; passed += 500ms) {
      pass(500ms);
      rules_.check();
    }
  }

  /// The n-th slot.
  Slot at(int n) const { return Slot{.time = kept_.anchor + n * 10s, .number = 0, .attempt = 1}; }

  static SlotOptions at_least_once(int attempts) {
    return {.promise = SlotPromise::at_least_once, .max_attempts = attempts, .retry_pause = 1s};
  }

  NoClient client_;
  Network network_{scene_, checker_, Server{1, Offer::nothing}, 0, WallClock::of_server};
  SlotRules rules_{scene_, checker_, network_};
  SlotRecord kept_;
};

TEST_F(SlotRulesTest, RunsThatFollowEachOtherBreakNoRule) {
  for (int n = 1; n <= 3; ++n) {
    pass(at(n).time - wall());
    run(first_, 1, at(n), WorkEnd::well);
    end_in_store(RunOutcome::succeeded);
    look_on(5s);
  }
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  EXPECT_EQ(rules_.counts().begun, 3U);
}

TEST_F(SlotRulesTest, WorkThatBeginsBeforeTheStoreHasHeardOfItIsFound) {
  pass(10s);
  begin_work(first_, 1, {.time = at(1).time, .number = 1, .attempt = 1});
  EXPECT_EQ(checker_.rule(), Rule::slot_unrecorded);
  EXPECT_THAT(checker_.what(), HasSubstr("a in one begins attempt 1 of run 1 of m0"));
}

TEST_F(SlotRulesTest, WorkThatBeginsWithoutALeaseIsFound) {
  pass(10s);
  const Slot slot = begin_in_store(first_, 1, at(1));
  first_service_.owner = false;
  begin_work(first_, 1, slot);
  EXPECT_EQ(checker_.rule(), Rule::slot_unowned);
}

TEST_F(SlotRulesTest, WorkThatBeginsUnderAnotherTokenIsFound) {
  pass(10s);
  const Slot slot = begin_in_store(first_, 1, at(1));
  first_service_.own(2);
  begin_work(first_, 1, slot);
  EXPECT_EQ(checker_.rule(), Rule::slot_unowned);
}

TEST_F(SlotRulesTest, AStoreThatNotesABeginningOfOneWhoOwnsNoLongerIsFound) {
  pass(10s);
  record_ = held_by(second_, 2);
  begin_in_store(first_, 1, at(1));
  EXPECT_EQ(checker_.rule(), Rule::slot_unowned);
}

TEST_F(SlotRulesTest, ASlotThatBeginsBeforeItsTimeIsFound) {
  pass(10s - 2ms);
  begin_work(first_, 1, begin_in_store(first_, 1, at(1)));
  EXPECT_EQ(checker_.rule(), Rule::slot_early);
}

TEST_F(SlotRulesTest, ARunThatWasAskedForHasNoTimeToBeEarlyFor) {
  pass(1s);
  kept_.trigger = wall() + 1h;  // and then the clock was set back
  write();
  begin_work(first_, 1, begin_in_store(first_, 1, {.time = *kept_.trigger}));
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(SlotRulesTest, ASlotThatBeginsASecondTimeUnderAtMostOnceIsFound) {
  pass(10s);
  const Slot slot = run(first_, 1, at(1), WorkEnd::badly);
  begin_in_store(first_, 1, {slot.time, slot.number, 2});
  begin_work(first_, 1, {slot.time, slot.number, 2});
  EXPECT_EQ(checker_.rule(), Rule::slot_twice);
}

TEST_F(SlotRulesTest, AnAttemptThatBeginsTwiceIsFound) {
  share(at_least_once(3));
  pass(10s);
  const Slot slot = run(first_, 1, at(1), WorkEnd::badly);
  begin_work(first_, 1, slot);
  EXPECT_EQ(checker_.rule(), Rule::slot_twice);
}

TEST_F(SlotRulesTest, ATimeThatBeginsAgainUnderAnotherNumberIsFound) {
  pass(10s);
  run(first_, 1, at(1), WorkEnd::well);
  run(first_, 1, at(1), WorkEnd::well);
  EXPECT_EQ(checker_.rule(), Rule::slot_twice);
  EXPECT_THAT(checker_.what(), HasSubstr("run 2 of m0"));
}

TEST_F(SlotRulesTest, AnAttemptTooManyIsFound) {
  share(at_least_once(1));
  pass(10s);
  run(first_, 1, {.time = at(1).time, .number = 0, .attempt = 2}, WorkEnd::badly);
  EXPECT_EQ(checker_.rule(), Rule::slot_twice);
}

TEST_F(SlotRulesTest, ARepetitionIsFoundOnlyOnceTheStoreHasHeardThatTheRunEndedWell) {
  share(at_least_once(5));
  pass(10s);
  const Slot slot = run(first_, 1, at(1), WorkEnd::well);
  const Slot again = run(first_, 1, {slot.time, slot.number, 2}, WorkEnd::well);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  end_in_store(RunOutcome::succeeded);
  run(first_, 1, {again.time, again.number, 3}, WorkEnd::well);
  EXPECT_EQ(checker_.rule(), Rule::slot_twice);
}

TEST_F(SlotRulesTest, NumbersThatDoNotGrowAreFound) {
  pass(20s);
  kept_.number = 6;
  run(first_, 1, at(1), WorkEnd::well);
  kept_.number = 3;
  run(first_, 1, at(2), WorkEnd::well);
  EXPECT_EQ(checker_.rule(), Rule::slot_order);
}

TEST_F(SlotRulesTest, TimesThatDoNotGrowAreFound) {
  pass(20s);
  run(first_, 1, at(2), WorkEnd::well);
  run(first_, 1, at(1), WorkEnd::well);
  EXPECT_EQ(checker_.rule(), Rule::slot_order);
}

TEST_F(SlotRulesTest, ARunThatWasAskedForMayComeBetweenSlots) {
  pass(30s);
  run(first_, 1, at(2), WorkEnd::well);
  kept_.trigger = at(1).time + 5s;
  write();
  run(first_, 1, {.time = *kept_.trigger}, WorkEnd::well);
  run(first_, 1, at(3), WorkEnd::well);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(SlotRulesTest, AnAttemptOfAnotherSlotIsFound) {
  share(at_least_once(5));
  pass(20s);
  const Slot slot = run(first_, 1, at(1), WorkEnd::badly);
  run(first_, 1, {at(2).time, slot.number, 2}, WorkEnd::badly);
  EXPECT_EQ(checker_.rule(), Rule::slot_order);
}

TEST_F(SlotRulesTest, WhatRestsOnWhatTheServerHasForgottenWasNotPromised) {
  pass(10s);
  const SlotRecord before = kept_;
  const Slot slot = begin_in_store(first_, 1, at(1));
  network_.after_loss(world_.now() - 1s, world_.now());
  begin_work(first_, 1, slot);
  end_work(first_, slot, WorkEnd::well);
  kept_ = before;
  pass(2s);
  run(first_, 1, at(1), WorkEnd::well);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(SlotRulesTest, OneWhoseBeginningTheServerHasForgottenDoesNotEndTheRunOfAnother) {
  share(at_least_once(5));
  pass(10s);
  const Slot slot = run(first_, 1, at(1), WorkEnd::well);
  end_in_store(RunOutcome::succeeded, at_least_once(5));
  rules_.ends(second_, slot, WorkEnd::badly);
  pass(10s);
  run(first_, 1, at(2), WorkEnd::well);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(SlotRulesTest, WhatTheServerHasNotForgottenStillCounts) {
  pass(10s);
  const Slot slot = run(first_, 1, at(1), WorkEnd::well);
  pass(3s);
  network_.after_loss(world_.now() - 1s, world_.now());
  begin_in_store(first_, 1, slot);
  begin_work(first_, 1, slot);
  EXPECT_EQ(checker_.rule(), Rule::slot_twice);
}

TEST_F(SlotRulesTest, ASlotThatCameInPeaceAndOfWhichNothingIsHeardIsFound) {
  look_on(25s);
  EXPECT_EQ(checker_.rule(), Rule::slot_dropped);
  EXPECT_THAT(checker_.what(), HasSubstr("neither begun nor reported"));
}

TEST_F(SlotRulesTest, ASlotOverWhichALaterOneBeginsIsFound) {
  look_on(12s);
  pass(9s);
  run(first_, 1, at(2), WorkEnd::well);
  end_in_store(RunOutcome::succeeded);
  look_on(2s);
  EXPECT_EQ(checker_.rule(), Rule::slot_dropped);
}

TEST_F(SlotRulesTest, SlotsThatAreReportedWithTheirNumberAreNotDropped) {
  look_on(12s);
  for (int n = 0; n < 3; ++n) {
    rules_.told(first_, {.kind = SlotEvent::Kind::missed, .slot = at(3 * n + 3), .count = 3});
  }
  look_on(70s);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
  EXPECT_GE(rules_.counts().judged, 7U);
}

TEST_F(SlotRulesTest, FewerSlotsReportedThanCameAreFound) {
  look_on(3s);
  pass(30s);
  rules_.told(first_, {.kind = SlotEvent::Kind::skipped, .slot = at(3), .count = 2});
  look_on(5s);
  EXPECT_EQ(checker_.rule(), Rule::slot_dropped);
}

TEST_F(SlotRulesTest, NothingIsDemandedWhileNobodyLeadsOrTheScheduleIsPaused) {
  first_service_.owner = false;
  look_on(30s);
  first_service_.own(2);
  kept_.paused = true;
  write();
  look_on(30s);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(SlotRulesTest, AFailedRunThatIsNotRepeatedIsFound) {
  share(at_least_once(3));
  pass(10s);
  run(first_, 1, at(1), WorkEnd::badly);
  end_in_store(RunOutcome::failed, at_least_once(3));
  look_on(8s);
  EXPECT_EQ(checker_.rule(), Rule::slot_dropped);
  EXPECT_THAT(checker_.what(), HasSubstr("its attempt 2 does not begin"));
}

TEST_F(SlotRulesTest, AFailedRunThatIsNotRepeatedIsRightUnderAtMostOnce) {
  pass(10s);
  run(first_, 1, at(1), WorkEnd::badly);
  end_in_store(RunOutcome::failed);
  look_on(8s);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(SlotRulesTest, AFailedRunThatIsNotRepeatedIsRightAfterTheLastAttempt) {
  share(at_least_once(1));
  pass(10s);
  run(first_, 1, at(1), WorkEnd::badly);
  end_in_store(RunOutcome::failed, at_least_once(1));
  look_on(8s);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(SlotRulesTest, ARunThatTheStoreThinksGoesOnIsFound) {
  pass(10s);
  run(first_, 1, at(1), WorkEnd::well);
  look_on(8s);
  EXPECT_EQ(checker_.rule(), Rule::slot_unrecorded);
  EXPECT_THAT(checker_.what(), HasSubstr("but nobody does"));
}

TEST_F(SlotRulesTest, ARunThatWasAskedForAndDoesNotBeginIsFound) {
  pass(1s);
  kept_.trigger = wall();
  write();
  rules_.told(first_, {.kind = SlotEvent::Kind::missed, .slot = at(9), .count = 9});
  look_on(20s);
  EXPECT_EQ(checker_.rule(), Rule::slot_dropped);
  EXPECT_THAT(checker_.what(), HasSubstr("was asked for"));
}

TEST_F(SlotRulesTest, AReleaseBeforeTheStoreHasHeardOfTheEndIsFound) {
  pass(10s);
  const Record mine = held_by(first_, 1);
  checker_.heard(one_, "a", world_.now(), world_.now(), 1);
  run(first_, 1, at(1), WorkEnd::well);
  Record free = mine;
  free.owner.clear();
  checker_.executed(call(Call::Kind::release, first_, 1), one_, mine, free);
  EXPECT_EQ(checker_.rule(), Rule::slot_unrecorded);
}

TEST_F(SlotRulesTest, AReleaseAfterTheStoreHasHeardOfTheEndIsRight) {
  pass(10s);
  const Record mine = held_by(first_, 1);
  checker_.heard(one_, "a", world_.now(), world_.now(), 1);
  run(first_, 1, at(1), WorkEnd::well);
  end_in_store(RunOutcome::succeeded);
  Record free = mine;
  free.owner.clear();
  checker_.executed(call(Call::Kind::release, first_, 1), one_, mine, free);
  EXPECT_FALSE(checker_.failed()) << checker_.what();
}

TEST_F(SlotRulesTest, AHookThatTellsOfSlotsWhileTheWorkRunsIsFound) {
  second_.in_callback = true;
  checker_.hook_begins(second_);
  EXPECT_EQ(checker_.rule(), Rule::callback_order);
}

TEST_F(SlotRulesTest, AHookThatTellsOfSlotsAfterStopIsFound) {
  first_.stopped = true;
  checker_.hook_begins(first_);
  EXPECT_EQ(checker_.rule(), Rule::callback_after_stop);
}

}  // namespace
}  // namespace simba::sim
