#pragma once

#include <atomic>
#include <chrono>

#include "simba/core/clock.hpp"

namespace simba::testkit {

/// A clock that stands still until it is advanced.
///
/// Threads: every function may be called concurrently from any thread.
/// Errors: InvalidArgumentError if a call would turn the clock back; nothing changes then.
class ManualClock final : public Clock {
 public:
  /// Well after `LocalTime{}`, so that "an hour ago" can be represented.
  static constexpr LocalTime default_start{std::chrono::hours{24}};

  explicit ManualClock(LocalTime start = default_start) noexcept;

  LocalTime now() const noexcept override;

  /// Midnight UTC on 1 January 2026 at `default_start`. Advances with the clock; `set_wall` moves
  /// it.
  std::chrono::system_clock::time_point wall_now() const noexcept override;

  /// Sets the wall clock, as an operator or NTP would. Timers and leases do not notice.
  void set_wall(std::chrono::system_clock::time_point moment) noexcept;

  void advance(std::chrono::nanoseconds span);

  void set(LocalTime moment);

  /// Like `set`, but does nothing if that time has passed.
  void set_at_least(LocalTime moment) noexcept;

 private:
  std::atomic<LocalClock::rep> now_;
  std::atomic<LocalClock::rep> wall_offset_;
};

}  // namespace simba::testkit
