#pragma once

#include <chrono>
#include <string>

#include "simba/core/time.hpp"

namespace simba::cli {

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

}  // namespace simba::cli
