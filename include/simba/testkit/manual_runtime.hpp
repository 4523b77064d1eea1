#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "simba/core/runtime.hpp"
#include "simba/testkit/capturing_logger.hpp"
#include "simba/testkit/manual_clock.hpp"
#include "simba/testkit/manual_executor.hpp"

namespace simba::testkit {

/// A runtime without threads and without real time: everything happens on the thread that drives
/// it, in the same order in every run.
///
/// A task or timer function runs when a function below is called, and while a blocking call of
/// Simba waits: `locker.acquire(5s)` runs what is ready and advances virtual time until it has its
/// answer or the five seconds have passed.
///
/// "Ready" means every queued task and every timer that is due. Loss signals come first,
/// then callbacks, then work, then timers.
///
/// Threads: only the thread that created it drives it. Tasks, timers and log lines may be added
/// from any thread. Errors: std::logic_error if something would wait forever, or never settles
/// (more than `runaway_limit` steps at one point of virtual time). Lifetime: create it before the
/// services that use it. Its parts live as long as `runtime()` is referenced; tasks still queued at
/// destruction do not run.
class ManualRuntime {
 public:
  static constexpr std::size_t runaway_limit = 1'000'000;

  explicit ManualRuntime(std::uint64_t seed = 1);
  ManualRuntime(const ManualRuntime&) = delete;
  ManualRuntime& operator=(const ManualRuntime&) = delete;
  ~ManualRuntime();

  /// The runtime to pass to factories; always the same object.
  const std::shared_ptr<const Runtime>& runtime() const noexcept { return runtime_; }

  LocalTime now() const noexcept;

  /// When the next timer is due, or `never`.
  LocalTime next_due() const;

  /// Runs what is ready until nothing is. Time stands still. Returns the number of steps.
  std::size_t run_ready();

  /// Advances time by `span`, stopping at each timer on the way to fire it and to run what is
  /// ready. Throws InvalidArgumentError if `span` is negative.
  void advance(std::chrono::nanoseconds span);

  /// Runs what is ready and advances time, step by step, until `done()` is true, for at most
  /// `limit` of virtual time. Returns whether `done()` is true.
  bool run_until(const std::function<bool()>& done, std::chrono::nanoseconds limit);

  ManualClock& clock() const noexcept;
  ManualExecutor& callbacks() const noexcept;
  ManualExecutor& workers() const noexcept;
  ManualExecutor& signals() const noexcept;
  CapturingLogger& log() const noexcept;

 private:
  class World;

  const std::shared_ptr<World> world_;
  const std::shared_ptr<const Runtime> runtime_;
};

}  // namespace simba::testkit
