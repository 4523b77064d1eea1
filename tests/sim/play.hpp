#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sim/checker.hpp"
#include "sim/slot_rules.hpp"
#include "sim/world/network.hpp"
#include "sim/world/threads.hpp"

namespace simba::sim {

/// What a seed has come to.
struct Outcome {
  Rule rule = Rule::none;  ///< which is broken
  std::string what{};      ///< in words
  std::string trace{};     ///< the timeline, where it was asked for
  nanoseconds simulated{};
  std::size_t events = 0;
  std::size_t switches = 0;
  std::size_t ownerships = 0;
  std::size_t excused = 0;    ///< releases while a callback ran beyond its limit
  std::size_t overtaken = 0;  ///< owners that another of the same id has taken over
  std::size_t kept_out = 0;   ///< requests of contenders whose id another that is alive has
  SlotCounts slots{};
  FaultCounts faults{};
  nanoseconds worst_gap{};    ///< longest time without an owner in peace
  nanoseconds owner_bound{};  ///< and its bound
  bool stuck = false;         ///< after a broken rule it could not be ended; it is left as it is
};

/// Processes contend while everything goes wrong, then while nothing does, then stop. All of it
/// follows from the seed.
Outcome play(std::uint64_t seed, Threads& threads, bool trace);

}  // namespace simba::sim
