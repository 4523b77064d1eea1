#include "cli/slot_arguments.hpp"

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include "cli/errors.hpp"
#include "cli/output/times.hpp"
#include "core/text.hpp"

namespace simba::cli {
namespace {

int number_in(const std::string& text, std::string_view option, int most) {
  const auto number = detail::parse_number<int>(text);
  if (number && *number >= 1 && *number <= most) return *number;
  throw UsageError{fmt::format("{} must be a number from 1 to {} (got {})", option, most, text)};
}

}  // namespace

void PromiseArguments::add_to(CLI::App& command, CLI::Option* excluded_by) {
  auto* const promise =
      command
          .add_option(
              "--promise", promise_,
              "at-most-once (default): a run that fails or is lost is reported, not repeated; "
              "at-least-once: it is repeated, so CMD should be idempotent")
          ->type_name("at-most-once|at-least-once")
          ->check(CLI::IsMember({"at-most-once", "at-least-once"}));
  auto* const attempts =
      command
          .add_option("--max-attempts", max_attempts_,
                      "Maximum number of attempts with --promise at-least-once (default: 3)")
          ->type_name("N");
  if (excluded_by == nullptr) return;
  promise->excludes(excluded_by);
  attempts->excludes(excluded_by);
}

std::string_view PromiseArguments::given() const noexcept {
  if (promise_) return "--promise";
  return max_attempts_ ? "--max-attempts" : "";
}

void PromiseArguments::apply_to(SlotOptions& options) const {
  if (promise_ == "at-least-once") options.promise = SlotPromise::at_least_once;
  if (!max_attempts_) return;
  if (options.promise != SlotPromise::at_least_once) {
    throw UsageError{"--max-attempts requires --promise at-least-once"};
  }
  options.max_attempts = number_in(*max_attempts_, "--max-attempts", 1'000);
}

void SlotArguments::add_to(CLI::App& command, CLI::Option* per_leader) {
  promise_.add_to(command, per_leader);
  command
      .add_option("--retry-pause", retry_pause_,
                  "Time before the second attempt with --promise at-least-once, doubled for each "
                  "further one, up to an hour (default: 10s)")
      ->type_name("TIME")
      ->excludes(per_leader);
  command
      .add_option("--missed", missed_,
                  "Slots that passed while nobody led or the schedule was paused: skip them, run "
                  "the latest (default), or all, one after another, up to 100")
      ->type_name("skip|latest|all")
      ->check(CLI::IsMember({"skip", "latest", "all"}))
      ->excludes(per_leader);
  command
      .add_option("--start-within", start_within_,
                  "A slot that cannot begin this long after its time counts as missed and does not "
                  "happen (default: no limit)")
      ->type_name("TIME")
      ->excludes(per_leader);
  command
      .add_option(
          "--while-busy", while_busy_,
          "A slot that comes due while CMD still runs: skip it (default), run the latest of "
          "them afterwards, or terminate CMD and run the slot")
      ->type_name("skip|queue-one|cancel-running")
      ->check(CLI::IsMember({"skip", "queue-one", "cancel-running"}))
      ->excludes(per_leader);
  command
      .add_option("--jitter", jitter_,
                  "Delay each slot by a random time up to this one (default: 0)")
      ->type_name("TIME")
      ->excludes(per_leader);
  command
      .add_option("--backfill", backfill_,
                  "At the very first start of the schedule: slots up to this long ago count as "
                  "missed (default: 0: past slots do not run)")
      ->type_name("TIME")
      ->excludes(per_leader);
  command
      .add_option("--history", history_,
                  "How many runs the store remembers, for \"simba runs\" (default: 20)")
      ->type_name("N")
      ->excludes(per_leader);
}

SlotOptions SlotArguments::options() const {
  SlotOptions options;
  promise_.apply_to(options);
  options.missed = missed_ == "skip"  ? MissedSlots::skip
                   : missed_ == "all" ? MissedSlots::all
                                      : MissedSlots::latest;
  options.while_busy = while_busy_ == "queue-one"        ? BusySlots::queue_one
                       : while_busy_ == "cancel-running" ? BusySlots::cancel_running
                                                         : BusySlots::skip;
  if (start_within_) options.start_within = parse_duration(*start_within_, "--start-within");
  options.jitter = parse_duration(jitter_, "--jitter");
  options.backfill = parse_duration(backfill_, "--backfill");
  if (retry_pause_) {
    if (options.promise != SlotPromise::at_least_once) {
      throw UsageError{"--retry-pause requires --promise at-least-once"};
    }
    options.retry_pause = parse_duration(*retry_pause_, "--retry-pause");
  }
  if (history_) options.history = number_in(*history_, "--history", 50);
  return options;
}

}  // namespace simba::cli
