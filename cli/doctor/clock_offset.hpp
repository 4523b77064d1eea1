#pragma once

#include <chrono>
#include <optional>

#include "cli/terminal/timestamps.hpp"
#include "simba/engine/store_admin.hpp"

namespace simba::cli {

/// How far a store's clock is ahead of the wall clock of this host.
struct ClockOffset {
  std::chrono::milliseconds offset{};
  std::chrono::milliseconds error{};  ///< the truth is within offset +- error
};

/// A report and when it was asked for and came.
struct TimedReport {
  engine::StoreReport report{};
  WallTime asked{};
  WallTime answered{};

  std::chrono::milliseconds took() const { return answered - asked; }
};

/// Throws Error.
TimedReport timed_report(engine::StoreAdmin& admin);

/// Empty where the store has no wall clock of its own.
std::optional<ClockOffset> clock_offset(const TimedReport& timed);

}  // namespace simba::cli
