#include "simba/schedule/schedule_config.hpp"

#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "simba/core/error.hpp"

namespace simba {

void ScheduleConfig::check() const {
  using std::chrono::nanoseconds;
  if ((strategy == Strategy::wall_clock) != cron.has_value()) {
    throw InvalidArgumentError{cron ? "only the strategy wall_clock takes a cron expression"
                                    : "the strategy wall_clock needs a cron expression"};
  }
  if (cron) {
    if (initial_delay != nanoseconds::zero() || period != nanoseconds::zero()) {
      throw InvalidArgumentError{"the strategy wall_clock takes neither initial_delay nor period"};
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

std::string to_string(const ScheduleConfig& config) {
  if (config.cron) return to_string(*config.cron);
  const std::string period = detail::seconds_text(config.period);
  std::string text = config.strategy == ScheduleConfig::Strategy::fixed_rate
                         ? "every " + period
                         : period + " after each run";
  if (config.initial_delay != std::chrono::nanoseconds::zero()) {
    text += ", first after " + detail::seconds_text(config.initial_delay);
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, const ScheduleConfig& config) {
  return out << to_string(config);
}

}  // namespace simba
