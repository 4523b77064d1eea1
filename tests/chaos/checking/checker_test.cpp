#include "chaos/checking/checker.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simba::chaos {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t ms = 1'000'000;

Record record(const std::string& who, const std::string& text) {
  return parse_record(text, who, 0);
}

Evidence evidence(std::vector<Record> records, std::vector<FencedEntry> uses = {}) {
  return {.mutex = "m", .records = std::move(records), .uses = std::move(uses)};
}

Findings findings_of(const Evidence& evidence, const std::vector<Period>& excuses = {},
                     std::int64_t longest = 1'000) {
  return check(evidence, {excuses, longest}, 0);
}

/// As an owner with this token does it.
void count_up(std::vector<FencedEntry>& uses, std::uint64_t token, std::uint64_t value) {
  uses.push_back({FencedEntry::Kind::read, token, 0, 1});
  uses.push_back({FencedEntry::Kind::write, token, value, 1});
}

TEST(ChaosChecker, FindsNothingInACleanRecord) {
  std::vector<FencedEntry> uses;
  count_up(uses, 1, 1);
  count_up(uses, 1, 2);
  count_up(uses, 2, 3);
  const auto findings = findings_of(
      evidence({record("a", "begins 1 10\nacquired 1 11\nlasts 1 20\nlasts 1 30\nreleased 1 31\n"),
                record("b",
                       "begins 2 30\nacquired 2 31\nlasts 2 50\nreleased 2 51\n"
                       "begins 3 60\nacquired 3 61\n")},
               uses));
  EXPECT_EQ(findings.ownerships, 3U);
  EXPECT_THAT(findings.overlaps, IsEmpty());
  EXPECT_THAT(findings.tokens, IsEmpty());
  EXPECT_THAT(findings.callbacks, IsEmpty());
  EXPECT_THAT(findings.complaints, IsEmpty());
  EXPECT_EQ(findings.updates, 3U);
  EXPECT_EQ(findings.refused, 0U);
  EXPECT_EQ(findings.lost, 0U);
}

TEST(ChaosChecker, FindsTwoOwnersAtTheSameTime) {
  const auto findings = findings_of(evidence(
      {record("a", "begins 1 10\nlasts 1 30\n"), record("b", "begins 2 29\nlasts 2 50\n")}));
  ASSERT_THAT(findings.overlaps, SizeIs(1));
  EXPECT_EQ(findings.overlaps[0].first.who, "a");
  EXPECT_EQ(findings.overlaps[0].second.who, "b");
  EXPECT_EQ(findings.overlaps[0].length, 1);
}

TEST(ChaosChecker, FindsAnOwnerInsideTheTimeOfAnotherThatBeganLongBefore) {
  const auto findings =
      findings_of(evidence({record("a", "begins 1 10\nlasts 1 100\n"),
                            record("b", "begins 2 20\nlasts 2 30\nbegins 3 40\nlasts 3 50\n")}));
  EXPECT_THAT(findings.overlaps, SizeIs(2));
}

TEST(ChaosChecker, DoesNotCountOneThatEndsAsTheNextBegins) {
  const auto findings = findings_of(evidence(
      {record("a", "begins 1 10\nlasts 1 30\n"), record("b", "begins 2 30\nlasts 2 50\n")}));
  EXPECT_THAT(findings.overlaps, IsEmpty());
}

TEST(ChaosChecker, DoesNotCountOneThatWasSeenForNoTimeInsideAnother) {
  const auto findings = findings_of(
      evidence({record("a", "begins 1 10\nlasts 1 30\n"), record("b", "begins 2 20\n")}));
  EXPECT_THAT(findings.overlaps, IsEmpty());
}

TEST(ChaosChecker, ExcusesTwoOwnersOnlyWhereTheSecondBeginsInATimeThatIsAllowed) {
  const auto both = evidence(
      {record("a", "begins 1 10\nlasts 1 30\n"), record("b", "begins 2 20\nlasts 2 50\n")});
  const auto excused = [&](Period period) {
    return findings_of(both, {period}).overlaps.at(0).excused;
  };
  EXPECT_TRUE(excused({15, 20}));
  EXPECT_TRUE(excused({20, 25}));
  EXPECT_FALSE(excused({0, 19}));
  EXPECT_FALSE(excused({21, 60}));
}

