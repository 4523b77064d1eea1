#pragma once

#include <cstddef>
#include <memory>

#include "simba/core/clock.hpp"
#include "simba/core/delay_monitor.hpp"
#include "simba/core/executor.hpp"
#include "simba/core/log.hpp"
#include "simba/core/random.hpp"
#include "simba/core/timer.hpp"
#include "simba/core/waiter.hpp"

namespace simba {

/// Everything Simba takes from its surroundings: time, threads, randomness, log. One runtime serves
/// all mutexes of a factory, and may serve several factories. Nothing here is global.
///
/// Threads: constant after construction; each part is safe to use from any thread.
/// Lifetime: whoever needs it holds it; the threads end when the last holder lets go, also when
/// that happens on one of these threads.
struct Runtime {
  std::shared_ptr<const Clock> clock;
  std::shared_ptr<TimerService> timers;
  std::shared_ptr<Executor>
      callbacks;  ///< calls contenders and observers unless they bring their own
  std::shared_ptr<Executor> workers;  ///< runs scheduled work; its threads start at first use
  std::shared_ptr<Executor> signals;  ///< fires loss signals; never waits behind callbacks or work
  std::shared_ptr<Waiter> waiter;
  std::shared_ptr<Random> random;
  std::shared_ptr<Logger> log;
  std::shared_ptr<DelayMonitor> delays{};  ///< empty: nobody notices what waits for a thread
};

/// The threads for callbacks and work are as many as are given here, and more only while some of
/// them block: a callback that has not returned after 10 ms no longer counts, and another thread
/// takes what waits. When it returns, the pool is as small as before. Beyond the maximum what waits
/// is logged, with the names of those that block, and counted (`Runtime::delays`).
struct RuntimeOptions {
  std::size_t callback_threads = 2;
  std::size_t worker_threads = 2;
  std::shared_ptr<Logger> log = {};       ///< behind a queue; empty: `make_default_logger()`
  std::size_t max_callback_threads = 64;  ///< also of the threads that fire loss signals
  std::size_t max_worker_threads = 64;
};

/// A runtime of real clock and real threads: one for timers, those for callbacks, one for loss
/// signals, and, from the first work on, those for work.
///
/// Throws InvalidArgumentError where `callback_threads` or `worker_threads` is not in [1, 256] or a
/// maximum is not in [1, 4096]; a maximum below the number it belongs to counts as that number.
/// Throws std::system_error where the system gives no thread.
std::shared_ptr<const Runtime> make_runtime(const RuntimeOptions& options = {});

}  // namespace simba
