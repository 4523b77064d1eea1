#include "sql/claims.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sql/rows.hpp"

namespace simba::sql {
namespace {

using namespace std::chrono_literals;
using engine::LeaseAnswer;
using engine::LeaseRecord;
using engine::LeaseRequest;

/// A row of the table that two processes with one id change, as the statements do.
class SqlClaims : public testing::Test {
 protected:
  struct Sent {
    Change change;
    LeaseRequest request;
    std::optional<FencingToken> version;
  };

  Sent send(Claims& claims, Change change, FencingToken token = 0) {
    LeaseRequest request{
        .mutex = "m", .contender_id = "me", .ttl = 10s, .transition = 6s, .instance = 1};
    if (change == Change::acquire) request.takes_over = token;
    return {change, request, claims.sending(change, request, token, now_)};
  }

  Row execute(const Sent& sent) {
    const bool own = row_.owner_id == "me";
    const bool free = row_.owner_id.empty();
    const FencingToken version = sent.version.value_or(row_.version);
    bool done = false;
    switch (sent.change) {
      case Change::acquire:
        done = free || (own && row_.version == version);
        break;
      case Change::guard:
        done = own && row_.version <= version;
        break;
      case Change::release:
        done = own && row_.version == version;
        break;
    }
    if (done) {
      row_.owner_id = sent.change == Change::release ? "" : "me";
      ++row_.version;
    }
    Row answer = row_;
    answer.refused =
        !done &&
        refuses(row_, sent.change, {.mutex = "m", .contender_id = "me", .version = sent.version});
    return answer;
  }

  LeaseRecord tell(Claims& claims, const Sent& sent, const Row& row) const {
    const LeaseAnswer answer =
        claims.answered(sent.change, sent.request, sent.version, row, record_of(row), now_);
    return *answer.record();
  }
  void fail(Claims& claims, const Sent& sent, ErrorKind kind) const {
    const Error error{kind, "no answer"};
    claims.answered(sent.change, sent.request, sent.version, error, error, now_);
  }

  LeaseRecord ask(Claims& claims, Change change, FencingToken token = 0) {
    const Sent sent = send(claims, change, token);
    return tell(claims, sent, execute(sent));
  }
  /// Takes over where it must.
  LeaseRecord acquire(Claims& claims) {
    const LeaseRecord first = ask(claims, Change::acquire);
    return first.namesake ? ask(claims, Change::acquire, first.fencing_token) : first;
  }

  /// Sent, never carried out, and never answered.
  Sent lose(Claims& claims, Change change) {
    const Sent sent = send(claims, change);
    fail(claims, sent, ErrorKind::timeout);
    return sent;
  }

  /// Asks for many other mutexes.
  std::vector<Sent> ask_for(Claims& claims, int first, int last) {
    std::vector<Sent> all;
    for (int i = first; i < last; ++i) {
      Sent one{Change::acquire,
               {.mutex = std::to_string(i),
                .contender_id = "me",
                .ttl = 10s,
                .transition = 6s,
                .instance = 1},
               {}};
      one.version = claims.sending(Change::acquire, one.request, 0, now_);
      all.push_back(one);
    }
    return all;
  }
  LeaseRecord grant(Claims& claims, const Sent& sent) const {
    const Row row{.mutex = sent.request.mutex,
                  .owner_id = "me",
                  .transition_at = 1'000,
                  .version = 1,
                  .now = 0};
    return tell(claims, sent, row);
  }

