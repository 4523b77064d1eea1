#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "simba/client/health.hpp"
#include "simba/client/span.hpp"
#include "simba/schedule/run.hpp"
#include "simba/schedule/schedule_config.hpp"

namespace simba {

class Scheduler;

namespace detail {
class HealthRecord;
}  // namespace detail

/// A run every `period`, counted by each leader from when it begins to lead: the first one at once.
/// Periods that pass while a run is still busy are skipped. A change of leader may repeat or skip
/// runs. Throws InvalidArgumentError if `period` is not positive.
[[nodiscard]] ScheduleConfig every(Span period);

/// A run every `period`, whoever leads: all processes share the slots, counted from the moment at
/// which the schedule was first registered in the store, e.g. `every(10s, SlotOptions{})`. Throws
/// InvalidArgumentError if `period` is not positive and in whole milliseconds, or an option is out
/// of its bounds.
[[nodiscard]] ScheduleConfig every(Span period, const SlotOptions& slots);

/// A run one `pause` after the end of the previous one, the first one at once. Counted by each
/// leader. Throws InvalidArgumentError if `pause` is not positive.
[[nodiscard]] ScheduleConfig after_pauses_of(Span pause);

/// A run at the times of a cron expression in a time zone, e.g. `cron("0 3 * * *",
/// "Europe/Berlin")`; see `Cron`. All processes share these slots: each happens once, whoever leads
/// then; see `SlotOptions` for what happens to slots that are missed or fail. The time is the
/// store's: the server's on PostgreSQL, MySQL and Redis, this host's on the other stores. Throws
/// InvalidArgumentError as `Cron` does, or if an option is out of its bounds.
[[nodiscard]] ScheduleConfig cron(std::string_view expression, std::string_view zone = "UTC",
                                  const SlotOptions& slots = {});

struct ScheduleOptions {
  std::string id{};  ///< the contender id; empty: a globally unique one

  // Called one at a time and never while the work runs, on the threads of callbacks (see
  // `ClientOptions::executor`). They may stop or destroy the schedule. An exception is logged.
  std::function<void()> on_acquired{};              ///< this process leads
  std::function<void()> on_lost{};                  ///< it no longer leads
  std::function<void(const SlotEvent&)> on_slot{};  ///< slots were missed, runs failed, ...; only
                                                    ///< of shared slots
};

/// Work that only the leader does, until this is stopped or destroyed. Move-only. Runs never
/// overlap. An exception thrown by the work is logged, and the schedule continues.
///
/// Not guaranteed: that this process still leads when the next line of the work runs: pass
/// `Run::fencing_token()` to the protected resource, and watch `Run::stop()`. Nor, of a schedule
/// that each leader counts for itself, that a change of leader neither skips nor repeats a run; of
/// shared slots `SlotPromise` says what is promised.
///
/// Threads: every function may be called from any thread, also inside the work.
/// Lifetime: owns the work. Nothing runs after `stop()` or the destructor has returned, except that
/// the work may itself stop or destroy the schedule, and that work which does not return within the
/// drain limit of the store's options is no longer waited for. May outlive the client.
/// Errors: an object without a schedule (default-constructed, moved from) leads nothing, and its
/// health is `out`.
class [[nodiscard]] Schedule {
 public:
  Schedule() noexcept;
  ~Schedule();
  Schedule(Schedule&& other) noexcept;
  Schedule& operator=(Schedule&& other) noexcept;  ///< stops what it had
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  /// True while this process is the one that does the work.
  [[nodiscard]] bool is_leader() const noexcept;

  /// How long nobody else can lead even if the lease is never renewed again. It is renewed while
  /// the work runs, also within `stop()`, up to the drain limit. Zero while this process does not
  /// lead.
  [[nodiscard]] std::chrono::nanoseconds lease_left() const noexcept;

  [[nodiscard]] Health health() const noexcept;

  /// Ends the schedule; waits for a run that is under way, up to the drain limit, and for the
  /// store. May be called any number of times.
  void stop();

 private:
  friend class Client;

  Schedule(std::shared_ptr<Scheduler> scheduler,
           std::shared_ptr<const detail::HealthRecord> health) noexcept;

  std::shared_ptr<const detail::HealthRecord> health_;
  std::shared_ptr<Scheduler> scheduler_;  // runs refer to it weakly
};

}  // namespace simba
