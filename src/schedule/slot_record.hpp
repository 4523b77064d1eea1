#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simba/core/mutex_records.hpp"
#include "simba/schedule/run.hpp"
#include "simba/schedule/schedule_records.hpp"
#include "simba/schedule/slot_options.hpp"

/// What a store remembers of a schedule, or of work that happens once for each of its keys: the
/// content of its `MutexRecord`. A plain value, and what can be decided from it alone.
namespace simba::detail {

struct SlotRecord {
  /// The run that was begun and has not ended. There is one at most, since one owner begins it.
  struct Open {
    RunReport run{};
    std::optional<SystemTime> time{};  ///< of its slot; not set: it is the run of a key

    friend bool operator==(const Open&, const Open&) = default;
  };

  /// A slot that failed and is to be begun again.
  struct Retry {
    Slot slot{};  ///< with the number of the attempt to come
    SystemTime at{};

    friend bool operator==(const Retry&, const Retry&) = default;
  };

  /// The slots after `after` up to `until` are settled and are still to happen, oldest first.
  struct Owed {
    SystemTime after{};
    SystemTime until{};

    friend bool operator==(const Owed&, const Owed&) = default;
  };

  struct Key {
    std::string key{};
    std::uint64_t number = 0;
    int attempt = 1;
    RunOutcome outcome = RunOutcome::running;  ///< of its last attempt

    friend bool operator==(const Key&, const Key&) = default;
  };

  std::string definition{};          ///< for people; empty: no schedule is registered
  std::string fingerprint{};         ///< of its times alone: `SlotTimes::text_of`
  std::string options{};             ///< equal if and only if the options are that matter to all
  SystemTime anchor{};               ///< from which the slots of a period are counted
  SystemTime settled{};              ///< what becomes of slots up to this time is decided
  std::optional<SystemTime> next{};  ///< the first slot after that, for people
  std::optional<SystemTime> last{};  ///< the last slot that was begun
  std::uint64_t number = 0;          ///< of the slot, or key, that was begun last
  std::optional<Open> open{};
  std::optional<Retry> retry{};
  std::optional<Owed> owed{};
  bool paused = false;
  std::optional<SystemTime> trigger{};  ///< when one more run was asked for
  std::vector<RunReport> runs{};        ///< that have ended, oldest first
  std::vector<Key> keys{};              ///< oldest first

  friend bool operator==(const SlotRecord&, const SlotRecord&) = default;
};

/// How much of a text that comes from elsewhere is kept, in bytes.
inline constexpr std::size_t longest_definition = 400;
inline constexpr std::size_t longest_fingerprint = 200;
inline constexpr std::size_t longest_message = 500;
inline constexpr std::size_t longest_output = 2000;
inline constexpr std::size_t longest_key = 200;
inline constexpr std::size_t most_keys = 100;

/// An empty text is an empty record. Throws Error of kind `unsupported` if a newer version wrote
/// it, and of kind `internal` if it is damaged: then nothing must be written.
SlotRecord parse_slot_record(std::string_view text, std::string_view mutex);

/// Never longer than `MutexRecords::most_bytes`: outputs go first, the oldest before the others,
/// then whole runs, then keys.
std::string to_text(const SlotRecord& record);

/// E.g. "2026-11-20T03:00:00Z", with milliseconds if there are any.
std::string time_text(SystemTime time);

/// When attempt `next` of a slot is due, whose attempt before that ended at `ended`.
SystemTime retry_time(const SlotOptions& options, int next, SystemTime ended);

// ---- each changes the record; `now` is that of the record's store ----

/// Begins a run of the slot, under the next number if it is 0. Nothing is open.
Slot begin_run(SlotRecord& record, Slot slot, const RecordOwner& owner, SystemTime now);

/// A contender id as records have it.
std::string id_in_record(std::string_view contender_id);

/// How a run ended.
struct RunEnd {
  RunOutcome outcome = RunOutcome::succeeded;
  std::optional<int> exit_code{};
  std::string message{};
  std::string output{};
};

/// Ends the open run, if there is one, and plans its repetition if `options` say so. Returns how
/// many attempts are left.
int end_run(SlotRecord& record, const RunEnd& end, const SlotOptions& options, SystemTime now);

/// See `ScheduleRecords`. The first three return whether that changed anything, and throw
/// IllegalStateError if no schedule is registered.
bool pause_slots(SlotRecord& record, std::string_view mutex);
bool resume_slots(SlotRecord& record, std::string_view mutex);
bool trigger_run(SlotRecord& record, std::string_view mutex, SystemTime now);
ScheduleReport report_of(const SlotRecord& record);

/// Throws as `ScheduleRecords::check_key`.
void check_key(std::string_view key);

/// Throws as `ScheduleRecords::begin`, and IllegalStateError if a schedule is registered. If the
/// answer has no `slot`, the record may still have changed: a run whose owner is gone was lost.
ScheduleRecords::Begun begin_key(SlotRecord& record, std::string_view mutex,
                                 const RecordOwner& owner, std::string_view key,
                                 const SlotOptions& options, SystemTime now);

/// False: this run is not open any more, under this owner.
bool end_key(SlotRecord& record, const RecordOwner& owner, std::uint64_t number, const RunEnd& end,
             const SlotOptions& options, SystemTime now);

/// As if `begin_key` had not begun it. False: this run is not open any more, under this owner.
bool give_back_key(SlotRecord& record, const RecordOwner& owner, std::uint64_t number);

}  // namespace simba::detail
