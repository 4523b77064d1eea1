#pragma once

#include <functional>
#include <memory>

#include "simba/core/timer.hpp"

namespace simba::testkit {

/// Timers that fire only when told to, without a clock.
///
/// Threads: every function may be called concurrently from any thread. A timer's function runs
/// on the thread that calls `fire_next`, with no lock held. It may arm, cancel, create and destroy
/// any timer, including its own. Errors: what a timer's function throws is rethrown by `fire_next`.
/// Lifetime: a timer may outlive the service that created it. Once a timer is cancelled or
/// destroyed its function is not called again.
class ManualTimers final : public TimerService {
 public:
  ManualTimers();
  ~ManualTimers() override;

  std::unique_ptr<Timer> create(std::function<void()> on_due) override;

  /// When the next timer is due, or `never`.
  LocalTime next_due() const;

  /// Fires the timer that is due first, if it is due by `now`; of several with the same due time,
  /// the one that was armed first. Returns whether there was one.
  bool fire_next(LocalTime now);

 private:
  class Queue;
  class ManualTimer;

  const std::shared_ptr<Queue> queue_;
};

}  // namespace simba::testkit