TEST(ChaosChecker, ExcusesTwoOwnersNoLongerThanAllowed) {
  const auto both = evidence(
      {record("a", "begins 1 10\nlasts 1 30\n"), record("b", "begins 2 20\nlasts 2 50\n")});
  EXPECT_TRUE(findings_of(both, {{20, 20}}, 10).overlaps.at(0).excused);
  EXPECT_FALSE(findings_of(both, {{20, 20}}, 9).overlaps.at(0).excused);
}

TEST(ChaosChecker, DoesNotExcuseTwoOwnersWithTheSameToken) {
  const auto both = evidence(
      {record("a", "begins 5 10\nlasts 5 30\n"), record("b", "begins 5 20\nlasts 5 50\n")});
  EXPECT_THAT(findings_of(both, {{20, 20}}).tokens, SizeIs(1));
}

TEST(ChaosChecker, SkipsTheOrderOfTokensBetweenTheTwoOfAnExcusedOverlapOnly) {
  const auto falling =
      evidence({record("a", "begins 5 10\nlasts 5 30\n"), record("b", "begins 4 20\nlasts 4 40\n"),
                record("c", "begins 5 50\nlasts 5 60\n")});
  EXPECT_THAT(findings_of(falling).tokens, SizeIs(2));
  const auto findings = findings_of(falling, {{20, 20}});
  ASSERT_THAT(findings.tokens, SizeIs(1));
  EXPECT_THAT(findings.tokens[0], HasSubstr("c token 5"));
  EXPECT_THAT(findings_of(evidence({record("z", "begins 9 1\nlasts 9 2\n"), falling.records[0],
                                    falling.records[1]}),
                          {{20, 20}})
                  .tokens,
              SizeIs(2))
      << "one before them counts";
}

TEST(ChaosChecker, FindsATokenThatFalls) {
  const auto findings = findings_of(evidence(
      {record("a", "begins 7 10\nlasts 7 30\n"), record("b", "begins 6 40\nlasts 6 50\n")}));
  ASSERT_THAT(findings.tokens, SizeIs(1));
  EXPECT_THAT(findings.tokens[0], HasSubstr("b token 6"));
  EXPECT_THAT(findings.tokens[0], HasSubstr("a token 7"));
}

TEST(ChaosChecker, FindsATokenThatIsGivenTwice) {
  const auto findings = findings_of(evidence(
      {record("a", "begins 7 10\nlasts 7 30\n"), record("b", "begins 7 40\nlasts 7 50\n")}));
  EXPECT_THAT(findings.tokens, SizeIs(1));
}

TEST(ChaosChecker, TakesWhatOneContenderSawInPiecesAsOneOwnership) {
  const auto findings =
      findings_of(evidence({record("a", "begins 7 10\nlasts 7 20\nbegins 7 25\nlasts 7 30\n")}));
  EXPECT_EQ(findings.ownerships, 1U);
  EXPECT_THAT(findings.tokens, IsEmpty());
}

TEST(ChaosChecker, FindsCallbacksThatDoNotAlternate) {
  const auto findings = findings_of(
      evidence({record("a", "acquired 1 10\nacquired 2 20\nreleased 2 30\nreleased 2 40\n"),
                record("b", "released 1 10\n")}));
  EXPECT_THAT(findings.callbacks, SizeIs(3));
}

TEST(ChaosChecker, FindsACallbackBetweenTheReturnOfAStopAndTheNextStart) {
  const auto findings = findings_of(evidence(
      {record("a", "starting 0 1\nacquired 1 10\nstopped 0 20\nreleased 1 21\nstarting 0 30\n"),
       record("b",
              "starting 0 1\nacquired 1 10\nreleased 1 19\nstopped 0 20\nstarting 0 30\n"
              "acquired 2 31\n"),
       record("c", "starting 0 1\nacquired 1 10\nstopped 0 20\nreleased 1 19\n")}));
  ASSERT_THAT(findings.callbacks, SizeIs(1));
  EXPECT_THAT(findings.callbacks[0], HasSubstr("a: on_released"));
  EXPECT_THAT(findings.callbacks[0], HasSubstr("after stop() had returned"));
}

TEST(ChaosChecker, FindsAnAcquisitionThatBeginsBeforeTheReleaseOfTheOneBeforeHasEnded) {
  const auto all = [](const std::string& next) {
    return evidence(
        {record("a", "acquired 1 10\nreleased 1 20\nreleasing 1 25\n"), record("b", next)});
  };
  EXPECT_THAT(findings_of(all("acquired 2 25\n")).callbacks, IsEmpty());
  const auto findings = findings_of(all("acquired 2 24\n"));
  ASSERT_THAT(findings.callbacks, SizeIs(1));
  EXPECT_THAT(findings.callbacks[0], HasSubstr("b: on_acquired of token 2"));
  EXPECT_THAT(findings_of(all("acquired 2 24\n"), {{24, 24}}).callbacks, IsEmpty());
}

