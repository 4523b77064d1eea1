#pragma once

#include <chrono>
#include <optional>

#include "cli/candidate.hpp"
#include "cli/child/signals.hpp"
#include "cli/terminal/output.hpp"

namespace simba::cli {

/// How long to wait for a mutex.
struct Patience {
  std::optional<std::chrono::milliseconds> limit{};  ///< zero: ask once; empty: no limit

  /// How long a store that has never answered is tried where there is no limit.
  std::chrono::milliseconds silence{5'000};
};

/// Waits until the candidate, whose service runs, owns its mutex. A wait of over a second is told,
/// with the owner.
///
/// Returns nothing once it is owned; the exit code when a signal came first. Throws Failure: 75
/// when the time is over, 69 when the store has given no answer, and what fits for an error that
/// waiting does not cure.
std::optional<int> wait_for_mutex(Candidate& candidate, Signals& signals, const Patience& patience,
                                  Output& output);

}  // namespace simba::cli
