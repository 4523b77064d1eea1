#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "unit/redis/rules/mutation.hpp"

namespace simba::redis::rules {

/// What a seed has come to.
struct Outcome {
  enum class Fault {
    none,
    two_owners,
    old_token,       ///< an ownership with a token that is not greater than the last
    nobody_owns,     ///< long after all faults have ended
    slow_hand_over,  ///< the same, where one who waits could have been told
    wrong_view,      ///< an observer names another owner than the server does
    callbacks,       ///< on_acquired and on_released do not take turns
    left_behind,     ///< after all have stopped
    script_failed,
  };

  Fault fault = Fault::none;
  std::string what{};   ///< in words
  std::string story{};  ///< what happened before, only where there is a fault
  std::size_t ownerships = 0;
  std::size_t steps = 0;
};

/// A few processes contend while everything goes wrong, then while nothing does, then stop.
Outcome play(std::uint64_t seed, Mutation mutation);

}  // namespace simba::redis::rules
