#include "simba/engine/contention_options.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string_view>

#include "core/text.hpp"
#include "simba/core/error.hpp"

namespace simba {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// Far beyond any sensible lease, and small enough that sums of all durations fit everywhere.
constexpr milliseconds longest = std::chrono::hours{24 * 366};

std::string text(milliseconds span) { return std::to_string(span.count()) + " ms"; }

std::string text(nanoseconds span) { return text(std::chrono::floor<milliseconds>(span)); }

void check(bool holds, std::string_view name, const std::string& value, const std::string& bound) {
  if (!holds) {
    throw InvalidArgumentError{std::string{name} + " must be " + bound + " (got " + value + ")"};
  }
}

milliseconds in_bounds(std::string_view name, milliseconds value, milliseconds lowest) {
  check(value >= lowest, name, text(value), "at least " + text(lowest));
  check(value <= longest, name, text(value), "at most " + text(longest));
  return value;
}

milliseconds or_derived(std::optional<milliseconds> given, std::string_view name,
                        milliseconds lowest, milliseconds derived) {
  return in_bounds(name, given.value_or(std::max(derived, lowest)), lowest);
}

int in_bounds(std::string_view name, int value, int lowest, int highest) {
  check(value >= lowest && value <= highest, name, std::to_string(value),
        "between " + std::to_string(lowest) + " and " + std::to_string(highest));
  return value;
}

constexpr milliseconds one{1};
constexpr milliseconds zero{0};

}  // namespace

