#include "simba/engine/contention_options.hpp"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/core/error.hpp"

namespace simba::engine {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string refusal(const std::function<void(ContentionOptions&)>& change) {
  ContentionOptions options;
  change(options);
  try {
    const ContentionPlan plan{options};
  } catch (const InvalidArgumentError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(ContentionOptions, HaveTheDefaultsOfTheProtocol) {
  const ContentionPlan plan{ContentionOptions{}};
  EXPECT_EQ(plan.initial_delay, 0ms);
  EXPECT_EQ(plan.ttl, 10s);
  EXPECT_EQ(plan.transition, 6s);
  EXPECT_EQ(plan.lease(), 16s);
  EXPECT_EQ(plan.margin, 500ms);
  EXPECT_EQ(plan.renew_after, 6s);
}

TEST(ContentionOptions, DeriveTheRestFromTheLease) {
  ContentionOptions options;
  options.ttl = 600ms;
  options.transition = 300ms;
  const ContentionPlan plan{options};
  EXPECT_EQ(plan.margin, 45ms);
  EXPECT_EQ(plan.renew_after, 360ms);
  EXPECT_EQ(plan.request_timeout, 123ms) << "four fit between renewal and step-down";
  EXPECT_EQ(plan.release_wait, plan.request_timeout);
  EXPECT_LE(plan.retry_min, plan.retry_max);
  EXPECT_EQ(plan.observe_interval, 600ms);
}

TEST(ContentionOptions, TakeGivenValuesAsTheyAre) {
  ContentionOptions options;
  options.margin = 1s;
  options.request_timeout = 77ms;
  options.retry_min = 5ms;
  options.retry_max = 6ms;
  options.retry_refused = 7ms;
  options.release_wait = 8ms;
  options.observe_interval = 9ms;
  options.renew_grid = 0ms;
  const ContentionPlan plan{options};
  EXPECT_EQ(plan.margin, 1s);
  EXPECT_EQ(plan.request_timeout, 77ms);
  EXPECT_EQ(plan.retry_min, 5ms);
  EXPECT_EQ(plan.retry_max, 6ms);
  EXPECT_EQ(plan.retry_refused, 7ms);
  EXPECT_EQ(plan.release_wait, 8ms);
  EXPECT_EQ(plan.observe_interval, 9ms);
  EXPECT_EQ(plan.renew_grid, 0ms);
}

TEST(ContentionOptions, AreRefusedWithTheValueAndItsBound) {
  EXPECT_THAT(refusal([](auto& o) { o.ttl = 0ms; }),
              HasSubstr("ttl must be at least 1 ms (got 0 ms)"));
  EXPECT_THAT(refusal([](auto& o) { o.transition = -1ms; }),
              HasSubstr("transition must be at least 0 ms (got -1 ms)"));
  EXPECT_THAT(refusal([](auto& o) { o.initial_delay = -5ms; }),
              HasSubstr("initial_delay must be at least 0 ms (got -5 ms)"));
  EXPECT_THAT(refusal([](auto& o) { o.ttl = std::chrono::milliseconds::max(); }),
              AllOf(HasSubstr("ttl must be at most"), HasSubstr("(got 9223372036854775807 ms)")));
  EXPECT_THAT(refusal([](auto& o) { o.margin = 16s; }),
              HasSubstr("margin must be less than ttl + transition, 16000 ms (got 16000 ms)"));
  EXPECT_THAT(refusal([](auto& o) { o.margin = 11s; }),
              HasSubstr("must be longer than the renewal point, 6000 ms (got 4992 ms)"));
  EXPECT_THAT(refusal([](auto& o) { o.renew_at_percent = 101; }),
              HasSubstr("renew_at_percent must be between 1 and 100 (got 101)"));
  EXPECT_THAT(refusal([](auto& o) { o.clock_drift_ppm = -1; }),
              HasSubstr("clock_drift_ppm must be between 0 and 100000 (got -1)"));
  EXPECT_THAT(refusal([](auto& o) { o.request_timeout = 0ms; }),
              HasSubstr("request_timeout must be at least 1 ms (got 0 ms)"));
  EXPECT_THAT(
      refusal([](auto& o) { o.request_timeout = 10s; }),
      AllOf(HasSubstr("request_timeout must be less than"), HasSubstr("9492 ms (got 10000 ms)")));
  EXPECT_THAT(refusal([](auto& o) {
                o.retry_min = 10ms;
                o.retry_max = 9ms;
              }),
              HasSubstr("retry_max must be at least 10 ms (got 9 ms)"));
  EXPECT_THAT(refusal([](auto& o) { o.jitter = {.low = 5ms, .high = 4ms}; }),
              HasSubstr("jitter.low must be at most jitter.high, 4 ms (got 5 ms)"));
  EXPECT_THAT(refusal([](auto& o) { o.drain_limit = -1ms; }),
              HasSubstr("drain_limit must be at least 0 ms (got -1 ms)"));
  EXPECT_EQ(refusal([](auto& o) { o.transition = 0ms; }), "accepted");
}

TEST(ContentionOptions, ComputeWhatTheyPromiseAtWorst) {
  ContentionOptions options;
  options.clock_drift_ppm = 0;
  options.request_timeout = 2s;
  const ContentionPlan plan{options};
  const WorstCases worst = worst_cases(plan);
  EXPECT_EQ(worst.step_down, 15'500ms);
  EXPECT_EQ(worst.take_over, 16s + 1s + 2s);
  EXPECT_EQ(worst.hand_over_without_notice, worst.take_over);
  EXPECT_EQ(worst.stop, 2s);
  EXPECT_THAT(describe(plan, worst),
              AllOf(HasSubstr("10000 ms ttl"), HasSubstr("15500 ms"), HasSubstr("19000 ms")));
}

TEST(ContentionOptions, AreDescribedWithTheWorstCasesOfTheStore) {
  const ContentionPlan plan{ContentionOptions{}};
  WorstCases worst = worst_cases(plan);
  worst.take_over = 4'321ms;
  EXPECT_THAT(describe(plan, worst), HasSubstr("take-over after a crash: at most 4321 ms"));
  worst.take_over_when_gone = 1'234ms;
  EXPECT_THAT(describe(plan, worst),
              AllOf(HasSubstr("process dies: immediate, or at most 1234 ms if no notification"),
                    HasSubstr("owner hangs: at most 4321 ms")));
}

TEST(ContentionOptions, AreDescribedWithTheRateOfLooksWhereThereAreNoNotifications) {
  const ContentionPlan plan{ContentionOptions{}};
  WorstCases worst = worst_cases(plan);
  EXPECT_THAT(describe(plan, worst), HasSubstr("hand-over: one message; if it is lost, at most"));
  worst.hand_over_without_notice = 2'500ms;
  worst.looks = LookRate{.interval = 100ms, .mutexes = 250, .per = 100ms};
  EXPECT_THAT(describe(plan, worst),
              AllOf(HasSubstr("hand-over: at most 2500 ms; no notifications: a process polls every "
                              "100 ms, at most 250 mutexes per 100 ms (every 800 ms if it "
                              "waits for 2000)\n"),
                    Not(HasSubstr("message"))));
}

TEST(LookRate, LastsLongerForEachFurtherPart) {
  const LookRate rate{.interval = 300ms, .mutexes = 250, .per = 100ms};
  EXPECT_EQ(rate.interval_for(0), 300ms);
  EXPECT_EQ(rate.interval_for(750), 300ms);
  EXPECT_EQ(rate.interval_for(751), 400ms);
  EXPECT_EQ(rate.interval_for(10'000), 4s);
  const LookRate quick{.interval = 10ms, .mutexes = 250, .per = 100ms};
  EXPECT_EQ(quick.interval_for(25), 10ms);
  EXPECT_EQ(quick.interval_for(50), 20ms);
  EXPECT_EQ(quick.interval_for(251), 200ms);
}

}  // namespace
}  // namespace simba::engine
