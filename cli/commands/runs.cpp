// simba runs: what the store remembers of the runs of a schedule, or of the keys of run --slot.
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/errors.hpp"
#include "cli/output/log.hpp"
#include "cli/output/printable.hpp"
#include "cli/output/run_report.hpp"
#include "cli/output/table.hpp"
#include "cli/output/times.hpp"
#include "cli/store.hpp"
#include "simba/schedule/schedule_records.hpp"

namespace simba::cli {
namespace {

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
      if (!report.definition.empty()) output.result({}, to_json(mutex, report));
      for (const RunReport& run : report.runs) output.result({}, to_json(mutex, run));
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