  LocalTime now_{};
  Row row_{.mutex = "m", .owner_id = "", .transition_at = 1'000, .version = 0, .now = 0};
  Claims ours_;
  Claims theirs_;
};

TEST_F(SqlClaims, OneThatIsAloneNeverSeesANamesake) {
  EXPECT_FALSE(acquire(ours_).namesake);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(ask(ours_, Change::guard).namesake);
  EXPECT_EQ(row_.version, 101U);
  EXPECT_EQ(ask(ours_, Change::release, 101).owner_id, "");
}

TEST_F(SqlClaims, TheOlderOfTwoIsToldAtItsNextRenewalWhichDoesNotTouchTheRow) {
  acquire(ours_);
  ask(ours_, Change::guard);
  EXPECT_FALSE(acquire(theirs_).namesake);
  const FencingToken version = row_.version;
  EXPECT_TRUE(ask(ours_, Change::guard).namesake);
  EXPECT_EQ(row_.version, version);
  EXPECT_FALSE(ask(theirs_, Change::guard).namesake) << "only one of the two gives up";
}

TEST_F(SqlClaims, AReleaseOfTheOlderOneTellsItToLeaveTheRowAlone) {
  const FencingToken token = acquire(ours_).fencing_token;
  acquire(theirs_);
  EXPECT_TRUE(ask(ours_, Change::release, token).namesake);
}

TEST_F(SqlClaims, AReleaseOfTheOlderOneLeavesTheRowAloneWhateverItHadInDoubtBefore) {
  lose(ours_, Change::acquire);
  const FencingToken token = acquire(ours_).fencing_token;
  acquire(theirs_);
  EXPECT_TRUE(ask(ours_, Change::release, token).namesake);
  EXPECT_EQ(row_.owner_id, "me");
}

TEST_F(SqlClaims, AnAcquisitionInDoubtExplainsNothingAfterTwoLeases) {
  lose(ours_, Change::acquire);
  acquire(ours_);
  now_ += 33s;
  EXPECT_FALSE(ask(ours_, Change::guard).namesake);
  acquire(theirs_);
  EXPECT_TRUE(ask(ours_, Change::guard).namesake);
}

TEST_F(SqlClaims, AStoppedOneGivesBackWhatAnAcquisitionInDoubtHasGot) {
  acquire(ours_);
  const Sent lost = send(ours_, Change::acquire);
  row_.owner_id = "";  // its lease was over
  execute(lost);
  fail(ours_, lost, ErrorKind::timeout);
  EXPECT_FALSE(ask(ours_, Change::release, 0).namesake);
}

TEST_F(SqlClaims, OneThatHasNeverOwnedLeavesTheRowAloneHoweverOftenItAsks) {
  acquire(theirs_);
  EXPECT_TRUE(ask(ours_, Change::acquire).namesake);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(ask(ours_, Change::release, 0).namesake);
  EXPECT_EQ(row_.owner_id, "me");
}

TEST_F(SqlClaims, AReleaseOfAFormerLifeLeavesWhatTheNextOneGetsItsOwn) {
  const FencingToken token = acquire(ours_).fencing_token;
  const Sent release = send(ours_, Change::release, token);
  const Row released = execute(release);
  const Sent next = send(ours_, Change::acquire);
  EXPECT_FALSE(tell(ours_, release, released).namesake);
  const LeaseRecord granted = tell(ours_, next, execute(next));
  EXPECT_FALSE(granted.namesake);
  EXPECT_FALSE(ask(ours_, Change::guard).namesake);
  EXPECT_EQ(ask(ours_, Change::release, granted.fencing_token + 1).owner_id, "");
}

TEST_F(SqlClaims, ARenewalThatWasCarriedOutWithoutAnAnswerExplainsWhatItDid) {
  acquire(ours_);
  for (int i = 0; i < 3; ++i) {
    const Sent lost = send(ours_, Change::guard);
    execute(lost);
    fail(ours_, lost, ErrorKind::timeout);
  }
  EXPECT_EQ(row_.version, 2U) << "of those under one version one is carried out";
  const LeaseRecord told = ask(ours_, Change::guard);
  EXPECT_EQ(told.owner_id, "me");
  EXPECT_FALSE(told.namesake);
  EXPECT_EQ(row_.version, 2U);
  EXPECT_FALSE(ask(ours_, Change::guard).namesake);
  EXPECT_EQ(row_.version, 3U);
}

TEST_F(SqlClaims, ARenewalThatIsCarriedOutAfterALaterOneDoesNothing) {
  acquire(ours_);
  const Sent first = lose(ours_, Change::guard);
  const Sent second = lose(ours_, Change::guard);
  EXPECT_FALSE(ask(ours_, Change::guard).namesake);
  const FencingToken version = row_.version;
  execute(first);
  execute(second);
  EXPECT_EQ(row_.version, version);
  EXPECT_FALSE(ask(ours_, Change::guard).namesake);
}

TEST_F(SqlClaims, ARenewalOfAnEarlierOwnershipDoesNothingInALaterOne) {
  acquire(ours_);
  const Sent first = lose(ours_, Change::guard);
  const Sent second = lose(ours_, Change::guard);
  row_.owner_id = "";  // its lease is over
  EXPECT_FALSE(acquire(ours_).namesake);
  const FencingToken version = row_.version;
  execute(first);
  execute(second);
  EXPECT_EQ(row_.version, version);
  EXPECT_FALSE(ask(ours_, Change::guard).namesake);
  EXPECT_EQ(ask(ours_, Change::release, row_.version).owner_id, "");
}

TEST_F(SqlClaims, WhatADeadProcessHadInDoubtDoesNotTouchTheRowOfItsNextLife) {
  acquire(theirs_);
  const Sent first = lose(theirs_, Change::guard);
  const Sent second = lose(theirs_, Change::guard);
  acquire(ours_);
  const FencingToken version = row_.version;
  execute(second);
  execute(first);
  EXPECT_EQ(row_.version, version);
  EXPECT_FALSE(ask(ours_, Change::guard).namesake);
}

TEST_F(SqlClaims, ARenewalInDoubtIsNoReasonToRenewWhatAnotherHasTakenOver) {
  acquire(ours_);
  const Sent late = lose(ours_, Change::guard);
  row_.owner_id = "another";
  ++row_.version;
  EXPECT_EQ(ask(ours_, Change::guard).owner_id, "another");
  row_.owner_id = "";
  ++row_.version;
  acquire(ours_);
  const FencingToken version = row_.version;
  execute(late);
  EXPECT_EQ(row_.version, version);
  EXPECT_FALSE(ask(ours_, Change::guard).namesake);
}

TEST_F(SqlClaims, WhatWasRefusedIsNotOursAlsoWhereItsRequestIsForgotten) {
  acquire(theirs_);
  const Sent sent = send(ours_, Change::acquire);
  Claims forgetful;
  EXPECT_TRUE(tell(forgetful, sent, execute(sent)).namesake);
}

TEST_F(SqlClaims, DoubtsExplainNoMoreThanOneStepTogether) {
  acquire(ours_);
  for (int i = 0; i < 5; ++i) lose(ours_, Change::guard);
  acquire(theirs_);
  ask(theirs_, Change::guard);
  EXPECT_TRUE(ask(ours_, Change::guard).namesake);
}

TEST_F(SqlClaims, ANamesakeWithinWhatADoubtExplainsIsToldByTheNextRenewal) {
  acquire(ours_);
  lose(ours_, Change::guard);
  acquire(theirs_);
  const FencingToken version = row_.version;
  EXPECT_FALSE(ask(ours_, Change::guard).namesake) << "it could be our own renewal";
  EXPECT_EQ(row_.version, version) << "and could be theirs: it is not touched";
  EXPECT_FALSE(ask(ours_, Change::guard).namesake);
  EXPECT_TRUE(ask(theirs_, Change::guard).namesake);
}

TEST_F(SqlClaims, OneThatTookANamesakeForItselfIsToldWhereTheOtherRenewsFirst) {
  acquire(ours_);
  lose(ours_, Change::guard);
  acquire(theirs_);
  EXPECT_FALSE(ask(ours_, Change::guard).namesake) << "it could be our own renewal";
  EXPECT_FALSE(ask(theirs_, Change::guard).namesake);
  EXPECT_TRUE(ask(ours_, Change::guard).namesake);
}

TEST_F(SqlClaims, WhatTheServerHasRefusedIsNoDoubt) {
  acquire(ours_);
  for (int i = 0; i < 50; ++i) {
    const Sent refused = send(ours_, Change::guard);
    fail(ours_, refused, ErrorKind::unavailable);
  }
  acquire(theirs_);
  EXPECT_TRUE(ask(ours_, Change::guard).namesake);
}

TEST_F(SqlClaims, AnswersThatOvertakeEachOtherAreNoEvidence) {
  acquire(ours_);
  const Sent first = send(ours_, Change::guard);
  const Sent second = send(ours_, Change::guard);
  const Row first_row = execute(first);
  const Row second_row = execute(second);
  EXPECT_FALSE(tell(ours_, second, second_row).namesake);
  EXPECT_FALSE(tell(ours_, first, first_row).namesake);
  EXPECT_FALSE(ask(ours_, Change::guard).namesake);
}

TEST_F(SqlClaims, AGrantWhoseAnswerWasLostIsTakenOverByItself) {
  const Sent lost = send(ours_, Change::acquire);
  execute(lost);
  fail(ours_, lost, ErrorKind::in_doubt);
  EXPECT_FALSE(acquire(ours_).namesake);
  EXPECT_FALSE(ask(ours_, Change::guard).namesake);
}

TEST_F(SqlClaims, ALateAcquisitionOfOneThatIsGoneTakesNothing) {
  const Sent late = send(theirs_, Change::acquire);
  acquire(ours_);
  execute(late);
  EXPECT_FALSE(ask(ours_, Change::guard).namesake);
}

// A row that was freed by force, and then granted to an acquisition of ours that came late.
TEST_F(SqlClaims, WhatALateAcquisitionOfOursExplainsIsLostButNoNamesake) {
  const Sent late = send(ours_, Change::acquire);
  fail(ours_, late, ErrorKind::timeout);
  acquire(ours_);
  row_.owner_id = "";
  ++row_.version;
  execute(late);
  ASSERT_EQ(row_.owner_id, "me");
  const LeaseRecord told = ask(ours_, Change::guard);
  EXPECT_FALSE(told.namesake);
  EXPECT_EQ(told.owner_id, "");
}

TEST_F(SqlClaims, AGrantWhoseAnswerWasLostIsFoundByARelease) {
  const Sent lost = send(ours_, Change::acquire);
  execute(lost);
  fail(ours_, lost, ErrorKind::in_doubt);
  const LeaseRecord found = ask(ours_, Change::release, 0);
  EXPECT_FALSE(found.namesake);
  EXPECT_EQ(ask(ours_, Change::release, found.fencing_token).owner_id, "");
}

// One process at a time, which dies now and then. Requests are carried out in any order, also those
// of the dead, answers overtake each other or get lost. Whatever a renewal finds is its own.
TEST_F(SqlClaims, NoOrderOfLateAndLostRequestsMakesAFalseNamesake) {
  struct Open {
    Sent sent;
    std::shared_ptr<Claims> asked_by;
    std::optional<Row> row;
  };
  int renewed = 0;
  for (std::uint64_t seed = 1; seed <= 3'000; ++seed) {
    std::mt19937_64 random{seed};
    const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
    row_ = {.mutex = "m", .owner_id = "", .transition_at = 1'000, .version = 0, .now = 0};
    auto living = std::make_shared<Claims>();
    acquire(*living);
    std::vector<Open> open;
    for (int step = 0; step < 40; ++step) {
      if (chance(8)) {
        living = std::make_shared<Claims>();
        acquire(*living);
      } else if (chance(10)) {
        acquire(*living);  // as after a lease that ran out
      } else if (chance(40)) {
        open.push_back({send(*living, chance(90) ? Change::guard : Change::acquire), living, {}});
      }
      if (open.empty()) continue;
      const std::size_t picked = random() % open.size();
      Open& one = open[picked];
      if (!one.row && chance(60)) one.row = execute(one.sent);
      if (chance(30))
        fail(*one.asked_by, one.sent, ErrorKind::in_doubt);
      else if (one.row) {
        const LeaseRecord told = tell(*one.asked_by, one.sent, *one.row);
        if (one.asked_by == living && one.sent.change == Change::guard) {
          ASSERT_FALSE(told.namesake) << "seed " << seed << ", step " << step;
          ASSERT_EQ(told.owner_id, "me") << "seed " << seed << ", step " << step;
          ++renewed;
        }
      } else
        continue;
      // What failed may still be carried out, for nobody.
      if (!one.row && chance(50)) execute(one.sent);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(picked));
    }
    ASSERT_FALSE(ask(*living, Change::guard).namesake) << "seed " << seed;
    ASSERT_FALSE(ask(*living, Change::guard).namesake) << "seed " << seed;
  }
  EXPECT_GT(renewed, 3'000) << "else nothing is shown";
}

// Two at the same time, after any trouble: of two renewals each, one tells one of them.
TEST_F(SqlClaims, OfTwoWithAnyDoubtsExactlyOneIsToldWithinTwoRenewals) {
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
    std::mt19937_64 random{seed};
    row_ = {.mutex = "m", .owner_id = "", .transition_at = 1'000, .version = 0, .now = 0};
    Claims first;
    Claims second;
    acquire(first);
    const auto trouble = [&](Claims& claims) {
      for (auto left = random() % 4; left > 0; --left) {
        const Sent lost = send(claims, Change::guard);
        if (random() % 2 == 0) execute(lost);
        fail(claims, lost, ErrorKind::in_doubt);
      }
    };
    trouble(first);
    acquire(second);
    trouble(second);
    bool first_told = false;
    bool second_told = false;
    for (int round = 0; round < 2; ++round) {
      const bool first_begins = random() % 2 == 0;
      for (const bool turn_of_first : {first_begins, !first_begins}) {
        bool& told = turn_of_first ? first_told : second_told;
        if (!told) told = ask(turn_of_first ? first : second, Change::guard).namesake;
      }
    }
    EXPECT_NE(first_told, second_told) << "seed " << seed;
  }
}

TEST_F(SqlClaims, NothingIsKeptOfAWaiterOrOfAnOwnerThatWasTakenOver) {
  row_.owner_id = "another";
  row_.version = 3;
  ask(ours_, Change::acquire);
  EXPECT_EQ(ours_.size(), 0U);
  row_.owner_id = "";
  acquire(ours_);
  EXPECT_EQ(ours_.size(), 1U);
  row_.owner_id = "another";
  ++row_.version;
  ask(ours_, Change::guard);
  EXPECT_EQ(ours_.size(), 0U);
  row_.owner_id = "";
  acquire(ours_);
  acquire(theirs_);
  ask(ours_, Change::guard);
  EXPECT_EQ(ours_.size(), 0U);
}

TEST_F(SqlClaims, WhatRanOutIsForgottenAfterTwoLeases) {
  for (const Sent& sent : ask_for(ours_, 0, 5'000)) grant(ours_, sent);
  for (const Sent& sent : ask_for(ours_, 5'000, 10'000)) fail(ours_, sent, ErrorKind::timeout);
  EXPECT_EQ(ours_.size(), 10'000U);
  now_ += 33s;
  ask_for(ours_, 10'000, 20'000);
  EXPECT_EQ(ours_.size(), 10'000U) << "the newer half, which is still under way";
}

TEST_F(SqlClaims, WhatIsUnderWayIsNeverForgotten) {
  const std::vector<Sent> all = ask_for(ours_, 0, 20'000);
  now_ += 1h;
  ask_for(ours_, 20'000, 50'000);
  for (const Sent& sent : all) {
    ASSERT_FALSE(grant(ours_, sent).namesake);
    ASSERT_EQ(ours_.sending(Change::guard, sent.request, 0, now_), FencingToken{1});
  }
}

TEST_F(SqlClaims, AnOwnerThatRenewsIsNeverForgotten) {
  acquire(ours_);
  for (int i = 0; i < 50; ++i) {
    now_ += 10s;
    for (const Sent& sent : ask_for(ours_, i * 1'000, (i + 1) * 1'000)) grant(ours_, sent);
    const Sent renewal = send(ours_, Change::guard);
    ASSERT_EQ(renewal.version, row_.version);
    tell(ours_, renewal, execute(renewal));
  }
  EXPECT_LT(ours_.size(), 20'000U);
}

TEST_F(SqlClaims, ARenewalOfOneThatOwnsNothingDoesNotRenewItsNamesake) {
  const FencingToken token = acquire(theirs_).fencing_token;
  EXPECT_TRUE(ask(ours_, Change::guard).namesake);
  EXPECT_TRUE(ask(ours_, Change::acquire).namesake);
  EXPECT_TRUE(ask(ours_, Change::guard).namesake);
  const Sent asking = send(ours_, Change::acquire);
  EXPECT_NE(ask(ours_, Change::guard).fencing_token, token + 1);
  tell(ours_, asking, execute(asking));
  EXPECT_EQ(row_.version, token);
  EXPECT_FALSE(ask(theirs_, Change::guard).namesake);
}

TEST_F(SqlClaims, OneThatSaysNotWhoItIsIsNotJudged) {
  const LeaseRequest request{.mutex = "m", .contender_id = "me"};
  EXPECT_EQ(ours_.sending(Change::acquire, request, 0, now_), std::nullopt);
  EXPECT_EQ(ours_.sending(Change::guard, request, 0, now_), std::nullopt);
  EXPECT_EQ(ours_.sending(Change::release, request, 7, now_), FencingToken{7});
}

TEST_F(SqlClaims, WhatGrewOutOfATokenIsKnownByWhoeverRenewed) {
  const auto versions = [&](const Claims& claims, FencingToken token) {
    const auto found = claims.grown_from({.contender_id = "me", .fencing_token = token}, "m");
    return std::pair{found.least, found.greatest};
  };
  const FencingToken first = acquire(ours_).fencing_token;
  for (int i = 0; i < 4; ++i) ask(ours_, Change::guard);
  EXPECT_EQ(versions(ours_, first), std::pair(first + 4, first + 4));
  EXPECT_EQ(versions(ours_, first + 2), std::pair(first + 4, first + 4));
  EXPECT_EQ(versions(theirs_, first), std::pair(first, first)) << "nothing is known there";

  const Sent renewal = lose(ours_, Change::guard);
  EXPECT_EQ(versions(ours_, first), std::pair(first + 4, first + 5)) << "it may be carried out";
  tell(ours_, renewal, execute(renewal));

  ask(ours_, Change::release, row_.version);
  const FencingToken second = acquire(ours_).fencing_token;
  EXPECT_EQ(versions(ours_, second), std::pair(second, second));
  EXPECT_EQ(versions(ours_, first), std::pair(first, first)) << "of the ownership before";
}

}  // namespace
}  // namespace simba::sql