TEST(ChaosChecker, FindsALostUpdate) {
  std::vector<FencedEntry> uses;
  count_up(uses, 1, 1);
  // Two read the same value by the same token and both write.
  uses.push_back({FencedEntry::Kind::read, 2, 0, 1});
  uses.push_back({FencedEntry::Kind::read, 2, 0, 2});
  uses.push_back({FencedEntry::Kind::write, 2, 2, 1});
  uses.push_back({FencedEntry::Kind::write, 2, 2, 2});
  const auto findings = findings_of(evidence({}, uses));
  EXPECT_EQ(findings.lost, 1U);
}

TEST(ChaosChecker, CountsALateWriteThatTheTokenHasKeptOut) {
  std::vector<FencedEntry> uses;
  uses.push_back({FencedEntry::Kind::read, 1, 0, 1});
  uses.push_back({FencedEntry::Kind::read, 2, 0, 2});
  uses.push_back({FencedEntry::Kind::write, 1, 1, 1});  // of one that was paused
  uses.push_back({FencedEntry::Kind::write, 2, 1, 2});
  const auto findings = findings_of(evidence({}, uses));
  EXPECT_EQ(findings.updates, 1U);
  EXPECT_EQ(findings.refused, 1U);
  EXPECT_EQ(findings.lost, 0U);
}

TEST(ChaosChecker, PassesOnWhatAProcessComplainsOf) {
  const auto findings = findings_of(evidence({record("a", "wrong it broke\n")}));
  EXPECT_THAT(findings.complaints, ::testing::ElementsAre("a: it broke"));
}

TEST(ChaosChecker, MeasuresTheTimeToTheNextOwner) {
  const auto ownerships = ownerships_of(
      {record("a", "begins 1 10000000\nlasts 1 30000000\nbegins 2 50000000\nlasts 2 60000000\n")});
  EXPECT_EQ(time_to_owner(ownerships, 0), 10 * ms);
  EXPECT_EQ(time_to_owner(ownerships, 20 * ms), 0);
  EXPECT_EQ(time_to_owner(ownerships, 35 * ms), 15 * ms);
  EXPECT_EQ(time_to_owner(ownerships, 61 * ms), std::nullopt);
}

TEST(ChaosChecker, MeasuresTheLongestTimeWithoutAnOwner) {
  EXPECT_EQ(longest_gap({}), 0);
  EXPECT_EQ(longest_gap(ownerships_of({record("a",
                                              "begins 1 10\nlasts 1 100\n"
                                              "begins 4 130\nlasts 4 140\n"),
                                       record("b", "begins 2 20\nlasts 2 30\n")})),
            30);
}

TEST(ChaosChecker, MeasuresTheLongestTimeWithoutAnOwnerThatAFaultHasPartIn) {
  const auto all = ownerships_of({record("a", "begins 1 10\nlasts 1 20\n"),
                                  record("b", "begins 2 30\nlasts 2 40\n"),
                                  record("a", "begins 3 70\nlasts 3 80\n")});
  EXPECT_EQ(longest_gap_within(all, 12, 18, 100), 0);
  EXPECT_EQ(longest_gap_within(all, 12, 20, 100), 10);
  EXPECT_EQ(longest_gap_within(all, 24, 26, 100), 6) << "not what came before it";
  EXPECT_EQ(longest_gap_within(all, 12, 45, 100), 30) << "what came after it, too";
  EXPECT_EQ(longest_gap_within(all, 12, 35, 100), 10) << "not what began after it";
  EXPECT_EQ(longest_gap_within(all, 75, 85, 100), 20);
  EXPECT_EQ(longest_gap_within(all, 90, 95, 100), 10);
  EXPECT_EQ(longest_gap_within({}, 10, 20, 100), 90);
}

constexpr auto jvm_owns = "granted 1 10 30\ngranted 1 25 50\nbelieves 1 60\n";

