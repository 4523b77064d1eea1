#pragma once

#include <chrono>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace simba {

/// What is promised of a slot that was begun, as long as the store keeps its data.
enum class SlotPromise {
  /// It is never begun twice. If the process that runs it dies, or its run fails, the slot is over,
  /// and reported as lost or failed.
  at_most_once,

  /// It is begun again, by whoever leads then, until a run of it ends well or `max_attempts` is
  /// reached. A run that ended well is repeated if its success was not recorded before the lease
  /// ended, so the work should be idempotent: all attempts have the same run number.
  at_least_once,
};

/// What happens to slots that passed while nobody led, or while the schedule was paused.
enum class MissedSlots {
  skip,    ///< they are reported and do not happen
  latest,  ///< the latest one happens, late; the others are reported
  all,     ///< they happen one after another, the latest `max_missed` of them
};

/// What happens to a slot that comes due during the run of an earlier one, or while a retry of one
/// is pending.
enum class BusySlots {
  skip,            ///< it is reported and does not happen
  queue_one,       ///< the latest such slot happens when that run is over; the others are reported
  cancel_running,  ///< that run is told to stop, and is not repeated; then as `queue_one`
};

/// How the slots of a schedule are treated. All processes that share a schedule should agree.
struct SlotOptions {
  SlotPromise promise = SlotPromise::at_most_once;

  int max_attempts = 3;  ///< for `at_least_once`: how often a slot is begun, from 1 to 1,000
  std::chrono::nanoseconds retry_pause = std::chrono::seconds{10};  ///< before the second attempt;
                                                                    ///< doubled for each further
                                                                    ///< one, up to an hour
  MissedSlots missed = MissedSlots::latest;
  int max_missed = 100;  ///< for `MissedSlots::all`: from 1 to 10,000
  BusySlots while_busy = BusySlots::skip;

  /// A slot that cannot begin this long after its time counts as missed and does not happen,
  /// whatever `missed` and `while_busy` say. Not set: there is no such limit.
  std::optional<std::chrono::nanoseconds> start_within{};

  /// Each slot begins up to this much later, at random. Shorter than the period; with a cron
  /// expression it should be shorter than the time between its slots: one that has not begun when
  /// the next comes is a missed one.
  std::chrono::nanoseconds jitter{0};

  /// Slots up to this long before the first registration of the schedule count as missed. Zero: the
  /// schedule begins with the first slot after registration, as it does with an `initial_delay`.
  std::chrono::nanoseconds backfill{0};

  int history = 20;  ///< how many runs the store remembers, from 1 to 50

  /// Throws InvalidArgumentError if a value is out of its bounds, or a duration is negative.
  void check() const;

  friend bool operator==(const SlotOptions&, const SlotOptions&) = default;
};

/// E.g. "at most once".
std::string_view to_string(SlotPromise promise) noexcept;
std::string_view to_string(MissedSlots missed) noexcept;  ///< e.g. "latest"
std::string_view to_string(BusySlots busy) noexcept;      ///< e.g. "queue one"

/// What differs from the defaults, e.g. "at least once, missed: all"; "defaults" if nothing does.
std::string to_string(const SlotOptions& options);
std::ostream& operator<<(std::ostream& out, const SlotOptions& options);

}  // namespace simba
