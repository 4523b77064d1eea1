#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "core/threads/prompt_executor.hpp"
#include "simba/core/delay_monitor.hpp"

namespace simba::detail {

/// Keeps the callbacks of a contend service and the work of its scheduler apart, without a thread
/// that waits: a callback that comes while the work runs is called once the work has left. So
/// `on_released` comes after the work has ended, and the service, which gives the mutex back after
/// `on_released`, keeps it until then.
///
/// Threads: every function may be called from any thread. Nothing is called with a lock held.
/// Lifetime: shared. A callback may end everything that refers to it.
class WorkGate final : public PromptExecutor, public std::enable_shared_from_this<WorkGate> {
 public:
  /// `executor` calls the callbacks: the inline executor on the thread that hands them over, or
  /// that of the work that leaves. `line`, if any, notices those that wait for a thread of it.
  explicit WorkGate(std::shared_ptr<Executor> executor,
                    std::unique_ptr<DelayMonitor::Line> line = nullptr);

  /// Has `callback` called now, or once what is inside has left.
  void execute(std::function<void()> callback) override;

  /// True inside a callback; not inside the work.
  bool running_in_this_thread() const noexcept override;

  void run_kept() override;

  /// Work goes in, unless other work is inside, or a callback is inside or waits: then the answer
  /// is false, and `when_free` is called, once, after that has left.
  bool try_enter(std::function<void()> when_free);

  /// Work goes out. Has the callbacks called that have come meanwhile.
  void leave();

 private:
  using Lock = std::unique_lock<std::mutex>;

  void call_soon();
  void open(Lock lock);

  // constant after construction
  const std::shared_ptr<Executor> executor_;
  const std::unique_ptr<DelayMonitor::Line> line_;

  mutable std::mutex mutex_;
  // guarded by mutex_
  bool occupied_ = false;
  std::thread::id caller_{};  // who runs callbacks now
  std::deque<std::function<void()>> callbacks_;
  std::function<void()> when_free_;
};

}  // namespace simba::detail
