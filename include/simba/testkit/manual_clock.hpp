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

  void advance(std::chrono::nanoseconds span);

  void set(LocalTime moment);

  /// Like `set`, but does nothing if that time has passed.
  void set_at_least(LocalTime moment) noexcept;

 private:
  std::atomic<LocalClock::rep> now_;
};

}  // namespace simba::testkit