TEST(ChaosChecker, FindsTwoOwnersOfWhichOneIsOfTheJvmLibraryAndItsLeaseLasts) {
  for (const auto* const ours : {"begins 7 49\nlasts 7 60\n", "begins 7 5\nlasts 7 11\n"}) {
    const auto findings = findings_of(evidence({record("j", jvm_owns), record("a", ours)}));
    EXPECT_THAT(findings.overlaps, SizeIs(1)) << ours;
    EXPECT_EQ(findings.ownerships, 1U);
    EXPECT_EQ(findings.jvm_ownerships, 1U);
    EXPECT_THAT(findings.tokens, IsEmpty()) << "it has none";
  }
  const auto among_themselves =
      findings_of(evidence({record("j", jvm_owns), record("k", "granted 1 40 90\n")}));
  EXPECT_THAT(among_themselves.overlaps, SizeIs(1));
}

TEST(ChaosChecker, DoesNotHoldUsAccountableForWhatAContenderOfTheJvmLibraryBelieves) {
  const auto findings = findings_of(
      evidence({record("j", jvm_owns), record("a", "begins 7 50\nlasts 7 55\nlasts 7 70\n")}));
  EXPECT_THAT(findings.overlaps, IsEmpty());
  ASSERT_THAT(findings.beliefs, SizeIs(1));
  EXPECT_EQ(findings.beliefs[0].first.who, "j");
  EXPECT_EQ(findings.beliefs[0].length, 10);
}

TEST(ChaosChecker, CountsAnOwnershipOfTheJvmLibraryUntilItIsGivenBack) {
  const auto findings =
      findings_of(evidence({record("j", std::string{"granted 1 10 50\nyields 1 20\n"}),
                            record("a", "begins 7 20\nlasts 7 30\n")}));
  EXPECT_THAT(findings.overlaps, IsEmpty());
  EXPECT_THAT(findings.beliefs, IsEmpty());
}

// It does not notice that its lease has run out, and the next one is no renewal.
TEST(ChaosChecker, DoesNotCountTheTimeBetweenTwoLeasesThatTheJvmLibraryTakesForOne) {
  const std::string late{"granted 1 10 30\nbelieves 1 45\ngranted 1 50 70\n"};
  const auto between =
      findings_of(evidence({record("j", late), record("a", "begins 7 32\nlasts 7 45\n")}));
  EXPECT_THAT(between.overlaps, IsEmpty());
  EXPECT_EQ(between.jvm_ownerships, 2U);
  const auto after =
      findings_of(evidence({record("j", late), record("a", "begins 7 32\nlasts 7 60\n")}));
  EXPECT_THAT(after.overlaps, SizeIs(1));
}

TEST(ChaosChecker, ExcusesAContenderOfTheJvmLibraryAtAFailOverForAsLongAsItTakes) {
  const auto both = evidence({record("j", jvm_owns), record("a", "begins 7 12\nlasts 7 60\n")});
  EXPECT_TRUE(findings_of(both, {{12, 12}}, 5).overlaps.at(0).excused);
  EXPECT_FALSE(findings_of(both, {{13, 13}}, 5).overlaps.at(0).excused);
}

TEST(ChaosRecord, OfAContenderOfTheJvmLibraryTellsHowLongItKeptARowLocked) {
  const auto read = record("j", "granted 1 10 50\nlocks 60 90\n");
  ASSERT_THAT(read.locks, SizeIs(1));
  EXPECT_EQ(read.locks[0].begin, 60);
  EXPECT_EQ(read.locks[0].end, 90);
  EXPECT_THROW(record("j", "believes 1 10\n"), std::runtime_error) << "it owns nothing";
  EXPECT_THROW(record("j", "granted 1 10\n"), std::runtime_error);
  EXPECT_THROW(record("j", "locks 60\n"), std::runtime_error);
}

TEST(ChaosRecord, OfAKilledProcessMayEndInTheMiddleOfALine) {
  const auto read = record("a", "begins 1 10\nlasts 1 20\nlas");
  ASSERT_THAT(read.ownerships, SizeIs(1));
  EXPECT_EQ(read.ownerships[0].end, 20);
}

TEST(ChaosRecord, EndsTheProcessWhereItCannotBeWritten) {
  EXPECT_EXIT(RecordWriter{"/dev/full"}.begins(1, 10), ::testing::ExitedWithCode(exit_unrecorded),
              "");
}

TEST(ChaosRecord, IsRefusedWhereALineIsNone) {
  EXPECT_THROW(record("a", "begins 1\nlasts 1 20\n"), std::runtime_error);
  EXPECT_THROW(record("a", "lasts 1 20\n"), std::runtime_error);
}

}  // namespace
}  // namespace simba::chaos
