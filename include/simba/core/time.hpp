#pragma once

#include <chrono>
#include <cstdint>

namespace simba {

/// The local clock: counts while the machine sleeps and never jumps (CLOCK_BOOTTIME).
/// It has no static now(): the present moment comes from a `Clock`.
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

/// A moment on the local clock. Every decision of safety is made on this type.
using LocalTime = LocalClock::time_point;

/// A moment on a store's clock. For showing and for other clients of the store. It is a type of its
/// own so that it cannot be subtracted from, or compared with, a local moment.
using StoreTime = StoreClock::time_point;

/// "Never": later than every moment that can occur.
inline constexpr LocalTime never = LocalTime::max();

/// Grows with every change of owner of a mutex and never repeats. Zero means "no token".
using FencingToken = std::uint64_t;

}  // namespace simba
