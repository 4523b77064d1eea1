#pragma once

#include <memory>

#include "simba/core/time.hpp"

namespace simba {

/// Tells the present local moment.
///
/// Threads: `now()` may be called from any thread at any time.
class Clock {
 public:
  virtual ~Clock() = default;

  /// The present moment. Never goes back; counts while the machine sleeps.
  virtual LocalTime now() const noexcept = 0;
};

/// The clock of this machine (CLOCK_BOOTTIME).
std::shared_ptr<const Clock> make_system_clock();

}  // namespace simba
