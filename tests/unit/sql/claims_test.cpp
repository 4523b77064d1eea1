#include "sql/claims.hpp"

#include <optional>

#include <gtest/gtest.h>

#include "sql/rows.hpp"

namespace simba::sql {
namespace {

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
    LeaseRequest request{.mutex = "m", .contender_id = "me", .instance = 1};
    if (change == Change::acquire) request.takes_over = token;
    return {change, request, claims.sending(change, request, token)};
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

  static LeaseRecord tell(Claims& claims, const Sent& sent, const Row& row) {
    const LeaseAnswer answer = claims.answered(sent.change, sent.request, row, record_of(row));
    return *answer.record();
  }
  static void fail(Claims& claims, const Sent& sent, ErrorKind kind) {
    const Error error{kind, "no answer"};
    claims.answered(sent.change, sent.request, error, error);
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

TEST_F(SqlClaims, RenewalsThatWereCarriedOutWithoutAnAnswerExplainWhatTheyDid) {
  acquire(ours_);
  for (int i = 0; i < 3; ++i) {
    const Sent lost = send(ours_, Change::guard);
    execute(lost);
    fail(ours_, lost, ErrorKind::timeout);
  }
  EXPECT_FALSE(ask(ours_, Change::guard).namesake);
  EXPECT_EQ(row_.version, 5U);
}

TEST_F(SqlClaims, ARenewalThatIsCarriedOutAfterALaterOneDoesNothing) {
  acquire(ours_);
  const Sent late = send(ours_, Change::guard);
  fail(ours_, late, ErrorKind::in_doubt);
  EXPECT_FALSE(ask(ours_, Change::guard).namesake);
  const FencingToken version = row_.version;
  execute(late);
  EXPECT_EQ(row_.version, version);
  EXPECT_FALSE(ask(ours_, Change::guard).namesake);
}

TEST_F(SqlClaims, OneOfTwoInDoubtMayStillBeCarriedOutLate) {
  acquire(ours_);
  const Sent first = send(ours_, Change::guard);
  fail(ours_, first, ErrorKind::timeout);
  const Sent second = send(ours_, Change::guard);
  fail(ours_, second, ErrorKind::timeout);
  EXPECT_FALSE(ask(ours_, Change::guard).namesake);
  execute(second);
  EXPECT_FALSE(ask(ours_, Change::guard).namesake);
}

TEST_F(SqlClaims, ARenewalOfAnEarlierOwnershipThatIsCarriedOutLateIsNoEvidence) {
  acquire(ours_);
  const Sent first = send(ours_, Change::guard);
  fail(ours_, first, ErrorKind::timeout);
  const Sent second = send(ours_, Change::guard);
  fail(ours_, second, ErrorKind::timeout);
  row_.owner_id = "";  // its lease is over
  EXPECT_FALSE(acquire(ours_).namesake);
  execute(second);
  EXPECT_EQ(row_.version, 3U) << "it was carried out";
  EXPECT_FALSE(ask(ours_, Change::guard).namesake);
  EXPECT_EQ(ask(ours_, Change::release, row_.version).owner_id, "");
}

TEST_F(SqlClaims, WhatWasRefusedIsNotOursAlsoWhereItsRequestIsForgotten) {
  acquire(theirs_);
  const Sent sent = send(ours_, Change::acquire);
  ours_.forget_all();
  EXPECT_TRUE(tell(ours_, sent, execute(sent)).namesake);
}

TEST_F(SqlClaims, DoubtsExplainNoMoreThanOneStepEach) {
  acquire(ours_);
  const Sent lost = send(ours_, Change::guard);
  fail(ours_, lost, ErrorKind::timeout);  // it has never come to the server
  acquire(theirs_);
  ask(theirs_, Change::guard);
  EXPECT_TRUE(ask(ours_, Change::guard).namesake);
}

TEST_F(SqlClaims, WhatADoubtExplainsIsFoundOutByTheOther) {
  acquire(ours_);
  const Sent lost = send(ours_, Change::guard);
  fail(ours_, lost, ErrorKind::timeout);
  acquire(theirs_);
  EXPECT_FALSE(ask(ours_, Change::guard).namesake) << "it could be our own renewal";
  EXPECT_TRUE(ask(theirs_, Change::guard).namesake);
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

TEST_F(SqlClaims, OneThatSaysNotWhoItIsIsNotJudged) {
  const LeaseRequest request{.mutex = "m", .contender_id = "me"};
  EXPECT_EQ(ours_.sending(Change::acquire, request, 0), std::nullopt);
  EXPECT_EQ(ours_.sending(Change::guard, request, 0), std::nullopt);
  EXPECT_EQ(ours_.sending(Change::release, request, 7), FencingToken{7});
}

}  // namespace
}  // namespace simba::sql
