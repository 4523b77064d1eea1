#pragma once

#include <functional>
#include <memory>

#include "simba/core/time.hpp"

namespace simba {

/// A timer that can be rearmed.
///
/// Threads: calls on one timer must not overlap. Its function runs on a thread of the runtime,
/// never inside `arm`, and must be short. It may be called once more after `cancel` or destruction,
/// and may be called when nothing is due, so it must check the clock itself and hold only weak
/// references.
class Timer {
 public:
  virtual ~Timer() = default;

  /// Calls the function at `due` or soon after; replaces an earlier setting. `never` cancels.
  virtual void arm(LocalTime due) = 0;

  void cancel() { arm(never); }
};

/// Creates timers, which share one thread.
class TimerService {
 public:
  virtual ~TimerService() = default;

  virtual std::unique_ptr<Timer> create(std::function<void()> on_due) = 0;
};

}  // namespace simba
