#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "core/threads/prompt_executor.hpp"

namespace simba::detail {

/// Keeps the callbacks of a contend service and the work of its scheduler apart, without a thread
/// that waits: a callback that comes while the work runs is called when the work has left, by the
/// thread that leaves. So `on_released` comes after the work has ended, and the service, which
/// gives the mutex back after `on_released`, keeps it until then.
///
/// Callbacks otherwise run at once on the thread that hands them over: they must be short.
///
/// Threads: every function may be called from any thread. Nothing is called with a lock held.
class WorkGate final : public PromptExecutor {
 public:
  /// Calls `callback` now, or after what is inside has left.
  void execute(std::function<void()> callback) override;

  /// True inside a callback; not inside the work.
  bool running_in_this_thread() const noexcept override;

  /// Work goes in, unless a callback or other work is inside: then `when_free` is called, once,
  /// after that has left, and the answer is false.
  bool try_enter(std::function<void()> when_free);

  /// Work goes out. Calls what has come meanwhile.
  void leave();

 private:
  using Lock = std::unique_lock<std::mutex>;

  void call(Lock& lock, std::function<void()> callback);
  void open(Lock lock);

  mutable std::mutex mutex_;
  // guarded by mutex_
  bool occupied_ = false;
  std::thread::id caller_{};  // who runs a callback now
  std::deque<std::function<void()>> callbacks_;
  std::function<void()> when_free_;
};

}  // namespace simba::detail
