#pragma once

#include <vector>

#include "chaos/faults/fault.hpp"

namespace simba::chaos {

/// What the contenders of a store are allowed to suffer.
struct ContenderFaultOptions {
  std::chrono::milliseconds lease{};
  bool network = true;  ///< whether there is one between them and the store
  bool group = false;   ///< whether there are several servers
  int drift_ppm = 0;    ///< a clock may run this much too fast or too slow; 0: not at all
  /// How far a wall clock is set forward at most. Slots that follow it happen that much too early,
  /// and then none for as long.
  std::chrono::milliseconds most_forward = std::chrono::hours{48};
};

/// Kills, pauses, broken ways to the servers and clocks that are off, of contenders.
std::vector<FaultKind> contender_faults(const ContenderFaultOptions& options);

}  // namespace simba::chaos
