#pragma once

#include "simba/core/executor.hpp"

namespace simba::detail {

/// An internal executor that may be called on any thread, and whose tasks nobody else may run: it
/// runs a task immediately on the thread that submits it, passes it on to another executor, or
/// keeps it until it may run.
class PromptExecutor : public Executor {
 public:
  /// Whether it runs every task inside `execute`.
  virtual bool is_inline() const noexcept { return false; }

  /// Runs on this thread what no other thread has begun yet, if it may run now.
  virtual void run_kept() {}
};

}  // namespace simba::detail
