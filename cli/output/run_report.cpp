#include "cli/output/run_report.hpp"

#include <algorithm>

#include "cli/output/times.hpp"

namespace simba::cli {
namespace {

Json time_json(const std::optional<SystemTime>& time) {
  return time ? Json(to_utc(*time)) : Json(nullptr);
}

}  // namespace

std::optional<std::chrono::milliseconds> duration_of(const RunReport& run) {
  if (!run.ended) return std::nullopt;
  return std::max(*run.ended - run.begun, std::chrono::milliseconds::zero());
}

/// Work that ends well is recorded without a code.
std::optional<int> exit_code_of(const RunReport& run) {
  return run.outcome == RunOutcome::succeeded ? run.exit_code.value_or(0) : run.exit_code;
}

Json to_json(const std::string& mutex, const RunReport& run) {
  Json object{{"event", "run"},
              {"mutex", mutex},
              {"slot", run.slot},
              {"number", run.number},
              {"attempt", run.attempt},
              {"outcome", to_string(run.outcome)},
              {"contender_id", run.contender_id},
              {"fencing_token", run.fencing_token},
              {"begun", to_utc(run.begun)},
              {"ended", time_json(run.ended)}};
  const auto duration = duration_of(run);
  object["duration_ms"] = duration ? Json(duration->count()) : Json(nullptr);
  const auto exit_code = exit_code_of(run);
  object["exit_code"] = exit_code ? Json(*exit_code) : Json(nullptr);
  object["message"] = run.message;
  if (!run.output.empty()) object["output"] = run.output;
  return object;
}

Json to_json(const std::string& mutex, const ScheduleReport& report) {
  return {{"event", "schedule"},
          {"mutex", mutex},
          {"definition", report.definition},
          {"paused", report.paused},
          {"last_slot", time_json(report.last_slot)},
          {"next_slot", time_json(report.next_slot)}};
}

}  // namespace simba::cli
