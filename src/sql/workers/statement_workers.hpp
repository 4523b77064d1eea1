#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/connect_gate.hpp"
#include "simba/core/error.hpp"
#include "simba/core/log.hpp"
#include "sql/database.hpp"
#include "sql/sql_plan.hpp"
#include "sql/workers/request_queue.hpp"
#include "sql/workers/wakeup.hpp"
#include "sql/workers/worker_threads.hpp"

namespace simba::sql {

/// What a statement has answered: rows, or whether one was made.
using StatementAnswer = std::variant<std::vector<Row>, bool>;

/// The threads of a `StatementPool` from its opening to its closing, and what they share. See there
/// for what they promise.
///
/// States of a thread: without a session it waits, or connects with empty hands; with one it waits,
/// or carries out a batch. It takes requests only when it has a session, so that one that another
/// can serve never waits for a connection. Whoever brings or leaves work wakes one that has a
/// session if any waits, else one that has none.
class StatementWorkers : public std::enable_shared_from_this<StatementWorkers> {
 public:
  StatementWorkers(std::shared_ptr<Database> database, const SqlPlan& plan,
                   std::shared_ptr<Logger> log)
      : database_{std::move(database)}, plan_{plan}, log_{std::move(log)}, queue_{plan.pool_size} {}

  StatementWorkers(const StatementWorkers&) = delete;
  StatementWorkers& operator=(const StatementWorkers&) = delete;

  void submit(Request request);

  /// Answers all that waits and lets later requests fail. Waits for the threads, a second at most.
  void close();

 private:
  void start_threads();
  void wake_one(std::unique_lock<std::mutex>& lock);
  void work();
  void fail_overdue(std::unique_lock<std::mutex>& lock);
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

  Wakeup closing_wakeup_;  // raised once, for good
  std::mutex mutex_;
  std::condition_variable work_;   // for threads that have a session
  std::condition_variable spare_;  // for those that have none

  // guarded by mutex_
  RequestQueue queue_;
  detail::ConnectGate gate_;
  WorkerThreads threads_;
  std::atomic<std::uint64_t> news_{0};  // grows with the lock held when there may be work to take
  std::size_t idle_ = 0;                // threads that wait with a session
  std::size_t idle_spare_ = 0;          // threads that wait without one
  std::size_t connected_ = 0;           // threads that have a session
  std::size_t connecting_ = 0;          // threads that are about to have one
  bool closing_ = false;
};

/// Answers a request with an error.
void fail(const Request& request, const Error& error);

}  // namespace simba::sql
