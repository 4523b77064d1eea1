#pragma once

#include <chrono>
#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>

#include "simba/core/contend_period.hpp"

namespace simba {

/// How a mutex is contended for. An aggregate: set what you need; everything else has a default.
/// Values left empty are derived from the lease (ttl + transition).
struct ContentionOptions {
  std::chrono::milliseconds initial_delay{0};   ///< before the first attempt
  std::chrono::milliseconds ttl{10'000};        ///< the owner renews within this time
  std::chrono::milliseconds transition{6'000};  ///< grace period in which only the owner may renew

  /// The owner steps down this long before the store lets anyone else acquire.
  /// Derived: a twentieth of the lease, at most 500 ms.
  std::optional<std::chrono::milliseconds> margin{};

  /// How much the rates of the local clock and the store's clock may differ, in parts per million.
  /// The local lease is shortened accordingly.
  int clock_drift_ppm = 500;

  /// The owner renews when this percentage of the ttl has passed.
  int renew_at_percent = 60;

  /// Renewals are moved forward to a common grid, so that many mutexes are renewed together.
  /// Derived: a twentieth of the ttl. Zero disables it.
  std::optional<std::chrono::milliseconds> renew_grid{};

  /// A request that is not answered within this time counts as failed (unknown, not lost). Derived:
  /// a quarter of the lease that is left when a renewal is due, at most 5 s.
  std::optional<std::chrono::milliseconds> request_timeout{};

  /// Minimum and maximum delay between failed attempts; the delay doubles each time, with jitter.
  /// Derived: a 160th and a 16th of the lease, at most 100 ms and 1 s.
  std::optional<std::chrono::milliseconds> retry_min{};
  std::optional<std::chrono::milliseconds> retry_max{};

  /// Delay after an error that is not transient (wrong password, missing permission). Derived:
  /// the longer of 1 s and the ttl.
  std::optional<std::chrono::milliseconds> retry_refused{};

  /// How far the attempts of waiting contenders are spread around the end of the lease.
  JitterBounds jitter{};

  /// How long `stop()` waits, and renews, while `on_released` runs.
  std::chrono::milliseconds drain_limit{30'000};

  /// How long `stop()` waits for the store to confirm the release, which continues in the
  /// background after that. Derived: the request timeout.
  std::optional<std::chrono::milliseconds> release_wait{};

  /// How often an observer polls if the store does not notify it of changes. Derived: the ttl.
  std::optional<std::chrono::milliseconds> observe_interval{};

  friend bool operator==(const ContentionOptions&, const ContentionOptions&) = default;
};

/// What differs from the defaults after ttl and transition, e.g. "ttl 10s, transition 6s, margin
/// 0.2s". For what is derived from it see `describe`.
std::string to_string(const ContentionOptions& options);
std::ostream& operator<<(std::ostream& out, const ContentionOptions& options);

/// The options, validated and with all derived values filled in. Constant.
struct ContentionPlan {
  /// Throws InvalidArgumentError, with the value and its bounds, if an option is out of bounds.
  explicit ContentionPlan(const ContentionOptions& options);

  std::chrono::milliseconds initial_delay;
  std::chrono::milliseconds ttl;
  std::chrono::milliseconds transition;
  std::chrono::milliseconds margin;
  int clock_drift_ppm;
  std::chrono::milliseconds renew_after;  ///< counted from before the last granted request was sent
  std::chrono::milliseconds renew_grid;
  std::chrono::milliseconds request_timeout;
  std::chrono::milliseconds retry_min;
  std::chrono::milliseconds retry_max;
  std::chrono::milliseconds retry_refused;
  JitterBounds jitter;
  std::chrono::milliseconds drain_limit;
  std::chrono::milliseconds release_wait;
  std::chrono::milliseconds observe_interval;

  std::chrono::milliseconds lease() const noexcept { return ttl + transition; }

  /// `span` as measured by the store, reduced by the drift allowance: on the slowest local clock
  /// allowed it is never longer than the time that the store waits.
  std::chrono::nanoseconds without_drift(std::chrono::nanoseconds span) const noexcept;
};

/// How waiters notice a release on a store without notifications: each process polls the mutexes
/// that it waits for.
struct LookRate {
  std::chrono::nanoseconds interval;  ///< between two polls of a mutex, unless there are too many
  std::size_t mutexes;                ///< the most that a process polls
  std::chrono::nanoseconds per;       ///< within each such span

  /// Between two polls of a mutex if the process waits for `waited` mutexes.
  std::chrono::nanoseconds interval_for(std::size_t waited) const noexcept;

  friend bool operator==(const LookRate&, const LookRate&) = default;
};

/// The worst cases of a configuration. Network latency is not included, except for one request
/// timeout where noted.
struct WorstCases {
  /// From sending the last successful renewal to the owner's step-down if the store is unreachable.
  std::chrono::nanoseconds step_down;
  /// From the crash of an owner to the next owner: the lease, the jitter, and one request.
  std::chrono::nanoseconds take_over;
  /// From a graceful release to the next owner if the notification is lost: as after a crash. With
  /// the notification it takes one message. If `looks` is set there are no notifications: then this
  /// bounds every hand-over, for the number of mutexes that the store watches when it is asked.
  std::chrono::nanoseconds hand_over_without_notice;
  /// How long `stop()` takes if the store is unreachable and callbacks return immediately.
  std::chrono::nanoseconds stop;
  /// The take-over if the owner's process has died and the store detects that, as SQLite does.
  /// Empty: it does not, so the lease must expire.
  std::optional<std::chrono::nanoseconds> take_over_when_gone{};
  /// Set if the store sends no notifications, like MySQL.
  std::optional<LookRate> looks{};
};

/// The worst cases of any store with leases. For those of a particular store see
/// `LeaseStore::worst_cases` and `config::Configuration::worst_cases`.
WorstCases worst_cases(const ContentionPlan& plan) noexcept;

/// A human-readable description of a few lines; `worst` are the worst cases of the store.
std::string describe(const ContentionPlan& plan, const WorstCases& worst);

}  // namespace simba
