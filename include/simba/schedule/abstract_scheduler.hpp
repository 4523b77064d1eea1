#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "simba/core/mutex_service_factory.hpp"
#include "simba/schedule/schedule_config.hpp"

namespace simba {

struct SchedulerOptions {
  std::string contender_id{};            ///< empty: one that nobody else has
  std::shared_ptr<Executor> executor{};  ///< runs the work; empty: `Runtime::workers`
};

/// Work that is done by the leader only, again and again.
///
/// Runs never overlap. When leadership is lost, or `stop()` is called, the token of the running
/// work is fired; the mutex is given back, and contended for again, only after the work has
/// returned. An exception in the work is logged and the schedule goes on.
///
/// Threads: every function may be called from any thread, also from inside the work. There `stop()`
/// returns at once and takes effect when the work returns.
/// Lifetime: a derived class calls `close()` in its destructor, while its `work` still exists.
/// Inside the work the object may be destroyed too; the work uses nothing of it after that. Work
/// that has not returned when the drain limit has passed is left to itself: it must not outlive
/// what it uses.
class AbstractScheduler {
 public:
  using Work = std::function<void(std::stop_token)>;

  virtual ~AbstractScheduler();

  AbstractScheduler(const AbstractScheduler&) = delete;
  AbstractScheduler& operator=(const AbstractScheduler&) = delete;

  /// Throws IllegalStateError when it is started already.
  void start();

  /// Waits for the running work, but no longer than the drain limit of the store's options, and
  /// then for the store. May be called anywhere and any number of times: while another thread stops
  /// it, it waits for that; when it is not started, it returns. Inside a callback of a loss signal,
  /// that of the work's token included, it returns at once and takes effect when the work returns.
  void stop();

  /// The same, but throws nothing at all, and always waits, except inside the work.
  void close() noexcept;

  bool running() const noexcept;

  /// True while this instance leads.
  bool is_leader() const noexcept;

  /// How long nobody else can lead unless the lease is renewed. It is renewed while the work runs,
  /// also within `stop()`, up to the drain limit. Zero while nothing is held.
  std::chrono::nanoseconds lease_left() const noexcept;

  const MutexContendService& contend_service() const noexcept;

 protected:
  /// Throws InvalidArgumentError where the store cannot take the names or the config is wrong.
  AbstractScheduler(std::string mutex, MutexContendServiceFactory& factory, ScheduleConfig config,
                    SchedulerOptions options = {});

  /// One run. Return soon once `stop` is requested.
  virtual void work(std::stop_token stop) = 0;

 private:
  friend class Scheduler;
  class Impl;

  explicit AbstractScheduler(std::shared_ptr<Impl> impl);

  const std::shared_ptr<Impl> impl_;
};

}  // namespace simba
