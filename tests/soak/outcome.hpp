#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "soak/figures.hpp"
#include "soak/options.hpp"

namespace simba::soak {

/// How a run went.
struct Outcome {
  std::string store{};
  double seconds = 0;
  bool interrupted = false;
  std::uint64_t ownerships = 0;
  std::uint64_t losses = 0;  ///< ownerships that ended without their owner's wish
  std::uint64_t kills = 0;
  std::uint64_t stops = 0;
  std::vector<Judged> workers{};
  std::optional<Judged> server{};
  std::optional<Thirds> connections{};
  std::size_t never_owned = 0;  ///< mutexes
  std::size_t left_held = 0;    ///< mutexes, when all workers have stopped
  std::int64_t left_connections = 0;
  std::string faults{};  ///< what must not be, a line each
};

/// What is wrong, a line each; empty: all is well.
std::string verdict(const Outcome& outcome, const Options& options);

/// The table, and below it what it was judged by and what is wrong. Markdown.
std::string report(const Outcome& outcome, const Options& options);

}  // namespace simba::soak
