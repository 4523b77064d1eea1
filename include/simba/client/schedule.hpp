#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "simba/client/health.hpp"
#include "simba/client/span.hpp"
#include "simba/core/time.hpp"
#include "simba/schedule/schedule_config.hpp"

namespace simba {

class Scheduler;

namespace detail {
class HealthRecord;
}  // namespace detail

/// A run every `period`, the first one at once. Periods that pass while a run is still busy are
/// skipped. Throws InvalidArgumentError if `period` is not positive.
[[nodiscard]] ScheduleConfig every(Span period);

/// A run one `pause` after the end of the previous one, the first one at once. Throws
/// InvalidArgumentError if `pause` is not positive.
[[nodiscard]] ScheduleConfig after_pauses_of(Span pause);

/// A run at the times of a cron expression in a time zone, e.g. `cron("0 3 * * *",
/// "Europe/Berlin")`; see `Cron`. The times are those of this host's clock. Those that pass while a
/// run is still busy, or while nobody leads, are skipped; if this host's clock is set back, it
/// repeats none of them. Throws InvalidArgumentError as `Cron` does.
[[nodiscard]] ScheduleConfig cron(std::string_view expression, std::string_view zone = "UTC");

/// What the work is told.
class Run {
 public:
  Run(FencingToken fencing_token, std::stop_token stop,
      std::function<std::chrono::nanoseconds()> lease_left = {})
      : fencing_token_{fencing_token}, stop_{std::move(stop)}, lease_left_{std::move(lease_left)} {}

  /// That of the leadership in which it runs.
  [[nodiscard]] FencingToken fencing_token() const noexcept { return fencing_token_; }

  /// Requested when the leadership ends or the schedule is stopped. The mutex is released only when
  /// the work has returned, so return soon.
  [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }

  /// As `Schedule::lease_left`; zero once the schedule has been destroyed.
  [[nodiscard]] std::chrono::nanoseconds lease_left() const {
    return lease_left_ ? lease_left_() : std::chrono::nanoseconds::zero();
  }

 private:
  FencingToken fencing_token_;
  std::stop_token stop_;
  std::function<std::chrono::nanoseconds()> lease_left_;
};

using Work = std::function<void(const Run& run)>;

struct ScheduleOptions {
  std::string id{};  ///< the contender id; empty: a globally unique one

  friend bool operator==(const ScheduleOptions&, const ScheduleOptions&) = default;
};

/// What is set, e.g. "id a"; "defaults" if nothing is.
std::string to_string(const ScheduleOptions& options);
std::ostream& operator<<(std::ostream& out, const ScheduleOptions& options);

/// Work that only the leader does, until this is stopped or destroyed. Move-only. Runs never
/// overlap. An exception thrown by the work is logged, and the schedule continues.
///
/// Not guaranteed: that each run happens on time and exactly once among all processes: a change of
/// leader can skip or repeat one. Nor that this process still leads when the next line of the work
/// runs: pass `Run::fencing_token()` to the protected resource, and watch `Run::stop()`.
///
/// Threads: every function may be called from any thread, also inside the work.
/// Lifetime: owns the work. Nothing runs after `stop()` or the destructor has returned, except that
/// the work may itself stop or destroy the schedule, and that work which does not return within the
/// drain limit of the store's options is no longer waited for. May outlive the client.
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

  /// An object without a schedule (default-constructed, moved from) is `out`.
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
