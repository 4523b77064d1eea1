#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "simba/core/mutex_retriever.hpp"
#include "simba/core/runtime.hpp"

namespace simba {

/// Keeps the state of one service and calls its retriever: one serial queue over an executor.
///
/// Threads: every function may be called from any thread. Tasks run one at a time and in order; no
/// lock is held meanwhile. They run on threads of the executor, or on that of a caller of
/// `quiesce`. Only `quiesce` waits.
/// Lifetime: shared between a service and its tasks under way. The retriever must live until the
/// last task has run or was discarded.
class OwnerDispatcher : public std::enable_shared_from_this<OwnerDispatcher> {
 public:
  using Task = std::function<void()>;

  /// An empty `executor` means `runtime->callbacks`.
  OwnerDispatcher(MutexRetriever& retriever, std::shared_ptr<Executor> executor,
                  std::shared_ptr<const Runtime> runtime);

  MutexState state() const;

  /// The state becomes {present owner, `after`}; telling the retriever is queued.
  void publish(MutexOwner after);

  /// As `publish`, for an `after` with the same owner id: nobody is told.
  void refresh(MutexOwner after);

  /// Back to `MutexState::none()`; nobody is told.
  void reset();

  /// Queues `task`. An exception from it is logged.
  void post(Task task);

  /// The same, before everything that is queued.
  void post_first(Task task);

  /// Lets the executor run what is queued. Apart from queueing, so that an executor that runs tasks
  /// at once is entered only where the caller chooses.
  void deliver();

  /// Drops what is queued and has not begun.
  void discard();

  /// Runs nothing until `resume()`, so that no callback comes before a service has started, nor
  /// `on_released` before the loss signal has fired. Each `hold()` has a `resume()` of its own.
  void hold();

  /// Ends one `hold()`. Delivers when no other is left.
  void resume();

  /// Waits until nothing is queued and nothing runs, and says whether that was reached before
  /// `deadline`. Called from inside a task of this queue, or on a thread of the executor, it runs
  /// what is queued itself, so it never waits for the caller. It does so on any other thread, too,
  /// when the executor has not begun what is queued for 100 ms, or, where the executor was given by
  /// the user, for a second: its threads may be blocked, or it may have been stopped.
  bool quiesce(LocalTime deadline);

  /// How many tasks are queued and have not begun.
  std::size_t backlog() const;

  /// True when called from inside a task of this queue.
  bool running_in_this_thread() const;

  /// The same, or on a thread of the executor: `quiesce` runs what is queued itself there.
  bool serves_this_thread() const;

 private:
  /// Whose threads run the queue.
  enum class Threads { runtime, given, caller };

  void hand_over();
  void give_up_run();
  void run_queue();
  void run_one(std::unique_lock<std::mutex>& lock);
  bool take_over(std::unique_lock<std::mutex>& lock);
  std::chrono::nanoseconds patience() const noexcept;
  std::unique_ptr<DelayMonitor::Line> make_line() const;

  // constant after construction
  MutexRetriever& retriever_;
  const std::shared_ptr<Executor> executor_;
  const std::shared_ptr<const Runtime> runtime_;
  const Threads threads_;
  const std::string mutex_name_;
  const std::unique_ptr<DelayMonitor::Line> line_;  // null: nobody notices what waits

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  // guarded by mutex_
  MutexState state_;
  std::list<Task> queue_;
  int holds_ = 0;
  bool scheduled_ = false;    // the executor has been asked to run the queue
  std::thread::id runner_{};  // who runs a task now
};

}  // namespace simba
