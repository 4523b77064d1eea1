#include "zookeeper/session/session.hpp"

#include <chrono>

#include <gtest/gtest.h>

namespace simba::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr LocalTime start{100s};

class SessionEvidenceTest : public testing::Test {
 protected:
  SessionEvidenceTest() { evidence.begun(start, 300ms); }
  SessionEvidence evidence;
};

TEST_F(SessionEvidenceTest, ANewSessionCountsFromBeforeItWasAskedFor) {
  EXPECT_EQ(evidence.counted_from(), start);
}

TEST_F(SessionEvidenceTest, AnAnswerAloneProvesNothing) {
  evidence.answered(start + 100ms, start + 110ms);
  EXPECT_EQ(evidence.counted_from(), start);
}

TEST_F(SessionEvidenceTest, AnAnswerCountsWhenALaterRequestHasGoneToTheLeaderAndBack) {
  evidence.answered(start + 100ms, start + 110ms);
  evidence.answered(start + 410ms, start + 420ms);
  EXPECT_EQ(evidence.counted_from(), start + 100ms);
}

TEST_F(SessionEvidenceTest, ARequestThatCameTooSoonAfterItProvesNothing) {
  evidence.answered(start + 100ms, start + 110ms);
  evidence.answered(start + 409ms, start + 420ms);
  EXPECT_EQ(evidence.counted_from(), start);
}

TEST_F(SessionEvidenceTest, TheTimeIsCountedFromTheAnswerNotFromTheRequest) {
  evidence.answered(start + 100ms, start + 900ms);
  evidence.answered(start + 500ms, start + 910ms);
  EXPECT_EQ(evidence.counted_from(), start);
}

TEST_F(SessionEvidenceTest, OneRequestProvesAllThatAreOldEnough) {
  for (int i = 1; i <= 4; ++i) {
    evidence.answered(start + i * 100ms, start + i * 100ms + 10ms);
  }
  evidence.answered(start + 615ms, start + 620ms);
  EXPECT_EQ(evidence.counted_from(), start + 300ms);
}

TEST_F(SessionEvidenceTest, AReconnectProvesAllThatWasAnsweredBefore) {
  evidence.answered(start + 100ms, start + 110ms);
  evidence.answered(start + 200ms, start + 210ms);
  evidence.reconnected();
  EXPECT_EQ(evidence.counted_from(), start + 200ms);
}

TEST_F(SessionEvidenceTest, AReconnectWithoutAnAnswerProvesNothingNew) {
  evidence.reconnected();
  EXPECT_EQ(evidence.counted_from(), start);
}

TEST_F(SessionEvidenceTest, ANewSessionForgetsTheOldOne) {
  evidence.answered(start + 100ms, start + 110ms);
  evidence.begun(start + 5s, 300ms);
  evidence.reconnected();
  EXPECT_EQ(evidence.counted_from(), start + 5s);
}

}  // namespace
}  // namespace simba::zookeeper
