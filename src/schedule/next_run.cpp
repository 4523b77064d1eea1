#include "schedule/next_run.hpp"

namespace simba::detail {

LocalTime later(LocalTime moment, std::chrono::nanoseconds span) noexcept {
  // A moment before the epoch cannot overflow, and `never - moment` would.
  if (moment.time_since_epoch().count() <= 0) return moment + span;
  return span < never - moment ? moment + span : never;
}

LocalTime next_run(const ScheduleConfig& config, LocalTime first, LocalTime now) noexcept {
  if (config.strategy == ScheduleConfig::Strategy::fixed_delay) return later(now, config.period);
  if (first > now) return first;
  const auto begun = (now - first) / config.period;
  return later(first + begun * config.period, config.period);
}

}  // namespace simba::detail
