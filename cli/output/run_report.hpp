#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/output/output.hpp"
#include "simba/schedule/run.hpp"

namespace simba::cli {

/// How long a run took; empty if it has not ended.
std::optional<std::chrono::milliseconds> duration_of(const RunReport& run);

/// What CMD exited with, or 0 for work that returned; empty if there is no such code.
std::optional<int> exit_code_of(const RunReport& run);

/// A run as an object with event "run", as `simba runs --json` shows it.
Json to_json(const std::string& mutex, const RunReport& run);

/// The same of a schedule, with event "schedule" and without its runs.
Json to_json(const std::string& mutex, const ScheduleReport& report);

}  // namespace simba::cli
