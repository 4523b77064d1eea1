#include "simba/testkit/manual_clock.hpp"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "simba/core/error.hpp"

namespace simba::testkit {
namespace {

using namespace std::chrono_literals;

TEST(ManualClock, StandsStillUntilItIsAdvanced) {
  ManualClock clock;
  const LocalTime start = clock.now();
  EXPECT_EQ(clock.now(), start);
  clock.advance(3s);
  clock.advance(0s);
  EXPECT_EQ(clock.now(), start + 3s);
}

TEST(ManualClock, StartsWhereItIsTold) {
  EXPECT_EQ(ManualClock{LocalTime{7s}}.now(), LocalTime{7s});
}

TEST(ManualClock, CanBeSetForwardOnly) {
  ManualClock clock{LocalTime{10s}};
  clock.set(LocalTime{12s});
  clock.set(LocalTime{12s});
  EXPECT_THROW(clock.set(LocalTime{11s}), InvalidArgumentError);
  EXPECT_THROW(clock.advance(-1ns), InvalidArgumentError);
  EXPECT_EQ(clock.now(), LocalTime{12s});
}

TEST(ManualClock, SetAtLeastNeverTurnsBack) {
  ManualClock clock{LocalTime{10s}};
  clock.set_at_least(LocalTime{9s});
  EXPECT_EQ(clock.now(), LocalTime{10s});
  clock.set_at_least(LocalTime{11s});
  EXPECT_EQ(clock.now(), LocalTime{11s});
}

TEST(ManualClock, LosesNoAdvanceOfSeveralThreads) {
  ManualClock clock{LocalTime{0s}};
  {
    std::vector<std::jthread> threads;
    threads.reserve(3);
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 1000; ++n) {
          clock.advance(1ms);
        }
      });
    }
  }
  EXPECT_EQ(clock.now(), LocalTime{3s});
}

}  // namespace
}  // namespace simba::testkit
