#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "simba/core/mutex_service_factory.hpp"
#include "simba/schedule/run.hpp"
#include "simba/schedule/schedule_config.hpp"

namespace simba {

struct SchedulerOptions {
  std::string contender_id{};            ///< empty: a globally unique one
  std::shared_ptr<Executor> executor{};  ///< runs the work; empty: `Runtime::workers`

  /// Hooks. Called before the scheduler itself acts on what its contender is told: every state of
  /// the mutex, and every event. They are called one at a time and never while the work runs, on
  /// the threads of `Runtime::callbacks`, or on the thread that stops the scheduler if those have
  /// started none for 100 ms. A hook that blocks holds up the work and the hand-over of its own
  /// scheduler and nothing else. An exception is logged. They live as long as the work does.
  std::function<void(MutexContendService&, const MutexState&)> on_state{};
  std::function<void(MutexContendService&, const ContentionEvent&)> on_event{};

  /// Called for each `SlotEvent` of shared slots (`ScheduleConfig::Strategy::slots`), as the hooks
  /// above, but never on the thread that stops the scheduler; `stop()` in it takes effect when it
  /// returns, as in the work.
  std::function<void(const SlotEvent&)> on_slot{};
};

/// Periodic work that only the leader performs.
///
/// Runs never overlap. When leadership is lost or `stop()` is called, the stop token of the running
/// work fires; the mutex is released, or contended for again, only after the work has returned. An
/// exception thrown by the work is logged, and the schedule continues.
///
/// With shared slots (`ScheduleConfig::Strategy::slots`) a slot is begun by a write to the store's
/// record, and the work runs once that is confirmed, if the lease still lasts. How it ended is
/// recorded before the mutex is released. While nothing is due, the leader looks at the record
/// every 10 seconds, at the same moments as all other leaders of the host: that is how it learns
/// that it was paused, resumed or triggered, and that the store's clock was set. A slot begins late
/// by about one request, or later while a hook runs or the store does not answer, and never early
/// by the store's clock; after that clock was set forward, it may begin up to 10 seconds late.
///
/// Threads: every function may be called from any thread, including from inside the work and the
/// hooks. In the work `stop()` returns immediately and takes effect when the work returns. In a
/// hook it calls the hooks that remain before it returns. Lifetime: a derived class calls `close()`
/// in its destructor, while its `work` still exists. The object may also be destroyed inside the
/// work or a hook, which must not use it after that. Work or a hook that has not returned within
/// the drain limit is no longer waited for: it must not outlive what it uses.
class AbstractScheduler {
 public:
  using Work = std::function<void(std::stop_token)>;

  virtual ~AbstractScheduler();

  AbstractScheduler(const AbstractScheduler&) = delete;
  AbstractScheduler& operator=(const AbstractScheduler&) = delete;

  /// Throws IllegalStateError if it is already started.
  void start();

  /// Waits for the running work or hook, up to the drain limit in the store's options, and then for
  /// the store. No run and no hook begins after it has returned. May be called anywhere and any
  /// number of times: if another thread is stopping it, it waits for that, or returns if it is
  /// called inside a hook; if it is not started, it returns. Inside a stop callback of a loss
  /// signal, including that of the work's token, it returns immediately and takes effect when the
  /// work returns.
  void stop();

  /// Like `stop()`, but never throws and always waits, except for the work or hook that it is
  /// called from.
  void close() noexcept;

  [[nodiscard]] bool running() const noexcept;

  /// True while this instance leads.
  [[nodiscard]] bool is_leader() const noexcept;

  /// How long nobody else can lead even if the lease is never renewed again. It is renewed while
  /// the work runs, also within `stop()`, up to the drain limit. Zero while this instance does not
  /// lead.
  [[nodiscard]] std::chrono::nanoseconds lease_left() const noexcept;

  [[nodiscard]] const MutexContendService& contend_service() const noexcept;

 protected:
  /// What the hooks in the options may do.
  enum class Hooks {
    may_block,
    are_prompt,      ///< they neither block nor stop anything: any thread may call them
    share_executor,  ///< they may block, and are called where the work is, if that has an executor
  };

  /// Throws InvalidArgumentError if the store does not accept the names or the config is invalid,
  /// and Error of kind `unsupported` if it shares slots and the store keeps no records.
  AbstractScheduler(std::string mutex, MutexContendServiceFactory& factory, ScheduleConfig config,
                    SchedulerOptions options = {});

  /// One run. Should return soon after `stop` is requested.
  virtual void work(std::stop_token stop) = 0;

 private:
  friend class Scheduler;
  class Impl;

  explicit AbstractScheduler(std::shared_ptr<Impl> impl);

  const std::shared_ptr<Impl> impl_;
};

}  // namespace simba
