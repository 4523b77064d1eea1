#pragma once

#include <memory>

#include "simba/core/fork_guard.hpp"
#include "simba/core/runtime.hpp"
#include "sql/sql_plan.hpp"
#include "sql/watching/watch_hub.hpp"
#include "sql/workers/statement_pool.hpp"

namespace simba::sql {

/// Looks at what is watched when a hint comes, and each poll interval: one statement for all of it,
/// or, where the plan has a pause for each mutex, one part after the other, spread over a round;
/// those that came last come first.
/// One thread, which waits in the product's feed; the statements go through the pool.
///
/// Threads: every function may be called from any thread at the same time.
/// Lifetime: the destructor waits a second at most; it may run on a thread of the pool.
class ChangeWatcher {
 public:
  /// Throws std::system_error where the system gives no thread.
  ChangeWatcher(std::shared_ptr<StatementPool> pool, std::shared_ptr<WatchHub> hub,
                const Runtime& runtime, const SqlPlan& plan);
  ~ChangeWatcher();
  ChangeWatcher(const ChangeWatcher&) = delete;
  ChangeWatcher& operator=(const ChangeWatcher&) = delete;

  /// What is watched has changed.
  void watched_changed();

 private:
  class Loop;

  const ForkGuard fork_guard_;
  const std::shared_ptr<Loop> loop_;  // shared with its thread
};

}  // namespace simba::sql
