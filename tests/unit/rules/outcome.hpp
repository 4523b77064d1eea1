#pragma once

#include <cstddef>
#include <string>

namespace simba::rules {

/// What a seed has come to.
struct Outcome {
  enum class Fault {
    none,
    two_owners,
    unfounded,       ///< an owner that is not the first in line for the servers
    old_token,       ///< an ownership with a token that is not greater than the last
    nobody_owns,     ///< long after all faults have ended
    slow_hand_over,  ///< the same, where one who waits could have been told
    left_out,        ///< one who contends is not in line, or more than once
    wrong_view,      ///< an observer names another owner than the servers do
    callbacks,       ///< on_acquired and on_released do not take turns
    left_behind,     ///< something at the servers after all have stopped
    script_failed,   ///< one that runs in the server
  };

  Fault fault = Fault::none;
  std::string what{};   ///< in words
  std::string story{};  ///< what happened before, only where there is a fault
  std::size_t ownerships = 0;
  std::size_t steps = 0;
};

}  // namespace simba::rules
