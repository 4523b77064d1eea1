#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "simba/core/contend_period.hpp"

namespace simba::engine {

/// How a mutex is contended for. An aggregate: set what you need, the rest has defaults. Values
/// left empty are derived from the lease (ttl + transition).
struct ContentionOptions {
  std::chrono::milliseconds initial_delay{0};   ///< before the first attempt
  std::chrono::milliseconds ttl{10'000};        ///< the owner renews before it has passed
  std::chrono::milliseconds transition{6'000};  ///< grace in which only the owner may renew

  /// The owner steps down this long before the store can let anyone else in.
  /// Derived: a twentieth of the lease, at most 500 ms.
  std::optional<std::chrono::milliseconds> margin{};

  /// How much the local clock and the store's may differ in rate, in parts per million. The lease
  /// is shortened by it.
  int clock_drift_ppm = 500;

  /// The owner renews when this part of the ttl has passed, in per cent.
  int renew_at_percent = 60;

  /// Renewals are moved forward to a common grid, so that those of many mutexes go together.
  /// Derived: a twentieth of the ttl. Zero turns it off.
  std::optional<std::chrono::milliseconds> renew_grid{};

  /// A request without an answer counts as failed (unknown, not lost) after this time.
  /// Derived: a quarter of what is left of the lease when a renewal is due, at most 5 s.
  std::optional<std::chrono::milliseconds> request_timeout{};

  /// First and longest pause between attempts that fail; each pause doubles and is jittered.
  /// Derived: a 160th and a 16th of the lease, at most 100 ms and 1 s.
  std::optional<std::chrono::milliseconds> retry_min{};
  std::optional<std::chrono::milliseconds> retry_max{};

  /// Pause after an error that does not pass by itself (wrong password, no permission). Derived:
  /// the longer of 1 s and the ttl.
  std::optional<std::chrono::milliseconds> retry_refused{};

  /// How far the attempts of waiting contenders are spread around the end of the lease.
  JitterBounds jitter{};

  /// How long `stop()` waits, and renews, while `on_released` runs.
  std::chrono::milliseconds drain_limit{30'000};

  /// How long `stop()` waits for the store to confirm the release; it goes on in the background
  /// after that. Derived: the request time-out.
  std::optional<std::chrono::milliseconds> release_wait{};

  /// How often an observer looks when nothing tells it of changes. Derived: the ttl.
  std::optional<std::chrono::milliseconds> observe_interval{};
};

/// Options with everything derived and checked. Constant.
struct ContentionPlan {
  /// Throws InvalidArgumentError naming the value and its bound.
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

  /// `span` of the store's clock, counted on a local clock that may be as slow as the drift
  /// allowance permits: never longer than the real time that the store waits.
  std::chrono::nanoseconds without_drift(std::chrono::nanoseconds span) const noexcept;
};

/// What a configuration promises at worst. Times on the network are not included beyond the request
/// time-out where it is said.
struct WorstCases {
  /// From the last renewal that succeeded (its sending) to the owner's step-down when the store is
  /// out of reach.
  std::chrono::nanoseconds step_down;
  /// From the crash of an owner to the next owner: the lease, the jitter, and one request.
  std::chrono::nanoseconds take_over;
  /// From a graceful release to the next owner when the notice is lost: as after a crash. With the
  /// notice it is one message.
  std::chrono::nanoseconds hand_over_without_notice;
  /// From `stop()` to its return when the store is out of reach and callbacks return at once.
  std::chrono::nanoseconds stop;
  /// The take-over where the owner's process is gone and the store sees that by itself, as SQLite
  /// does. Empty: it does not, so the lease must run out.
  std::optional<std::chrono::nanoseconds> take_over_when_gone{};
};

/// Of a store of which nothing more is known than that it has leases. A store's own are in
/// `LeaseStore::worst_cases`, and in `config::Configuration::worst_cases`.
WorstCases worst_cases(const ContentionPlan& plan) noexcept;

/// A few lines of text for people; `worst` are those of the store.
std::string describe(const ContentionPlan& plan, const WorstCases& worst);
std::string describe(const ContentionPlan& plan);

}  // namespace simba::engine
