#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/child/child.hpp"
#include "cli/output/output.hpp"
#include "simba/core/mutex_contend_service.hpp"
#include "simba/engine/contention_options.hpp"

namespace simba::cli {

/// How long a group has from TERM to KILL when the lease is over: less than the margin, so that all
/// of it is dead before anyone else can own the mutex.
std::chrono::milliseconds kill_after(const ContentionPlan& plan) noexcept;

/// What is wrong with a margin that is too short for that; nothing where it is long enough.
std::optional<std::string> margin_problem(const ContentionPlan& plan);

/// The variables that tell a program which mutex it runs under; SIMBA_HELD names all of them, where
/// a simba runs inside another.
std::vector<std::pair<std::string, std::string>> variables_of(const MutexContendService& service);

/// What to say where the owner of the mutex is a simba that this process runs inside: it would wait
/// for itself. Nothing where it is not.
std::optional<std::string> deadlock_with(const std::string& mutex, const std::string& owner_id);

/// After how long to tell a child again that its lease goes on: half of what is left of it, so that
/// a renewal, which comes long before the end, is told in time.
std::chrono::milliseconds until_next_look(LocalTime lease_end);

/// Knows until when a child may run.
///
/// Threads: used by one thread.
class LeaseKeeper {
 public:
  explicit LeaseKeeper(const MutexContendService& service) : service_{service} {}

  /// The end of the lease as this process knows it, including while it is renewed for a program
  /// that puts things in order before the release. Never goes back. The past where the mutex was
  /// never ours.
  LocalTime lease_end();

 private:
  const MutexContendService& service_;
  LocalTime known_{};
};

/// That a mutex is not released, because what it protects may still be in use here.
///
/// Threads: every function may be called from any thread.
class Withheld {
 public:
  explicit Withheld(const ContentionPlan& plan) : margin_{plan.margin} {}

  /// Lets the lease run out, where it is not over yet, and says why. For an `on_released`.
  void keep(MutexContendService& service, std::string_view reason, Output& output);

  /// Whether that was so.
  explicit operator bool() const noexcept { return until_.load() > LocalTime::min(); }

  /// Until the lease is over: a store that notices our end would let others in.
  void wait() const;

  /// For a callback that has not returned when its time was over. Does all that, and ends the
  /// process with 79: what is stuck uses what a regular end would destroy.
  [[noreturn]] void abandon(MutexContendService& service, std::string_view reason, Output& output);

 private:
  const std::chrono::milliseconds margin_;
  std::atomic<LocalTime> until_{LocalTime::min()};
};

}  // namespace simba::cli
