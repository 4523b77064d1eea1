#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/connect_gate.hpp"
#include "core/statistics/meters.hpp"
#include "core/threads/thread_group.hpp"
#include "simba/core/error.hpp"
#include "simba/core/fork_guard.hpp"
#include "simba/core/log.hpp"
#include "sql/database.hpp"
#include "sql/sql_plan.hpp"
#include "sql/workers/poll_wait.hpp"
#include "sql/workers/request_queue.hpp"

namespace simba::sql {

/// What a statement has answered: rows, whether one was made, records, or what came of a write.
using StatementAnswer =
    std::variant<std::vector<Row>, bool, std::vector<FoundRecord>, RecordAnswer>;

/// A fixed number of connections, each with a thread, over one queue of requests, from its making
/// to its closing. The threads start with the first request; each connects when it gets work.
///
/// - Requests of one kind that wait at the same moment go out as one statement.
/// - Two requests of one contender for one mutex never overtake each other, nor do two for one
///   record.
/// - Where a statement fails its mutexes go alone until they got through; one that gets stuck alone
///   (its row is locked by a stranger) never takes the last connection. So none holds up the
///   others.
/// - While there is no connection at all, requests fail at once, and one attempt to connect is made
///   now and then.
///
/// Each request is answered exactly once, by its handler, on a thread of the pool, or, once the
/// pool is closed, on the thread that asks or closes. Handlers are called with no lock held and do
/// not throw.
///
/// States of a thread: without a session it waits, or connects with empty hands; with one it waits,
/// or carries out a batch. It takes requests only when it has a session, so that one that another
/// can serve never waits for a connection. Whoever brings or leaves work wakes one that has a
/// session if any waits, else one that has none.
///
/// Threads: every function may be called from any thread at the same time. In a forked child every
/// request fails.
/// Lifetime: whoever makes it closes it; it may be closed on a thread of the pool.
class StatementPool : public std::enable_shared_from_this<StatementPool> {
 public:
  /// `connections`: null, then they are not counted.
  StatementPool(std::shared_ptr<Database> database, const SqlPlan& plan,
                std::shared_ptr<Logger> log,
                std::shared_ptr<detail::ConnectionMeter> connections = nullptr)
      : database_{std::move(database)},
        plan_{plan},
        log_{std::move(log)},
        connections_{std::move(connections)},
        queue_{plan.pool_size} {}

  StatementPool(const StatementPool&) = delete;
  StatementPool& operator=(const StatementPool&) = delete;

  void change(Change change, Ask ask, RowHandler handler);

  /// With a contender: not before what it has asked of this mutex so far is answered.
  void look(std::string mutex, std::string contender_id, RowHandler handler);
  void look(MutexNames mutexes, RowsHandler handler);
  void init(std::string mutex, InitHandler handler);

  void read_record(std::string mutex, RecordHandler handler);
  void write_record(RecordAsk ask, RecordHandler handler);

  /// Answers all that waits and lets later requests fail. Waits for the threads, a second at most.
  /// In a forked child it leaves all to the parent.
  void close();

  Database& database() const noexcept { return *database_; }

 private:
  void submit(Request request);
  void start_threads();
  void wake_one(std::unique_lock<std::mutex>& lock);
  void work();
  void fail_overdue(std::unique_lock<std::mutex>& lock);
  void gather_reads(std::unique_lock<std::mutex>& lock);
  void wait_for_work(std::unique_lock<std::mutex>& lock, bool connected, bool lingers);
  bool has_session(std::unique_lock<std::mutex>& lock, std::unique_ptr<Session>& session);
  void connect(std::unique_lock<std::mutex>& lock, std::unique_ptr<Session>& session);
  void note_attempt(const std::optional<Error>& error);
  void serve(Session& session, const Batch& batch);
  RequestQueue::Outcome outcome_of(const Error& error, std::chrono::nanoseconds took) const;
  void finish(const Batch& batch, RequestQueue::Outcome outcome);
  StatementAnswer carry_out(Session& session, const std::vector<Request>& requests) const;

  // constant after construction
  const std::shared_ptr<Database> database_;
  const SqlPlan plan_;
  const std::shared_ptr<Logger> log_;
  const std::shared_ptr<detail::ConnectionMeter> connections_;
  const ForkGuard fork_guard_;

  Wakeup closing_wakeup_;  // raised once, for good
  std::mutex mutex_;
  std::condition_variable work_;   // for threads that have a session
  std::condition_variable spare_;  // for those that have none

  // guarded by mutex_
  RequestQueue queue_;
  detail::ConnectGate gate_;
  detail::BoundedThreads threads_;
  std::atomic<std::uint64_t> news_{0};  // grows with the lock held when there may be work to take
  std::size_t idle_ = 0;                // threads that wait with a session
  std::size_t idle_spare_ = 0;          // threads that wait without one
  std::size_t connected_ = 0;           // threads that have a session
  std::size_t connecting_ = 0;          // threads that are about to have one
  bool closing_ = false;
};

}  // namespace simba::sql
