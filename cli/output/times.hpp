#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "simba/core/time.hpp"

namespace simba::cli {

/// `500ms`, `10s`, `2m`, `1h` or `0`. `option` names it in the message. Throws UsageError.
std::chrono::milliseconds parse_duration(std::string_view text, std::string_view option);

/// The same for --max-hold, which must be more than 0.
std::chrono::milliseconds parse_max_hold(std::string_view text);

/// For people: "500 ms", "1.5 s", "2 min".
std::string to_text(std::chrono::nanoseconds span);

/// "at most 19.4 s": for people, never less than it is.
std::string at_most(std::chrono::nanoseconds span);

using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;

WallTime wall_now();

/// A moment of a store, for showing only: the store's clock may be wrong. One before 1970 or after
/// 9999 is shown as the nearest that is not.
WallTime shown(StoreTime moment);

/// For programs: "2026-11-15T19:55:02.123Z".
std::string to_utc(WallTime moment);

/// For people, in their time zone: "2026-11-15 19:55:02", and "19:55:02.123".
std::string to_date_and_time(WallTime moment);
std::string to_time(WallTime moment);

/// How far a store's clock is ahead of the wall clock of this host.
struct ClockOffset {
  std::chrono::milliseconds offset{};
  std::chrono::milliseconds error{};  ///< the truth is within offset +- error
};

/// From what the store has told between two moments of this host.
ClockOffset clock_offset(StoreTime told, WallTime asked, WallTime answered);

}  // namespace simba::cli
