#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/output/output.hpp"
#include "simba/core/mutex_contend_service.hpp"
#include "simba/core/time.hpp"
#include "simba/schedule/schedule_records.hpp"

namespace simba::cli {

/// How a run ended, for the history.
struct RunEnd {
  RunOutcome outcome = RunOutcome::succeeded;
  std::optional<int> exit_code{};
  std::string message{};  ///< why it has not succeeded
  std::string output{};   ///< the end of its output, where that is to be kept
};

/// What is asked of `simba run --slot` and `--once-per`.
struct KeyedRunOptions {
  std::string key{};
  SlotOptions slots{};
  bool exits_if_running = false;
  bool keeps_output = false;
};

/// The one run of a key, from the wait for the mutex to the note of how it ended.
///
/// Threads: used by one thread. Each function may block as `ScheduleRecords` does;
/// `runs_elsewhere`, which is called while signals are waited for, only as `looks`.
class KeyedRun {
 public:
  KeyedRun(std::string mutex, KeyedRunOptions options, ScheduleRecords records,
           ScheduleRecords looks, Output& output);

  /// Whether `owner`, who owns the mutex, is running the key, so that there is nothing to wait for.
  /// Says so then. Asks the store once a second at most; an error that may pass is no answer.
  bool runs_elsewhere(const std::string& owner);

  /// To be called as owner of the mutex. Returns nothing if the work is to be done now, else what
  /// to exit with, which it says, too. Throws Error and Failure.
  std::optional<int> begin(const MutexContendService& service);

  bool keeps_output() const noexcept { return options_.keeps_output; }

  /// For CMD, once it has begun.
  std::vector<std::pair<std::string, std::string>> variables() const;

  /// To be called as owner of the mutex. That the store does not take it is only a note: the work
  /// is done.
  void end(const RunEnd& end);

  /// Instead, where CMD has never run: the next one begins the same attempt. To be called as owner
  /// of the mutex. That the store does not take it is only a note.
  void give_back();

 private:
  ScheduleRecords::Begun begin_as_owner() const;
  Json described(std::string_view event) const;

  const std::string mutex_;
  const KeyedRunOptions options_;
  const ScheduleRecords records_;
  const ScheduleRecords looks_;
  Output& output_;
  std::optional<LocalTime> asked_at_{};
  RecordOwner owner_{};         // that has begun it
  std::optional<Slot> slot_{};  // has begun
};

/// SIMBA_SLOT and what comes with it.
std::vector<std::pair<std::string, std::string>> variables_of(const std::string& name,
                                                              const Slot& slot);

}  // namespace simba::cli
