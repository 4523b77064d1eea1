#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/host_clock.hpp"
#include "cli/output/times.hpp"
#include "simba/config/configuration.hpp"
#include "simba/core/error.hpp"
#include "simba/engine/store_admin.hpp"

/// What `simba doctor` and `simba serve` find out about a store and its configuration.
namespace simba::cli {

/// "note", "warning" or "problem".
std::string_view name_of(engine::Finding::Weight weight) noexcept;

/// Settings that are unsafe where they stand, such as a password that others can read.
std::vector<engine::Finding> setting_findings(const config::Configuration& configuration);

std::vector<engine::Finding> plan_findings(const ContentionPlan& plan);

/// A report and when it was asked for and came.
struct TimedReport {
  std::chrono::milliseconds took() const { return answered - asked; }

  /// How far the store's clock is ahead; empty if it does not tell.
  std::optional<ClockOffset> clock() const;

  LeaseClock lease_clock() const {
    return report.server_time ? LeaseClock::wall : LeaseClock::steady;
  }

  WallTime asked{};
  engine::StoreReport report{};
  WallTime answered{};
};

/// Asks again where the first answer took long, since that may have been the connection. Throws
/// Error.
TimedReport examine(engine::StoreAdmin& admin);

/// What differs too much is worth a word.
std::vector<engine::Finding> clock_findings(const ClockOffset& clock);

/// "is ahead of this host's", and so on.
std::string_view relation_of(const ClockOffset& clock) noexcept;

/// Of those stores whose leases another host counts.
std::vector<engine::Finding> host_clock_findings(const config::Configuration& configuration,
                                                 LeaseClock lease_clock);

/// The problem that the store could not be examined.
engine::Finding finding_of(const Error& error);

}  // namespace simba::cli
