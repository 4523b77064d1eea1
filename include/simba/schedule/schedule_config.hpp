#pragma once

#include <chrono>
#include <iosfwd>
#include <string>

namespace simba {

/// When scheduled work runs.
struct ScheduleConfig {
  enum class Strategy {
    fixed_rate,  ///< at initial delay + n x period; periods that pass while a run is still busy are
                 ///< skipped
    fixed_delay,  ///< one period after the end of the previous run
  };

  Strategy strategy = Strategy::fixed_delay;
  std::chrono::nanoseconds initial_delay{0};  ///< counted from becoming leader
  std::chrono::nanoseconds period{0};

  /// Both throw InvalidArgumentError if `initial_delay` is negative or `period` is not positive.
  static ScheduleConfig rate(std::chrono::nanoseconds initial_delay,
                             std::chrono::nanoseconds period);
  static ScheduleConfig delay(std::chrono::nanoseconds initial_delay,
                              std::chrono::nanoseconds period);

  /// Throws InvalidArgumentError if `initial_delay` is negative or `period` is not positive.
  void check() const;

  friend bool operator==(const ScheduleConfig&, const ScheduleConfig&) = default;
};

/// E.g. "every 30s", or "30s after each run, first after 5s".
std::string to_string(const ScheduleConfig& config);
std::ostream& operator<<(std::ostream& out, const ScheduleConfig& config);

}  // namespace simba
