#pragma once

#include <chrono>
#include <string_view>

namespace simba::detail {

/// What a wall clock shows, counted as if it were UTC.
struct WallTime {
  std::chrono::seconds since_epoch;
};

/// A zone of the system's time zone database; UTC needs none. A value.
class TimeZone {
 public:
  /// Throws InvalidArgumentError if there is no such zone, or if the database is missing.
  explicit TimeZone(std::string_view name);

  /// A span of time in which the offset from UTC does not change.
  struct Period {
    std::chrono::sys_seconds end;
    std::chrono::seconds offset;
  };

  Period period(std::chrono::sys_seconds time) const;
  WallTime wall_time(std::chrono::sys_seconds time) const;

  /// When the clocks show `wall` for the first time; if they skip it, the end of the gap.
  std::chrono::sys_seconds first_instant(WallTime wall) const;

 private:
  const void* zone_ = nullptr;  // of the library's database, which is never unloaded; null: UTC
};

}  // namespace simba::detail
