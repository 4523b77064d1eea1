#pragma once

#include <functional>
#include <memory>

namespace simba {

/// Runs tasks. Users may give their own, to decide on which threads callbacks come.
///
/// Threads: `execute` may be called from any thread. Tasks may run at the same time and in any
/// order; Simba orders the callbacks of one service itself.
/// Lifetime: the last holder may let go of an executor inside one of its own tasks, so a destructor
/// must not join the thread it runs on. `execute` may be under way when `stop()` returns: what it
/// refers to must live as long as the executor does.
///
/// One that a user gives is called on the callback threads of the runtime, so an `execute` that
/// blocks holds up one of those and the callbacks of its own service; no timer, store or other
/// service. What `execute` throws is logged, and the callback threads run the task; a run of a
/// scheduler is left out instead. A task that has not begun after a second is logged and counted
/// (`Runtime::delays`).
///
/// `stop()` needs the last callbacks to be over. Where the executor has begun none of them for a
/// second, because it is busy or has been stopped, the thread that calls `stop()`, `close()` or the
/// destructor runs them. So an executor that keeps callbacks to one thread must be quicker than
/// that, or `stop()` must be called on that thread.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Runs `task` exactly once, later or at once. Must not drop it. A task does not throw.
  virtual void execute(std::function<void()> task) = 0;

  /// True when the calling thread is one on which this executor runs its tasks. A call that waits
  /// for tasks of this executor then runs them itself instead of waiting for its own thread.
  virtual bool running_in_this_thread() const noexcept = 0;
};

/// Runs each task at once on the thread that hands it over, which may be the one of all timers or
/// one of the store's. Only for tasks that are short and take no lock that the caller may hold: a
/// callback that blocks there holds up every mutex of the runtime.
std::shared_ptr<Executor> make_inline_executor();

}  // namespace simba
