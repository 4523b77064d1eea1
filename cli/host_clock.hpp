#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <sys/timex.h>
#include <vector>

#include "simba/engine/store_admin.hpp"

namespace simba::cli {

/// What a time service that runs on this host may do to its clocks.
struct TimeService {
  std::string name;
  double slew_ppm = 0;        ///< the fastest rate at which it corrects an offset
  std::string slew_reason{};  ///< the setting, or its absence, that allows it
  std::string slew_cure{};    ///< the setting that limits it; empty: there is none
  std::string step_reason{};  ///< when it steps the clock while it runs; empty: never
};

/// The services that /proc shows, with what their configuration says. Reads files below `root`, no
/// more than a bounded amount of each; what cannot be read counts as not set. A service outside of
/// the container that we run in is not seen.
std::vector<TimeService> time_services(const std::filesystem::path& root = "/");

/// By how much the kernel makes this host's clocks faster than their hardware now, in parts per
/// million. Empty if it does not tell.
std::optional<double> kernel_clock_ppm();
double clock_ppm(const timex& kernel) noexcept;

/// Which clock the leases of a store follow.
enum class LeaseClock {
  wall,    ///< of another host: slewed and stepped
  steady,  ///< of another host: slewed
};

/// What may make the clocks of this host and of the store, if its host is set up as this one is,
/// differ in rate by more than `clock_drift_ppm`, or may step the clock of leases.
std::vector<engine::Finding> clock_findings(const std::vector<TimeService>& services,
                                            std::optional<double> kernel_ppm, int clock_drift_ppm,
                                            LeaseClock clock);

}  // namespace simba::cli
