#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace simba::chaos {

class Crew;
class Servers;
struct ClockSkew;

using ChaosRandom = std::mt19937_64;

/// What can be harmed.
struct Scene {
  Crew& crew;
  Servers& servers;
  ClockSkew& server_clocks;  ///< those that all servers of the store see
};

/// A fault that is in force.
struct Running {
  int lane = -1;                ///< of the contender; -1: the servers
  std::string what{};           ///< more about it, e.g. "c2"; may be empty
  std::function<void()> end{};  ///< ends it and returns when it is over; may be empty
  bool holds_up_all = false;    ///< who is hit has what all others wait for
};

/// From when the time without an owner counts.
enum class CountFrom { end, begin };

/// Something bad that can be done.
struct FaultKind {
  std::string name{};
  std::chrono::milliseconds shortest{};  ///< that it is in force
  std::chrono::milliseconds longest{};
  std::function<Running(const Scene&, ChaosRandom&)> begin{};  ///< the scene outlives it
  bool on_servers = false;
  /// The role that may go to another server, which may not know everything; empty: none.
  std::string may_move{};
  bool leaves_no_owner = false;  ///< at least for a moment
  bool basic = false;            ///< each round does it, before those that are not
  CountFrom count_from = CountFrom::end;
  bool steps_wall_clock = false;  ///< as it begins and as it ends
};

/// A fault that is over. Moments are nanoseconds of CLOCK_MONOTONIC.
struct FaultSpan {
  std::string kind{};
  std::string what{};
  int lane = -1;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool fails_over = false;            ///< another server has taken over
  bool holds_up_all = false;          ///< as Running::holds_up_all
  bool leaves_no_owner = false;       ///< as FaultKind::leaves_no_owner
  bool steps_wall_clock = false;      ///< as FaultKind::steps_wall_clock
  bool alone = true;                  ///< no other fault was in force meanwhile
  std::int64_t counts_from = 0;       ///< the time without an owner after it
  std::chrono::milliseconds bound{};  ///< of that time
};

}  // namespace simba::chaos