ContentionPlan::ContentionPlan(const ContentionOptions& options)
    : initial_delay{in_bounds("initial_delay", options.initial_delay, zero)},
      ttl{in_bounds("ttl", options.ttl, one)},
      transition{in_bounds("transition", options.transition, zero)},
      margin{or_derived(options.margin, "margin", zero, std::min(lease() / 20, milliseconds{500}))},
      clock_drift_ppm{in_bounds("clock_drift_ppm", options.clock_drift_ppm, 0, 100'000)},
      renew_after{std::max(
          one, ttl * in_bounds("renew_at_percent", options.renew_at_percent, 1, 100) / 100)},
      renew_grid{or_derived(options.renew_grid, "renew_grid", zero, ttl / 20)},
      request_timeout{0},
      retry_min{or_derived(options.retry_min, "retry_min", one,
                           std::min(lease() / 160, milliseconds{100}))},
      retry_max{or_derived(options.retry_max, "retry_max", retry_min,
                           std::min(lease() / 16, milliseconds{1'000}))},
      retry_refused{or_derived(options.retry_refused, "retry_refused", retry_min,
                               std::max(ttl, milliseconds{1'000}))},
      jitter{options.jitter},
      drain_limit{in_bounds("drain_limit", options.drain_limit, zero)},
      release_wait{0},
      observe_interval{or_derived(options.observe_interval, "observe_interval", one, ttl)} {
  check(margin < lease(), "margin", text(margin), "less than ttl + transition, " + text(lease()));
  check(jitter.low <= jitter.high, "jitter.low", text(jitter.low),
        "at most jitter.high, " + text(jitter.high));
  in_bounds("jitter.high", jitter.high, -longest);
  in_bounds("jitter.low", jitter.low, -longest);
  const nanoseconds own_lease = without_drift(lease()) - margin;
  check(own_lease > renew_after,
        "the owner's part of the lease (ttl + transition - drift - margin)", text(own_lease),
        "longer than the renewal point, " + text(renew_after));
  request_timeout =
      or_derived(options.request_timeout, "request_timeout", one,
                 std::min(std::chrono::floor<milliseconds>((own_lease - renew_after) / 4),
                          milliseconds{5'000}));
  check(request_timeout < own_lease - renew_after, "request_timeout", text(request_timeout),
        "less than the rest of the lease when a renewal is due, " + text(own_lease - renew_after));
  release_wait = or_derived(options.release_wait, "release_wait", zero, request_timeout);
}

nanoseconds ContentionPlan::without_drift(nanoseconds span) const noexcept {
  return span - span / 1'000'000 * clock_drift_ppm;
}

std::string to_string(const ContentionOptions& options) {
  const ContentionOptions defaults;
  std::string text = "ttl " + detail::seconds_text(options.ttl) + ", transition " +
                     detail::seconds_text(options.transition);
  const auto add = [&](std::string_view name, const std::string& value) {
    text.append(", ").append(name).append(" ").append(value);
  };
  const auto add_span = [&](std::string_view name, std::optional<milliseconds> value,
                            std::optional<milliseconds> usual = std::nullopt) {
    if (value && value != usual) add(name, detail::seconds_text(*value));
  };
  add_span("initial delay", options.initial_delay, defaults.initial_delay);
  add_span("margin", options.margin);
  if (options.clock_drift_ppm != defaults.clock_drift_ppm) {
    add("clock drift", std::to_string(options.clock_drift_ppm) + " ppm");
  }
  if (options.renew_at_percent != defaults.renew_at_percent) {
    add("renew at", std::to_string(options.renew_at_percent) + "%");
  }
  add_span("renew grid", options.renew_grid);
  add_span("request timeout", options.request_timeout);
  add_span("retry min", options.retry_min);
  add_span("retry max", options.retry_max);
  add_span("retry refused", options.retry_refused);
  if (options.jitter != defaults.jitter) {
    add("jitter", detail::seconds_text(options.jitter.low) + " to " +
                      detail::seconds_text(options.jitter.high));
  }
  add_span("drain limit", options.drain_limit, defaults.drain_limit);
  add_span("release wait", options.release_wait);
  add_span("observe interval", options.observe_interval);
  return text;
}

std::ostream& operator<<(std::ostream& out, const ContentionOptions& options) {
  return out << to_string(options);
}

/// Parts count as full, so that a few mutexes more do not mean twice the statements.
nanoseconds LookRate::interval_for(std::size_t waited) const noexcept {
  const std::size_t parts = (waited + mutexes - 1) / mutexes;
  const auto counted = static_cast<std::int64_t>(parts > 1 ? parts * mutexes : waited);
  return std::max(interval, per * counted / static_cast<std::int64_t>(mutexes));
}

WorstCases worst_cases(const ContentionPlan& plan) noexcept {
  const nanoseconds drift = plan.lease() - plan.without_drift(plan.lease());
  const nanoseconds take_over =
      plan.lease() + drift + std::max(plan.jitter.high, 2 * plan.retry_min) + plan.request_timeout;
  return WorstCases{
      .step_down = plan.without_drift(plan.lease()) - plan.margin,
      .take_over = take_over,
      .hand_over_without_notice = take_over,
      .stop = plan.release_wait,
  };
}

namespace {

std::string hand_over_text(const WorstCases& worst) {
  const std::string bound = "at most " + text(worst.hand_over_without_notice);
  if (!worst.looks) return "hand-over: one message; if it is lost, " + bound;
  const LookRate& looks = *worst.looks;
  constexpr std::size_t many = 2'000;
  return "hand-over: " + bound + "; no notifications: a process polls every " +
         text(looks.interval) + ", at most " + std::to_string(looks.mutexes) + " mutexes per " +
         text(looks.per) + " (every " + text(looks.interval_for(many)) + " if it waits for " +
         std::to_string(many) + ")";
}

}  // namespace

std::string describe(const ContentionPlan& plan, const WorstCases& worst) {
  const std::string gone = worst.take_over_when_gone
                               ? "take-over when the owner's process dies: immediate, or at most " +
                                     text(*worst.take_over_when_gone) +
                                     " if no notification arrives\n"
                               : std::string{};
  return "lease: " + text(plan.ttl) + " ttl + " + text(plan.transition) + " transition; renewed " +
         text(plan.renew_after) + " after the last renewal\n" +
         "step-down when the store is unreachable: at most " + text(worst.step_down) +
         " after the last renewal, at least " + text(plan.margin) +
         " before another contender can own the mutex\n" + gone +
         (gone.empty() ? "take-over after a crash: at most "
                       : "take-over when the owner hangs: at most ") +
         text(worst.take_over) + "\n" + hand_over_text(worst) + "\n" +
         "stop() while the store is unreachable: at most " + text(worst.stop) +
         " plus the time callbacks take (at most " + text(plan.drain_limit) + ")\n";
}

}  // namespace simba
