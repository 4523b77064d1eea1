#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simba/core/mutex_records.hpp"

namespace simba {

/// One time of a schedule whose slots are shared through the store.
struct Slot {
  SystemTime time{};  ///< when it was to begin; of one that was triggered, when that was asked
  std::uint64_t number = 0;  ///< counts the slots begun, from 1; all attempts of a slot share it
  int attempt = 1;           ///< from 1

  friend bool operator==(const Slot&, const Slot&) = default;
};

/// What the work of a schedule is told.
class Run {
 public:
  Run(FencingToken fencing_token, std::stop_token stop,
      std::function<std::chrono::nanoseconds()> lease_left = {}, std::optional<Slot> slot = {})
      : fencing_token_{fencing_token},
        stop_{std::move(stop)},
        lease_left_{std::move(lease_left)},
        slot_{slot} {}

  /// That of the leadership in which it runs.
  [[nodiscard]] FencingToken fencing_token() const noexcept { return fencing_token_; }

  /// Requested when the leadership ends, the schedule is stopped, or `BusySlots::cancel_running`
  /// says so. The mutex is released only when the work has returned, so return soon.
  [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }

  /// How long nobody else can lead even if the lease is never renewed again; zero once the schedule
  /// has been destroyed.
  [[nodiscard]] std::chrono::nanoseconds lease_left() const {
    return lease_left_ ? lease_left_() : std::chrono::nanoseconds::zero();
  }

  /// Set if the slots of the schedule are shared through the store.
  [[nodiscard]] const std::optional<Slot>& slot() const noexcept { return slot_; }

 private:
  FencingToken fencing_token_;
  std::stop_token stop_;
  std::function<std::chrono::nanoseconds()> lease_left_;
  std::optional<Slot> slot_;
};

using Work = std::function<void(const Run& run)>;

/// Throw this from the work to record an exit code and output with the failure.
class RunFailure : public std::runtime_error {
 public:
  /// `output` is kept in the history, its last 2,000 bytes at most.
  explicit RunFailure(const std::string& message, std::optional<int> exit_code = {},
                      std::string output = {})
      : std::runtime_error{message}, exit_code_{exit_code}, output_{std::move(output)} {}

  [[nodiscard]] const std::optional<int>& exit_code() const noexcept { return exit_code_; }
  [[nodiscard]] const std::string& output() const noexcept { return output_; }

 private:
  std::optional<int> exit_code_;
  std::string output_;
};

enum class RunOutcome {
  running,    ///< not ended yet, as far as the store knows
  succeeded,  ///< the work returned
  failed,     ///< the work threw, or exited with a code other than 0
  cancelled,  ///< the work was told to stop, and returned or threw
  lost,       ///< its process died, or lost the mutex, before its outcome was recorded
};

/// E.g. "succeeded".
std::string_view to_string(RunOutcome outcome) noexcept;
std::ostream& operator<<(std::ostream& out, RunOutcome outcome);

/// One run of a schedule, as the store remembers it.
struct RunReport {
  std::string slot{};        ///< its time in UTC, "2026-11-20T03:00:00Z", or the key of `--slot`
  std::uint64_t number = 0;  ///< as in `Slot`
  int attempt = 1;
  RunOutcome outcome = RunOutcome::running;
  std::string contender_id{};  ///< who ran it
  FencingToken fencing_token = 0;
  SystemTime begun{};  ///< by the clock that the slots follow
  std::optional<SystemTime> ended{};
  std::optional<int> exit_code{};
  std::string message{};  ///< why it failed; empty if it did not
  std::string output{};   ///< the end of its output, if that was asked for

  friend bool operator==(const RunReport&, const RunReport&) = default;
};

/// What the store remembers of a schedule.
struct ScheduleReport {
  std::string definition{};  ///< e.g. "0 3 * * * in Europe/Berlin"; empty: none was registered
  bool paused = false;
  std::optional<SystemTime> last_slot{};  ///< the last one that was begun
  std::optional<SystemTime> next_slot{};  ///< the first one of which nothing is decided yet
  std::vector<RunReport> runs{};          ///< oldest first
};

/// What happened to slots, besides runs that ended well.
struct SlotEvent {
  enum class Kind {
    missed,   ///< slots passed while nobody led or the schedule was paused, and will not happen
    skipped,  ///< slots came due during a run, or while a retry was pending, and will not happen
    failed,   ///< a run failed; `attempts_left` says whether it is repeated
    lost,     ///< no outcome of an earlier run was recorded; `attempts_left` as with `failed`
    definition_changed,  ///< another process has registered a different definition
    stalled,  ///< no slot can begin: the store does not answer, its record cannot be used, or the
              ///< clock of the slots was set back
  };
  Kind kind = Kind::missed;
  std::string mutex{};
  std::optional<Slot> slot{};  ///< the run's, or the last of those missed
  std::uint64_t count = 1;     ///< of slots missed or skipped
  int attempts_left = 0;
  std::string message{};
};

/// E.g. "missed".
std::string_view to_string(SlotEvent::Kind kind) noexcept;

/// For a log, e.g. "schedule [cleanup]: 3 slots missed, the last 2026-11-20T03:00:00Z".
std::string to_string(const SlotEvent& event);

}  // namespace simba
