#pragma once

#include <chrono>
#include <cstdint>

namespace simba {

/// The local clock: keeps counting while the machine is suspended and never jumps (CLOCK_BOOTTIME).
/// It has no static now(): the current time comes from a `Clock`.
struct LocalClock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<LocalClock, duration>;
  static constexpr bool is_steady = true;
};

/// The clock of a store: milliseconds since the Unix epoch as the store counts them.
struct StoreClock {
  using rep = std::int64_t;
  using period = std::milli;
  using duration = std::chrono::milliseconds;
  using time_point = std::chrono::time_point<StoreClock, duration>;
  static constexpr bool is_steady = false;
};

/// A time on the local clock. Every safety decision is based on this type.
using LocalTime = LocalClock::time_point;

/// A time on a store's clock, for display and for other clients of the store. A separate type, so
/// that it cannot be subtracted from or compared with a local time.
using StoreTime = StoreClock::time_point;

/// Later than any time that can occur.
inline constexpr LocalTime never = LocalTime::max();

/// Grows with every change of owner of a mutex and never repeats. Zero means "no token".
using FencingToken = std::uint64_t;

}  // namespace simba
