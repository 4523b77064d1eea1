#include "simba/schedule/schedule_config.hpp"

#include <ostream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "simba/core/error.hpp"

namespace simba {

namespace {

/// What stores keep is in milliseconds.
void check_shared(std::string_view name, std::chrono::nanoseconds span) {
  using std::chrono::milliseconds;
  constexpr std::chrono::nanoseconds longest = std::chrono::hours{24 * 36'600};
  if (span % milliseconds{1} != std::chrono::nanoseconds::zero()) {
    throw InvalidArgumentError{fmt::format(
        "{} must be in whole milliseconds where slots are shared (got {} ns)", name, span.count())};
  }
  if (span > longest) {
    throw InvalidArgumentError{
        fmt::format("{} must not be longer than 100 years where slots are shared (got {})", name,
                    detail::seconds_text(span))};
  }
}

}  // namespace

void ScheduleConfig::check() const {
  using std::chrono::nanoseconds;
  const bool shares_slots = strategy == Strategy::slots;
  if (strategy == Strategy::wall_clock && !cron) {
    throw InvalidArgumentError{"the strategy wall_clock needs a cron expression"};
  }
  if (cron && strategy != Strategy::wall_clock && !shares_slots) {
    throw InvalidArgumentError{"only the strategies wall_clock and slots take a cron expression"};
  }
  if (!shares_slots && slots != SlotOptions{}) {
    throw InvalidArgumentError{"only the strategy slots takes options of slots"};
  }
  if (shares_slots) slots.check();
  if (cron) {
    if (initial_delay != nanoseconds::zero() || period != nanoseconds::zero()) {
      throw InvalidArgumentError{"a cron expression goes with neither initial_delay nor period"};
    }
    return;
  }
  if (initial_delay < nanoseconds::zero()) {
    throw InvalidArgumentError{
        fmt::format("initial_delay must not be negative (got {} ns)", initial_delay.count())};
  }
  if (period <= nanoseconds::zero()) {
    throw InvalidArgumentError{fmt::format("period must be positive (got {} ns)", period.count())};
  }
  if (!shares_slots) return;
  check_shared("initial_delay", initial_delay);
  check_shared("period", period);
  if (slots.jitter >= period) {
    throw InvalidArgumentError{
        fmt::format("jitter must be shorter than the period of {}, or slots are missed (got {})",
                    detail::seconds_text(period), detail::seconds_text(slots.jitter))};
  }
}

ScheduleConfig ScheduleConfig::rate(std::chrono::nanoseconds initial_delay,
                                    std::chrono::nanoseconds period) {
  ScheduleConfig config{Strategy::fixed_rate, initial_delay, period};
  config.check();
  return config;
}

ScheduleConfig ScheduleConfig::delay(std::chrono::nanoseconds initial_delay,
                                     std::chrono::nanoseconds period) {
  ScheduleConfig config{Strategy::fixed_delay, initial_delay, period};
  config.check();
  return config;
}

ScheduleConfig ScheduleConfig::wall_clock(Cron cron) {
  return {.strategy = Strategy::wall_clock, .cron = std::move(cron)};
}

ScheduleConfig ScheduleConfig::shared(Cron cron, SlotOptions slots) {
  ScheduleConfig config{
      .strategy = Strategy::slots, .cron = std::move(cron), .slots = std::move(slots)};
  config.check();
  return config;
}

ScheduleConfig ScheduleConfig::shared_rate(std::chrono::nanoseconds initial_delay,
                                           std::chrono::nanoseconds period, SlotOptions slots) {
  ScheduleConfig config{.strategy = Strategy::slots,
                        .initial_delay = initial_delay,
                        .period = period,
                        .cron = {},
                        .slots = std::move(slots)};
  config.check();
  return config;
}

std::string to_string(const ScheduleConfig& config) {
  const auto period = [&config] { return detail::seconds_text(config.period); };
  std::string text;
  if (config.cron) {
    text = to_string(*config.cron);
  } else if (config.strategy == ScheduleConfig::Strategy::fixed_delay) {
    text = period() + " after each run";
  } else {
    text = "every " + period();
  }
  if (config.initial_delay != std::chrono::nanoseconds::zero()) {
    text += ", first after " + detail::seconds_text(config.initial_delay);
  }
  if (config.slots != SlotOptions{}) text += ", " + to_string(config.slots);
  return text;
}

std::ostream& operator<<(std::ostream& out, const ScheduleConfig& config) {
  return out << to_string(config);
}

}  // namespace simba
