#pragma once

#include <cstddef>
#include <memory>

#include "simba/core/clock.hpp"
#include "simba/core/delay_monitor.hpp"
#include "simba/core/executor.hpp"
#include "simba/core/log.hpp"
#include "simba/core/random.hpp"
#include "simba/core/statistics.hpp"
#include "simba/core/timer.hpp"
#include "simba/core/tracer.hpp"
#include "simba/core/waiter.hpp"

namespace simba {

/// What Simba needs from its environment: clock, threads, randomness and log. One runtime serves
/// all mutexes of a factory and may serve several factories. There is no global state.
///
/// Threads: constant after construction; each part is safe to use from any thread.
/// Lifetime: shared; its threads end when the last reference is dropped, even if that happens on
/// one of these threads.
struct Runtime {
  std::shared_ptr<const Clock> clock;
  std::shared_ptr<TimerService> timers;
  std::shared_ptr<Executor> callbacks;  ///< runs callbacks, unless a service has its own executor
  std::shared_ptr<Executor> workers;    ///< runs scheduled work; its threads start at first use
  std::shared_ptr<Executor> signals;  ///< fires loss signals; never waits behind callbacks or work
  std::shared_ptr<Waiter> waiter;
  std::shared_ptr<Random> random;
  std::shared_ptr<Logger> log;
  std::shared_ptr<DelayMonitor> delays{};            ///< empty: delays are not detected
  std::shared_ptr<StatisticsRecorder> statistics{};  ///< empty: nothing is counted
  std::shared_ptr<Tracer> tracer{};                  ///< empty: nothing is traced
};

/// The pools for callbacks and work have the number of threads given here, and more only while some
/// of them are blocked: a callback that has not returned after 10 ms no longer counts, and another
/// thread takes over what is waiting. When it returns, the pool shrinks again. If the maximum is
/// reached, what waits is logged, with the names of what blocks, and counted (`Runtime::delays`).
struct RuntimeOptions {
  std::size_t callback_threads = 2;
  std::size_t worker_threads = 2;
  std::shared_ptr<Logger> log = {};  ///< called through a queue; empty: `make_default_logger()`
  std::size_t max_callback_threads = 64;  ///< also for the threads that fire loss signals
  std::size_t max_worker_threads = 64;
  std::size_t most_counted_mutexes = 100;  ///< that have statistics of their own; see
                                           ///< `StatisticsRecorder`
  std::shared_ptr<Tracer> tracer = {};     ///< empty: nothing is traced
};

/// A runtime with the system clock and real threads: one for timers, the callback threads, one for
/// loss signals and, once work is scheduled, the worker threads.
///
/// Throws InvalidArgumentError if `callback_threads` or `worker_threads` is not between 1 and 256,
/// or a maximum is not between 1 and 4096; a maximum less than the corresponding number of threads
/// is raised to it. Throws std::system_error if no thread can be started.
std::shared_ptr<const Runtime> make_runtime(const RuntimeOptions& options = {});

}  // namespace simba
