// simba runs: what the store remembers of the runs of a schedule, or of the keys of run --slot.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/errors.hpp"
#include "cli/output/log.hpp"
#include "cli/output/printable.hpp"
#include "cli/output/table.hpp"
#include "cli/output/times.hpp"
#include "cli/store.hpp"
#include "simba/schedule/schedule_records.hpp"

namespace simba::cli {
namespace {

using std::chrono::milliseconds;

Json time_json(const std::optional<SystemTime>& time) {
  return time ? Json(to_utc(*time)) : Json(nullptr);
}

std::optional<milliseconds> duration_of(const RunReport& run) {
  if (!run.ended) return std::nullopt;
  return std::max(*run.ended - run.begun, milliseconds::zero());
}

/// Work that ends well is recorded without a code: CMD has exited with 0 then.
std::optional<int> exit_code_of(const RunReport& run) {
  return run.outcome == RunOutcome::succeeded ? run.exit_code.value_or(0) : run.exit_code;
}

Json json_of(const std::string& mutex, const RunReport& run) {
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

Json json_of(const std::string& mutex, const ScheduleReport& report) {
  return {{"event", "schedule"},
          {"mutex", mutex},
          {"definition", report.definition},
          {"paused", report.paused},
          {"last_slot", time_json(report.last_slot)},
          {"next_slot", time_json(report.next_slot)}};
}

Colour colour_of(RunOutcome outcome) noexcept {
  switch (outcome) {
    case RunOutcome::succeeded:
      return Colour::green;
    case RunOutcome::running:
      return Colour::cyan;
    case RunOutcome::cancelled:
      return Colour::yellow;
    case RunOutcome::failed:
    case RunOutcome::lost:
      break;
  }
  return Colour::red;
}

/// "0 3 * * * in UTC; last slot 2026-11-20 03:00:00, next 2026-11-21 03:00:00; paused"
std::string headline(const ScheduleReport& report) {
  std::string text = printable(report.definition);
  if (report.last_slot) text += "; last slot " + to_date_and_time(*report.last_slot);
  if (report.next_slot) {
    text += (report.last_slot ? ", next " : "; next slot ") + to_date_and_time(*report.next_slot);
  }
  if (report.paused) text += "; paused";
  return text;
}

std::string table_of(const std::vector<RunReport>& runs, const Palette& palette) {
  Table table{
      {"BEGUN", "SLOT", "RUN", "ATTEMPT", "OUTCOME", "EXIT", "TOOK", "CONTENDER", "MESSAGE"}};
  for (const RunReport& run : runs) {
    const auto duration = duration_of(run);
    const auto exit_code = exit_code_of(run);
    table.add({{to_date_and_time(run.begun)},
               {printable(run.slot)},
               {std::to_string(run.number)},
               {std::to_string(run.attempt)},
               {std::string{to_string(run.outcome)}, colour_of(run.outcome)},
               {exit_code ? std::to_string(*exit_code) : "-"},
               {duration ? to_text(*duration) : "-"},
               {printable(run.contender_id)},
               {run.message.empty() ? "-" : printable(run.message)}});
  }
  return table.text(palette);
}

class RunsCommand final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    auto* command = app.add_subcommand(
        "runs", "Show the last runs of a schedule, or of the keys of run --slot");
    command->footer(
        R"(Shows, oldest first, when each run began, its slot (or key), number and attempt, how it ended,
its exit code (0 for a function that returned), how long it took, and who ran it. Above the runs is
the definition of the schedule, with its last and next slot. "running" means that no end is recorded
yet: if the host has died, the next leader finds that out. With --json there is one object for the
schedule and one for each run, with the output kept of failed runs (--keep-output).

Examples:
  simba runs -b redis://10.0.0.5 -m nightly
  simba runs -b redis://10.0.0.5 -m nightly --json)");
    return command;
  }

  int run(const Invocation& invocation, Output& output) override {
    const auto& options = invocation.options;
    const std::string& mutex = options.need_mutex();
    const ScheduleReport report = schedule_records_of(options, output).report(mutex);
    if (output.json()) {
      if (!report.definition.empty()) output.result({}, json_of(mutex, report));
      for (const RunReport& run : report.runs) output.result({}, json_of(mutex, run));
      return to_int(ExitCode::success);
    }
    if (!report.definition.empty()) output.result(headline(report), {});
    if (report.runs.empty()) {
      output.note(fmt::format("no runs of \"{}\" yet", printable(mutex)), {});
    } else {
      output.result(table_of(report.runs, Palette{output}), {});
    }
    return to_int(ExitCode::success);
  }
};

}  // namespace

std::unique_ptr<Command> make_runs_command() { return std::make_unique<RunsCommand>(); }

}  // namespace simba::cli
