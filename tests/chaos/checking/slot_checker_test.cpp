#include "chaos/checking/slot_checker.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chaos/checking/record.hpp"
#include "support/temporary_folder.hpp"

namespace simba::chaos {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Lines as in the file: word, slot, number, attempt, token, contender, moment, wall clock.
SlotEvidence evidence(const std::string& log, SlotPromise promise,
                      std::vector<RunReport> history = {}) {
  SlotOptions options{.promise = promise, .max_attempts = 3};
  return {.schedule = "s",
          .config = ScheduleConfig::shared_rate(0ms, 1s, options),
          .entries = parse_slot_log(log),
          .history = std::move(history),
          .last_slot = SystemTime{1h}};
}

SlotEvidence once(const std::string& log, std::vector<RunReport> history = {}) {
  return evidence(log, SlotPromise::at_most_once, std::move(history));
}

SlotEvidence again(const std::string& log, std::vector<RunReport> history = {}) {
  return evidence(log, SlotPromise::at_least_once, std::move(history));
}

RunReport report(std::uint64_t number, int attempt, RunOutcome outcome) {
  return {.number = number, .attempt = attempt, .outcome = outcome};
}

SlotFindings findings_of(const SlotEvidence& evidence, const SlotExcuses& excuses = {}) {
  return check_slots(evidence, excuses, 0);
}

constexpr const char* two_clean_slots =
    "begins 1000 1 1 5 a 10 1000\nlasts 1000 1 1 5 a 14 1004\nends 1000 1 1 5 a 15 1005\n"
    "begins 2000 2 1 6 b 20 2000\nends 2000 2 1 6 b 25 2005\n";

TEST(ChaosSlotChecker, FindsNothingInACleanLog) {
  for (const auto promise : {SlotPromise::at_most_once, SlotPromise::at_least_once}) {
    const auto findings = findings_of(
        evidence(two_clean_slots, promise,
                 {report(1, 1, RunOutcome::succeeded), report(2, 1, RunOutcome::succeeded)}));
    EXPECT_THAT(findings.wrong, IsEmpty());
    EXPECT_THAT(findings.excused, IsEmpty());
    EXPECT_EQ(findings.slots, 2U);
    EXPECT_EQ(findings.attempts, 2U);
    EXPECT_EQ(findings.missed, 0U);
  }
}

TEST(ChaosSlotChecker, FindsASlotBegunTwiceAlthoughItMayAtMostOnce) {
  EXPECT_THAT(findings_of(once("begins 1000 1 1 5 a 10 1000\nbegins 1000 1 1 6 b 20 1010\n")).wrong,
              Contains(HasSubstr("begun twice")));
  EXPECT_THAT(findings_of(once("begins 1000 1 1 5 a 10 1000\nbegins 1000 1 2 6 b 20 1010\n")).wrong,
              Contains(HasSubstr("begun twice")));
  EXPECT_THAT(findings_of(once("begins 1000 1 1 5 a 10 1000\nbegins 1000 2 1 6 b 20 1010\n")).wrong,
              Contains(HasSubstr("begun twice")))
      << "under another number";
}

TEST(ChaosSlotChecker, FindsASlotBegunTwiceByOneThatCameTooLate) {
  EXPECT_THAT(findings_of(once("begins 1000 1 1 6 b 10 1000\nbegins 1000 1 1 5 a 20 1010\n")).wrong,
              Contains(HasSubstr("begun twice")))
      << "although the token of the second is old";
}

TEST(ChaosSlotChecker, FindsAnAttemptBegunTwice) {
  EXPECT_THAT(
      findings_of(again("begins 1000 1 1 5 a 10 1000\nbegins 1000 1 1 6 b 20 1010\n")).wrong,
      Contains(HasSubstr("begun twice")));
  EXPECT_THAT(
      findings_of(again("begins 1000 1 1 5 a 10 1000\nbegins 1000 1 2 6 b 20 1010\n")).wrong,
      IsEmpty());
}

TEST(ChaosSlotChecker, FindsASlotBegunAgainAlthoughTheStoreKnewThatItHadSucceeded) {
  const std::string log =
      "begins 1000 1 1 5 a 10 1000\nends 1000 1 1 5 a 15 1005\nbegins 1000 1 2 6 b 20 1010\n";
  EXPECT_THAT(findings_of(again(log, {report(1, 1, RunOutcome::lost)})).wrong, IsEmpty());
  EXPECT_THAT(findings_of(again(log, {report(1, 1, RunOutcome::succeeded)})).wrong,
              Contains(HasSubstr("attempt 1 is known to have succeeded")));
}

TEST(ChaosSlotChecker, ExcusesARepetitionOnlyWhereTheEndMayHaveBeenForgotten) {
  const auto repeated =
      again("begins 1000 1 1 5 a 10 1000\nends 1000 1 1 5 a 15 1005\nbegins 1000 1 2 6 b 20 1010\n",
            {report(1, 1, RunOutcome::succeeded)});
  const auto findings = findings_of(repeated, {.forgotten = {{15, 20}}});
  EXPECT_THAT(findings.wrong, IsEmpty());
  EXPECT_THAT(findings.excused, SizeIs(1));
  EXPECT_THAT(findings_of(repeated, {.forgotten = {{5, 19}, {21, 30}}}).wrong, SizeIs(1));
}

TEST(ChaosSlotChecker, DoesNotExcuseASlotBegunTwiceAfterAFailover) {
  const auto twice = once("begins 1000 1 1 5 a 10 1000\nbegins 1000 1 1 6 b 20 1010\n");
  EXPECT_THAT(findings_of(twice, {.forgotten = {{15, 20}}}).wrong, SizeIs(1))
      << "its beginning was confirmed by replicas";
}

TEST(ChaosSlotChecker, FindsASuccessInTheStoreOfWhichTheWorkerKnowsNothing) {
  const std::string begin = "begins 1000 1 1 5 a 10 1000\n";
  const auto success = report(1, 1, RunOutcome::succeeded);
  for (const auto& end : {"", "fails 1000 1 1 5 a 15 1005\n"}) {
    EXPECT_THAT(findings_of(once(begin + end, {success})).wrong,
                Contains(HasSubstr("its worker does not")));
  }
}

TEST(ChaosSlotChecker, FindsASlotThatWasDroppedAfterItHadFailedOrItsWorkerHadDied) {
  const std::string begin = "begins 1000 1 1 5 a 10 1000\n";
  const std::string next = "begins 2000 2 1 6 b 20 2000\n";
  for (const std::string end : {"", "fails 1000 1 1 5 a 15 1005\n"}) {
    EXPECT_THAT(findings_of(again(begin + end + next)).wrong,
                Contains(HasSubstr("neither ended well nor repeated")));
    EXPECT_THAT(findings_of(once(begin + end + next)).wrong, IsEmpty());
    EXPECT_THAT(findings_of(again(begin + end)).wrong, IsEmpty()) << "it may come still";
  }
}

TEST(ChaosSlotChecker, DoesNotExpectMoreAttemptsThanThereMayBe) {
  const std::string begins = "begins 1000 1 1 5 a 10 1000\nbegins 1000 1 2 6 b 20 1010\n";
  const std::string next = "begins 2000 2 1 8 d 40 2000\n";
  EXPECT_THAT(findings_of(again(begins + next)).wrong, SizeIs(1));
  EXPECT_THAT(findings_of(again(begins + "begins 1000 1 3 7 c 30 1020\n" + next)).wrong, IsEmpty());
  EXPECT_THAT(findings_of(again(begins + next, {report(1, 3, RunOutcome::lost)})).wrong, IsEmpty())
      << "whose worker died before it could write that";
}

TEST(ChaosSlotChecker, FindsNumbersAndTimesOfSlotsThatDoNotGrowTogether) {
  for (const auto* const second : {"begins 2000 3 1 6 b 20 5000\n", "begins 4000 1 1 6 b 20 5000\n",
                                   "begins 3000 3 2 6 b 20 5000\n", "begins 4000 2 2 6 b 20 5000\n",
                                   "begins 2000 1 1 6 b 20 5000\n"}) {
    const auto log =
        std::string{"begins 3000 2 1 5 a 10 5000\nends 3000 2 1 5 a 11 5000\n"} + second;
    EXPECT_THAT(findings_of(again(log)).wrong, Contains(HasSubstr("out of order"))) << second;
  }
}

TEST(ChaosSlotChecker, CountsARunByAnOldTokenWithoutJudgingItsOrder) {
  const auto findings = findings_of(again(
      "begins 2000 2 1 6 b 20 5000\nends 2000 2 1 6 b 21 5000\nbegins 1000 1 3 5 a 30 5000\n"));
  EXPECT_THAT(findings.wrong, IsEmpty());
  EXPECT_EQ(findings.refused, 1U);
}

TEST(ChaosSlotChecker, FindsTwoRunsAtTheSameTimeWhileBothLeasesLasted) {
  const std::string log =
      "begins 1000 1 1 5 a 10 1000\nbegins 2000 2 1 6 b 20 2000\nlasts 1000 1 1 5 a 21 1000\n"
      "lasts 2000 2 1 6 b 30 2000\n";
  EXPECT_THAT(findings_of(once(log)).wrong, Contains(HasSubstr("two runs")));
  EXPECT_THAT(findings_of(once(log), {.forgotten = {{20, 20}}, .longest = 1}).wrong, IsEmpty());
  EXPECT_THAT(findings_of(once(log), {.forgotten = {{20, 20}}, .longest = 0}).wrong, SizeIs(1));
}

TEST(ChaosSlotChecker, DoesNotCountARunThatGoesOnAfterItsLease) {
  EXPECT_THAT(findings_of(once("begins 1000 1 1 5 a 10 1000\nlasts 1000 1 1 5 a 19 1000\n"
                               "begins 2000 2 1 6 b 20 2000\nlasts 2000 2 1 6 b 30 2000\n"
                               "fails 1000 1 1 5 a 40 1000\n"))
                  .wrong,
              IsEmpty());
}

TEST(ChaosSlotChecker, FindsASlotBegunBeforeItsTime) {
  const auto early = once("begins 1000 1 1 5 a 10 999\n");
  EXPECT_THAT(findings_of(early).wrong, Contains(HasSubstr("begun 1 ms before its time")));
  EXPECT_THAT(findings_of(early, {.steps = {{10, 10}}}).wrong, IsEmpty())
      << "the clock may have been set since";
}

TEST(ChaosSlotChecker, FindsASlotThatTheStoreDoesNotRemember) {
  auto forgotten = once(two_clean_slots);
  forgotten.last_slot = SystemTime{2000ms};
  EXPECT_THAT(findings_of(forgotten).wrong, IsEmpty());
  forgotten.last_slot = SystemTime{1999ms};
  EXPECT_THAT(findings_of(forgotten).wrong, Contains(HasSubstr("knows of slots up to 1999 only")));
  forgotten.last_slot.reset();
  EXPECT_THAT(findings_of(forgotten).wrong, SizeIs(1));
}

TEST(ChaosSlotChecker, CountsWhatFailedWasLostOrDidNotHappen) {
  const auto findings = findings_of(
      once("begins 1000 1 1 5 a 10 1000\nfails 1000 1 1 5 a 11 1000\nbegins 5000 3 1 6 b 50 5000\n",
           {report(2, 1, RunOutcome::lost)}));
  EXPECT_EQ(findings.slots, 3U) << "number 2 was begun, but its worker never came to write that";
  EXPECT_EQ(findings.failed, 1U);
  EXPECT_EQ(findings.lost, 1U);
  EXPECT_EQ(findings.missed, 3U);
}

TEST(ChaosSlotLog, IsReadAsItWasWrittenExceptForALastLineThatIsHalfThere) {
  support::TemporaryFolder folder;
  const auto file = folder.path() / "log";
  EXPECT_THAT(read_slot_log(file), IsEmpty());
  SlotLog{file}.write({SlotEntry::Kind::begins, 1'000, 2, 3, 4, "c0.1", 5, 6});
  SlotLog{file}.write({SlotEntry::Kind::fails, 1'000, 2, 3, 4, "c0.1", 7, 8});
  const auto entries = read_slot_log(file);
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(entries[0].slot, 1'000);
  EXPECT_EQ(entries[0].number, 2U);
  EXPECT_EQ(entries[0].attempt, 3);
  EXPECT_EQ(entries[0].token, 4U);
  EXPECT_EQ(entries[0].who, "c0.1");
  EXPECT_EQ(entries[0].at, 5);
  EXPECT_EQ(entries[0].wall, 6);
  EXPECT_EQ(entries[1].kind, SlotEntry::Kind::fails);
  EXPECT_THAT(parse_slot_log("begins 1 1 1 1 a 1 1\nends 1 1"), SizeIs(1));
  EXPECT_THROW(parse_slot_log("begins 1 1\n"), std::runtime_error);
  EXPECT_THROW(parse_slot_log("nonsense 1 1 1 1 a 1 1\n"), std::runtime_error);
}

}  // namespace
}  // namespace simba::chaos
