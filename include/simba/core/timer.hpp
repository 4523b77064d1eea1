#pragma once

#include <functional>
#include <memory>

#include "simba/core/time.hpp"

namespace simba {

/// One alarm that can be set again and again.
///
/// Threads: calls on one timer must not overlap. Its function runs on a thread of the runtime,
/// never inside `arm`, and must be short. It may come once more after `cancel` or destruction, and
/// may come when nothing is due, so it checks the clock itself and holds what it touches weakly.
class Timer {
 public:
  virtual ~Timer() = default;

  /// Calls the function at `due` or soon after; replaces an earlier setting. `never` cancels.
  virtual void arm(LocalTime due) = 0;

  void cancel() { arm(never); }
};

/// Makes timers. All of them share one thread.
class TimerService {
 public:
  virtual ~TimerService() = default;

  virtual std::unique_ptr<Timer> create(std::function<void()> on_due) = 0;
};

}  // namespace simba
