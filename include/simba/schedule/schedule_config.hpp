#pragma once

#include <chrono>
#include <iosfwd>
#include <optional>
#include <string>

#include "simba/schedule/cron.hpp"

namespace simba {

/// When scheduled work runs.
struct ScheduleConfig {
  enum class Strategy {
    fixed_rate,  ///< at initial delay + n x period; periods that pass while a run is still busy are
                 ///< skipped
    fixed_delay,  ///< one period after the end of the previous run
    wall_clock,   ///< at the times of `cron`; those that pass while a run is still busy, or while
                  ///< nobody leads, are skipped
  };

  Strategy strategy = Strategy::fixed_delay;
  std::chrono::nanoseconds initial_delay{0};  ///< counted from becoming leader
  std::chrono::nanoseconds period{0};
  std::optional<Cron> cron{};  ///< for `wall_clock`, which takes neither delay nor period

  /// Both throw InvalidArgumentError if `initial_delay` is negative or `period` is not positive.
  static ScheduleConfig rate(std::chrono::nanoseconds initial_delay,
                             std::chrono::nanoseconds period);
  static ScheduleConfig delay(std::chrono::nanoseconds initial_delay,
                              std::chrono::nanoseconds period);

  static ScheduleConfig wall_clock(Cron cron);

  /// Throws InvalidArgumentError if `initial_delay` is negative or `period` is not positive; with
  /// `wall_clock`, if `cron` is missing or either of the other two is not zero; with any other
  /// strategy, if `cron` is set.
  void check() const;

  friend bool operator==(const ScheduleConfig&, const ScheduleConfig&) = default;
};

/// E.g. "every 30s", "30s after each run, first after 5s", or "0 3 * * * in UTC".
std::string to_string(const ScheduleConfig& config);
std::ostream& operator<<(std::ostream& out, const ScheduleConfig& config);

}  // namespace simba
