#pragma once

#include <functional>
#include <memory>

namespace simba {

/// Runs tasks. Users may give their own, to decide on which threads callbacks come.
///
/// Threads: `execute` may be called from any thread. Tasks may run at the same time and in any
/// order; Simba orders the callbacks of one service itself.
/// Lifetime: the last holder may let go of an executor inside one of its own tasks, so a destructor
/// must not join the thread it runs on.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Runs `task` exactly once, later or at once. Must not drop it. A task does not throw.
  virtual void execute(std::function<void()> task) = 0;

  /// True when the calling thread is one on which this executor runs its tasks. A call that waits
  /// for tasks of this executor then runs them itself instead of waiting for its own thread.
  virtual bool running_in_this_thread() const noexcept = 0;
};

/// Runs each task at once on the thread that hands it over. Only for tasks that are short and take
/// no lock that the caller may hold.
std::shared_ptr<Executor> make_inline_executor();

}  // namespace simba
