#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "simba/core/mutex_records.hpp"
#include "simba/core/runtime.hpp"
#include "simba/schedule/run.hpp"
#include "simba/schedule/slot_options.hpp"

namespace simba {

/// What a store remembers of schedules, for those who look at it or steer it from outside, and of
/// work that happens once for each of its keys, as `simba run --slot` does it.
///
/// Threads: every function may be called from any thread at the same time. Each blocks until the
/// store has answered, for the timeout at most.
/// Errors: Error if the store does not answer in time or rejects the request; of kind `unsupported`
/// if the record was written by a newer version of Simba. After an error of kind `in_doubt` or
/// `timeout` the change may have happened.
class ScheduleRecords {
 public:
  /// Throws Error of kind `unsupported` if `records` is empty: the store keeps none.
  ScheduleRecords(std::shared_ptr<MutexRecords> records, std::shared_ptr<const Runtime> runtime,
                  std::chrono::nanoseconds timeout);

  [[nodiscard]] ScheduleReport report(const std::string& mutex) const;

  // ---- schedules; each throws IllegalStateError if none is registered under this name ----

  /// No slot begins until `resume`; a run that has begun goes on. Returns whether that changed
  /// anything. It takes effect at once, although the leader learns of it only within 10 seconds; a
  /// slot begun just before may still start.
  bool pause(const std::string& mutex) const;

  /// What happens to the slots that have passed meanwhile: `MissedSlots`. Returns whether that
  /// changed anything.
  bool resume(const std::string& mutex) const;

  /// Requests one more run, even while paused. It starts when the leader sees the request (within
  /// 10 seconds) and no run is under way. Requests do not add up: false if an earlier one is still
  /// pending. A pending retry is brought forward instead of an extra run.
  bool trigger(const std::string& mutex) const;

  // ---- work that happens once for each key ----

  /// Throws InvalidArgumentError if the key is empty, longer than 200 bytes, or not printable.
  static void check_key(std::string_view key);

  struct Begun {
    std::optional<Slot> slot{};       ///< set: this owner is to do the work now
    std::optional<RunReport> done{};  ///< otherwise the earlier run of this key
  };

  /// Whether the work of this key has to be done, and if so notes that `owner` has begun it. The
  /// store remembers the last 100 keys of a mutex, or as many as fit into 32 KiB: 60 at least, even
  /// if they are as long as they may be and all quotes. A key that was begun and has not ended well
  /// is begun again only with `SlotPromise::at_least_once`, up to `max_attempts`. Throws
  /// IllegalStateError if the mutex is not owned as `owner` says or belongs to a schedule, and as
  /// `check_key` does. Like `end` it asks again, within the timeout, if the store is unavailable.
  Begun begin(const std::string& mutex, const RecordOwner& owner, std::string_view key,
              const SlotOptions& options) const;

  /// How it ended. Throws IllegalStateError if the mutex is not owned as `owner` says, or that run
  /// is not under way.
  void end(const std::string& mutex, const RecordOwner& owner, std::uint64_t number,
           RunOutcome outcome, std::optional<int> exit_code, std::string_view message,
           std::string_view output) const;

  /// Undoes `begin`, for work that has not been started: whoever is next begins the same attempt,
  /// even with `SlotPromise::at_most_once`. Throws as `end`.
  void give_back(const std::string& mutex, const RecordOwner& owner, std::uint64_t number) const;

 private:
  const std::shared_ptr<MutexRecords> records_;
  const std::shared_ptr<const Runtime> runtime_;
  const std::chrono::nanoseconds timeout_;
};

}  // namespace simba
