#pragma once

#include <chrono>
#include <iosfwd>
#include <optional>
#include <string>

#include "simba/schedule/cron.hpp"
#include "simba/schedule/slot_options.hpp"

namespace simba {

/// When scheduled work runs.
struct ScheduleConfig {
  enum class Strategy {
    fixed_rate,  ///< at initial delay + n x period; periods that pass while a run is still busy are
                 ///< skipped
    fixed_delay,  ///< one period after the end of the previous run
    wall_clock,   ///< at the times of `cron`; those that pass while a run is still busy, or while
                  ///< nobody leads, are skipped
    slots,        ///< at the times of `cron`, or at n x period from an anchor that the store keeps:
                  ///< each happens once, whoever leads, see `SlotOptions`
  };

  Strategy strategy = Strategy::fixed_delay;
  std::chrono::nanoseconds initial_delay{0};  ///< counted from becoming leader; with `slots`:
                                              ///< from the first registration to the first slot
  std::chrono::nanoseconds period{0};         ///< with `slots`: in whole milliseconds
  std::optional<Cron> cron{};  ///< instead of delay and period; for `wall_clock` required
  SlotOptions slots{};         ///< for `slots`

  /// Both throw InvalidArgumentError if `initial_delay` is negative or `period` is not positive.
  static ScheduleConfig rate(std::chrono::nanoseconds initial_delay,
                             std::chrono::nanoseconds period);
  static ScheduleConfig delay(std::chrono::nanoseconds initial_delay,
                              std::chrono::nanoseconds period);

  static ScheduleConfig wall_clock(Cron cron);

  /// Slots that all processes share. Both throw InvalidArgumentError if `slots` is invalid; the
  /// second as `rate` does, or if a duration is not in whole milliseconds.
  static ScheduleConfig shared(Cron cron, SlotOptions slots = {});
  static ScheduleConfig shared_rate(std::chrono::nanoseconds initial_delay,
                                    std::chrono::nanoseconds period, SlotOptions slots = {});

  /// Throws InvalidArgumentError if `initial_delay` is negative or `period` is not positive; if
  /// `cron` is set where the other two are, or with `fixed_rate` or `fixed_delay`, or not set with
  /// `wall_clock`; with `slots`, if its options are invalid, a duration is not in whole
  /// milliseconds, or the jitter is not shorter than the period, and with any other strategy if
  /// those are set.
  void check() const;

  friend bool operator==(const ScheduleConfig&, const ScheduleConfig&) = default;
};

/// E.g. "every 30s", "30s after each run, first after 5s", or "0 3 * * * in UTC".
std::string to_string(const ScheduleConfig& config);
std::ostream& operator<<(std::ostream& out, const ScheduleConfig& config);

}  // namespace simba
