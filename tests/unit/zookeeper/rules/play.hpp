#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "unit/zookeeper/rules/mutation.hpp"

namespace simba::zookeeper::rules {

/// What a seed has come to.
struct Outcome {
  enum class Fault {
    none,
    two_owners,
    unfounded,       ///< an owner whose node is not the first, or not there
    old_token,       ///< an ownership with a token that is not greater than the last
    nobody_owns,     ///< long after all faults have ended
    slow_hand_over,  ///< the same, where one who waits could have been told
    left_out,        ///< one who contends has no node, or more than one
    wrong_view,      ///< an observer names another owner than the servers do
    callbacks,       ///< on_acquired and on_released do not take turns
    left_behind,     ///< a node after all have stopped
  };

  Fault fault = Fault::none;
  std::string what{};   ///< in words
  std::string story{};  ///< what happened before, only where there is a fault
  std::size_t ownerships = 0;
  std::size_t steps = 0;
};

/// A few processes contend while everything goes wrong, then while nothing does, then stop.
Outcome play(std::uint64_t seed, Mutation mutation);

}  // namespace simba::zookeeper::rules
