#pragma once

#include <atomic>
#include <chrono>

#include "simba/core/clock.hpp"

namespace simba::testkit {

/// A clock that stands still until it is told to go on.
///
/// Threads: every function may be called from any thread at the same time.
/// Errors: InvalidArgumentError where a call would turn the clock back; nothing is changed then.
class ManualClock final : public Clock {
 public:
  /// Well after `LocalTime{}`, so that "an hour ago" is a moment too.
  static constexpr LocalTime default_start{std::chrono::hours{24}};

  explicit ManualClock(LocalTime start = default_start) noexcept;

  LocalTime now() const noexcept override;

  void advance(std::chrono::nanoseconds span);

  void set(LocalTime moment);

  /// As `set`, but does nothing where that moment is past already.
  void set_at_least(LocalTime moment) noexcept;

 private:
  std::atomic<LocalClock::rep> now_;
};

}  // namespace simba::testkit
