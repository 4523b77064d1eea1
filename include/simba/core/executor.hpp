#pragma once

#include <functional>
#include <memory>

namespace simba {

/// Runs tasks. Implement it to choose the threads on which callbacks run.
///
/// Threads: `execute` may be called from any thread. Tasks may run concurrently and in any order;
/// Simba itself serializes the callbacks of a service. Lifetime: the last reference to an executor
/// may be dropped inside one of its own tasks, so its destructor must not join the thread it runs
/// on. `execute` may still be in progress when `stop()` returns: what it refers to must live as
/// long as the executor.
///
/// A user's executor is called on the callback threads of the runtime, so an `execute` that blocks
/// holds up one of those threads and the callbacks of its own service, but no timer, store or other
/// service. If `execute` throws, the exception is logged and the task runs on the callback threads;
/// a run of a scheduler is skipped instead. A task that has not started after a second is logged
/// and counted (`Runtime::delays`).
///
/// `stop()` waits for the last callbacks. If the executor starts none of them for a second, or
/// before a shorter drain limit is over, because it is busy or has been stopped, the thread that
/// calls `stop()`, `close()` or the destructor runs them. So an executor that confines callbacks to
/// one thread must be quicker than that, or `stop()` must be called on that thread.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Runs `task` exactly once, later or immediately. Must not drop it. A task does not throw.
  virtual void execute(std::function<void()> task) = 0;

  /// True if the calling thread is one on which this executor runs tasks. A call that waits for
  /// tasks of this executor then runs them itself instead of deadlocking. Called while Simba holds
  /// no lock.
  virtual bool running_in_this_thread() const noexcept = 0;
};

/// Runs each task immediately on the thread that submits it, which may be the timer thread or a
/// thread of the store. Only for tasks that are short and take no lock that the caller may hold: a
/// callback that blocks there holds up every mutex of the runtime.
std::shared_ptr<Executor> make_inline_executor();

}  // namespace simba
