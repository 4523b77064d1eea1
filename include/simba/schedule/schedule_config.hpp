#pragma once

#include <chrono>

namespace simba {

/// When scheduled work runs.
struct ScheduleConfig {
  enum class Strategy {
    fixed_rate,  ///< at initial delay + n x period; a run that is still busy is not piled upon: the
                 ///< moments that it covers are left out
    fixed_delay,  ///< a period after the end of the run before
  };

  Strategy strategy = Strategy::fixed_delay;
  std::chrono::nanoseconds initial_delay{0};  ///< from the moment of becoming leader
  std::chrono::nanoseconds period{0};

  /// Both check.
  static ScheduleConfig rate(std::chrono::nanoseconds initial_delay,
                             std::chrono::nanoseconds period);
  static ScheduleConfig delay(std::chrono::nanoseconds initial_delay,
                              std::chrono::nanoseconds period);

  /// Throws InvalidArgumentError unless `initial_delay >= 0` and `period > 0`.
  void check() const;
};

}  // namespace simba
