#include "cli/keyed_run.hpp"

#include <fmt/format.h>

#include "cli/errors.hpp"
#include "cli/output/printable.hpp"
#include "cli/output/times.hpp"
#include "simba/core/clock.hpp"
#include "simba/core/error.hpp"

namespace simba::cli {
namespace {

/// "by host-1 at 2026-11-20 03:00:00"
std::string by_whom_and_when(const RunReport& run) {
  if (run.contender_id.empty()) return "earlier, and is no longer in the history";
  return fmt::format("by {} at {}", printable(run.contender_id), to_date_and_time(run.begun));
}

std::string what_came_of(const RunReport& run) {
  switch (run.outcome) {
    case RunOutcome::succeeded:
      return "was run";
    case RunOutcome::running:
      return "was begun";
    case RunOutcome::cancelled:
      return "was cancelled after it was begun";
    case RunOutcome::lost:
      return "was lost: no outcome is recorded of the run begun";
    case RunOutcome::failed:
      break;
  }
  return run.exit_code ? fmt::format("failed with exit code {}; it was run", *run.exit_code)
                       : "failed; it was run";
}

}  // namespace

KeyedRun::KeyedRun(std::string mutex, KeyedRunOptions options, ScheduleRecords records,
                   ScheduleRecords looks, Output& output)
    : mutex_{std::move(mutex)},
      options_{std::move(options)},
      records_{std::move(records)},
      looks_{std::move(looks)},
      output_{output} {}

Json KeyedRun::described(std::string_view event) const {
  return {{"event", event}, {"mutex", mutex_}, {"slot", options_.key}};
}

bool KeyedRun::runs_elsewhere(const std::string& owner) {
  constexpr std::chrono::seconds between{1};
  if (!options_.exits_if_running || owner.empty()) return false;
  const auto clock = make_system_clock();
  if (asked_at_ && clock->now() < *asked_at_ + between) return false;
  ScheduleReport report;
  try {
    report = looks_.report(mutex_);
  } catch (const Error& error) {
    if (!error.is_transient() && error.kind() != ErrorKind::timeout) throw;
  }
  asked_at_ = clock->now();
  for (const RunReport& run : report.runs) {
    if (run.slot != options_.key || run.outcome != RunOutcome::running) continue;
    if (run.contender_id != owner) continue;
    auto object = described("runs_elsewhere");
    object["contender_id"] = run.contender_id;
    object["begun"] = to_utc(run.begun);
    output_.note(fmt::format("slot \"{}\" of \"{}\" was begun {} and is still running; nothing to "
                             "do",
                             printable(options_.key), printable(mutex_), by_whom_and_when(run)),
                 object);
    return true;
  }
  return false;
}

std::optional<int> KeyedRun::begin(const MutexContendService& service) {
  owner_ = {.contender_id = service.contender_id(), .fencing_token = service.fencing_token()};
  const auto begun = begin_as_owner();
  slot_ = begun.slot;
  if (slot_) return std::nullopt;
  const RunReport run = begun.done.value_or(RunReport{});
  const bool well = run.outcome == RunOutcome::succeeded;
  auto object = described(well ? "already_done" : "not_repeated");
  object["contender_id"] = run.contender_id;
  object["begun"] = to_utc(run.begun);
  object["outcome"] = to_string(run.outcome);
  object["attempt"] = run.attempt;
  std::string text = fmt::format("slot \"{}\" of \"{}\" {} {}; ", printable(options_.key),
                                 printable(mutex_), what_came_of(run), by_whom_and_when(run));
  if (well) {
    text += "nothing to do";
  } else if (options_.slots.promise == SlotPromise::at_most_once) {
    text += "not repeated: it runs at most once (--promise)";
  } else {
    text += fmt::format("not repeated after attempt {} (--max-attempts)", run.attempt);
  }
  output_.note(text, object);
  return to_int(well ? ExitCode::success : ExitCode::not_repeated);
}

std::vector<std::pair<std::string, std::string>> KeyedRun::variables() const {
  return variables_of(options_.key, slot_.value_or(Slot{}));
}

ScheduleRecords::Begun KeyedRun::begin_as_owner() const {
  try {
    return records_.begin(mutex_, owner_, options_.key, options_.slots);
  } catch (const IllegalStateError& error) {
    if (!records_.report(mutex_).definition.empty()) {
      throw Failure{ExitCode::configuration, error.what()};
    }
    throw Failure{ExitCode::lost, "mutex lost before CMD could be started"};
  }
}

void KeyedRun::end(const RunEnd& end) {
  if (!slot_) return;
  try {
    records_.end(mutex_, owner_, slot_->number, end.outcome, end.exit_code, end.message,
                 end.output);
  } catch (const Error& error) {
    auto object = described("end_not_recorded");
    object["outcome"] = to_string(end.outcome);
    object["error"] = error.what();
    output_.note(
        fmt::format("slot \"{}\" of \"{}\" has ended ({}), but that may not have been recorded: {}",
                    printable(options_.key), printable(mutex_), to_string(end.outcome),
                    error.what()),
        object);
  }
}

void KeyedRun::give_back() {
  if (!slot_) return;
  try {
    records_.give_back(mutex_, owner_, slot_->number);
  } catch (const Error& error) {
    auto object = described("not_given_back");
    object["error"] = error.what();
    output_.note(fmt::format("slot \"{}\" of \"{}\" has not run, but that may not have been "
                             "recorded, so it may not be repeated: {}",
                             printable(options_.key), printable(mutex_), error.what()),
                 object);
  }
}

std::vector<std::pair<std::string, std::string>> variables_of(const std::string& name,
                                                              const Slot& slot) {
  return {{"SIMBA_SLOT", name},
          {"SIMBA_RUN_NUMBER", std::to_string(slot.number)},
          {"SIMBA_ATTEMPT", std::to_string(slot.attempt)}};
}

}  // namespace simba::cli
