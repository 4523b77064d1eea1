#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "simba/core/mutex_records.hpp"
#include "simba/schedule/schedule_config.hpp"

namespace simba::detail {

/// The slots of a definition, in order: the times of its expression, or those a whole number of
/// periods away from an anchor. A value.
class SlotTimes {
 public:
  /// Of a config with the strategy `slots`.
  explicit SlotTimes(const ScheduleConfig& config);

  /// A text that is equal for equal times, whichever version writes it, and what `parse` makes of
  /// it: empty if it was too long to be kept, or is damaged.
  static std::string text_of(const ScheduleConfig& config);
  static std::optional<SlotTimes> parse(const std::string& text);

  /// The first slot after `time`. Empty: there is none that can be represented.
  std::optional<SystemTime> next(SystemTime anchor, SystemTime time) const;

  /// The slots after one time up to another.
  struct Span {
    std::uint64_t count = 0;   ///< exact, up to about a thousand
    SystemTime before_kept{};  ///< a time before the last `keep` of them, and after the others
    SystemTime last{};         ///< if there are any
  };
  Span span(SystemTime anchor, SystemTime after, SystemTime until, std::uint64_t keep) const;

 private:
  std::int64_t index_up_to(SystemTime anchor, SystemTime time) const;

  std::optional<Cron> cron_;
  std::chrono::milliseconds period_;
};

}  // namespace simba::detail
