#pragma once

#include <memory>

#include "simba/core/time.hpp"

namespace simba {

/// Returns the current local time.
///
/// Threads: `now()` may be called from any thread at any time.
class Clock {
 public:
  virtual ~Clock() = default;

  /// The current time. Never goes back; keeps counting while the machine is suspended.
  virtual LocalTime now() const noexcept = 0;
};

/// The clock of this machine (CLOCK_BOOTTIME).
std::shared_ptr<const Clock> make_system_clock();

}  // namespace simba
