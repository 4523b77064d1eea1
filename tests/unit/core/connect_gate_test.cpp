#include "core/connect_gate.hpp"

#include <chrono>
#include <set>

#include <gtest/gtest.h>

namespace simba::detail {
namespace {

using namespace std::chrono_literals;

const Error down{ErrorKind::unavailable, "connection refused"};
const Error refused{ErrorKind::authentication, "wrong password"};
constexpr LocalTime now{1000s};

TEST(ConnectGate, IsOpenAtFirst) {
  const ConnectGate gate;
  EXPECT_FALSE(gate.shut(now));
}

TEST(ConnectGate, IsShutForAWhileAfterAFailureAndSaysWhy) {
  ConnectGate gate;
  gate.failed(down, now);
  ASSERT_TRUE(gate.shut(now));
  EXPECT_STREQ(gate.shut(now)->what(), down.what());
  EXPECT_FALSE(gate.shut(now + 1s));
}

TEST(ConnectGate, TheWhileDoublesUpToABound) {
  ConnectGate gate;
  LocalTime at = now;
  auto longest = 0ms;
  for (int i = 0; i < 20; ++i) {
    gate.failed(down, at);
    auto pause = 0ms;
    while (gate.shut(at + pause)) pause += 10ms;
    EXPECT_GE(pause, longest);
    longest = pause;
    at += pause;
  }
  EXPECT_EQ(longest, 500ms);
}

TEST(ConnectGate, WhatDoesNotPassByItselfIsTriedSlowly) {
  ConnectGate gate;
  gate.failed(refused, now);
  EXPECT_TRUE(gate.shut(now + 999ms));
  EXPECT_FALSE(gate.shut(now + 1s));
}

TEST(ConnectGate, APauseIsUpToHalfAgainAsLongByChance) {
  const auto random = make_seeded_random(1);
  std::set<LocalTime> ends;
  for (int i = 0; i < 100; ++i) {
    ConnectGate gate{random};
    gate.failed(refused, now);
    EXPECT_GE(gate.opens_at(), now + 1s);
    EXPECT_LT(gate.opens_at(), now + 1'500ms);
    ends.insert(gate.opens_at());
  }
  EXPECT_GT(*ends.rbegin() - *ends.begin(), 400ms);
}

TEST(ConnectGate, TheSameFailureIsNewsOnce) {
  ConnectGate gate;
  EXPECT_TRUE(gate.failed(down, now));
  EXPECT_FALSE(gate.failed(down, now));
  EXPECT_TRUE(gate.failed(refused, now));
  EXPECT_TRUE(gate.succeeded());
  EXPECT_FALSE(gate.succeeded());
  EXPECT_TRUE(gate.failed(down, now));
}

TEST(ConnectGate, ASuccessOpensIt) {
  ConnectGate gate;
  gate.failed(down, now);
  gate.succeeded();
  EXPECT_FALSE(gate.shut(now));
}

}  // namespace
}  // namespace simba::detail
