#pragma once

#include <chrono>
#include <memory>

#include "simba/core/time.hpp"

namespace simba {

/// Returns the current time.
///
/// Threads: every function may be called from any thread at any time.
class Clock {
 public:
  virtual ~Clock() = default;

  /// The current time. Never goes back; keeps counting while the machine is suspended.
  virtual LocalTime now() const noexcept = 0;

  /// The wall clock, which can be set forwards and backwards. Only for what follows the time of
  /// day, never for a lease. By default the system's.
  virtual std::chrono::system_clock::time_point wall_now() const noexcept {
    return std::chrono::system_clock::now();
  }
};

/// The clock of this machine (CLOCK_BOOTTIME).
std::shared_ptr<const Clock> make_system_clock();

}  // namespace simba
