#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "simba/core/fork_guard.hpp"
#include "simba/core/log.hpp"
#include "sql/database.hpp"
#include "sql/sql_plan.hpp"
#include "sql/workers/request_queue.hpp"

namespace simba::sql {

class StatementWorkers;

/// A fixed number of connections, each with a thread, over one queue of requests. The threads start
/// with the first request; each connects when it gets work.
///
/// - Requests of one kind that wait at the same moment go out as one statement.
/// - Two requests of one contender for one mutex never overtake each other.
/// - Where a statement fails its mutexes go alone until they got through; one that gets stuck alone
///   (its row is locked by a stranger) never takes the last connection. So none holds up the
///   others.
/// - While there is no connection at all, requests fail at once, and one attempt to connect is made
///   now and then.
///
/// Each request is answered exactly once, by its handler, on a thread of the pool, or, once the
/// pool is being destroyed, on the thread that does so. Handlers are called with no lock held and
/// do not throw.
///
/// Threads: every function may be called from any thread at the same time. In a forked child every
/// request fails.
/// Lifetime: the destructor closes; it may run on a thread of the pool.
class StatementPool {
 public:
  StatementPool(std::shared_ptr<Database> database, const SqlPlan& plan,
                std::shared_ptr<Logger> log);
  ~StatementPool();
  StatementPool(const StatementPool&) = delete;
  StatementPool& operator=(const StatementPool&) = delete;

  /// Answers all that waits and lets every later request fail, until it is opened again. Waits for
  /// the threads, a second at most.
  void close() { begin_close()(); }

  /// The same in two steps: takes no more requests; what it returns does the rest.
  std::function<void()> begin_close();

  /// Takes requests again; nothing happens while it does.
  void open();

  void change(Change change, Ask ask, RowHandler handler);

  /// With a contender: not before what it has asked of this mutex so far is answered.
  void look(std::string mutex, std::string contender_id, RowHandler handler);
  void look(MutexNames mutexes, RowsHandler handler);
  void init(std::string mutex, InitHandler handler);

  Database& database() noexcept { return *database_; }

 private:
  void submit(Request request);
  std::shared_ptr<StatementWorkers> workers() const;

  // constant after construction
  const std::shared_ptr<Database> database_;
  const SqlPlan plan_;
  const std::shared_ptr<Logger> log_;
  const ForkGuard fork_guard_;

  mutable std::mutex mutex_;
  std::shared_ptr<StatementWorkers>
      workers_;  // guarded by mutex_; shared with its threads; empty: closed
};

}  // namespace simba::sql
