#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>

#include "simba/core/mutex_retriever.hpp"
#include "simba/core/runtime.hpp"
#include "simba/core/short_queue.hpp"
#include "simba/core/small_function.hpp"

namespace simba {

/// Keeps the state of one service and calls its retriever: one serial queue over an executor.
///
/// Threads: every function may be called from any thread. Tasks run one at a time and in order; no
/// lock is held meanwhile. They run on threads of the executor, or on that of a caller of
/// `quiesce`. Only `quiesce` waits.
/// Lifetime: shared by a service and what works for it. An executor does not keep it alive: what it
/// starts after the last owner has gone does nothing. The retriever must live until the last task
/// has run or was discarded.
class OwnerDispatcher : public std::enable_shared_from_this<OwnerDispatcher> {
 public:
  using Task = detail::SmallFunction<void()>;

  /// An empty `executor` means `runtime->callbacks`.
  OwnerDispatcher(MutexRetriever& retriever, std::shared_ptr<Executor> executor,
                  std::shared_ptr<const Runtime> runtime);

  MutexState state() const;

  /// Sets the state to {current owner, `after`} and queues the notification of the retriever.
  void publish(MutexOwner after);

  /// Like `publish`, for an `after` with the same owner id: nobody is notified.
  void refresh(MutexOwner after);

  /// `refresh` if the owner id stays the same, otherwise `publish`.
  void update(MutexOwner after);

  /// Resets the state to `MutexState::none()`; nobody is notified.
  void reset();

  /// Queues `task`. If it throws, the exception is logged.
  void post(Task task);

  /// Like `post`, but in front of everything queued.
  void post_first(Task task);

  /// Submits the queue to the executor. Separate from queueing, so that the caller decides when an
  /// inline executor is entered.
  void deliver();

  /// Drops tasks that are queued and have not started, and all that come until `open()`.
  void discard();

  /// Queues tasks again after `discard()`.
  void open();

  /// Runs nothing until `resume()`, so that no callback runs before a service has started, nor
  /// `on_released` before the loss signal has fired. Each `hold()` needs its own `resume()`.
  void hold();

  /// Ends one `hold()`. Delivers if it was the last one.
  void resume();

  /// Waits until nothing is queued and nothing runs, and returns whether that happened before
  /// `deadline`. Called from inside a task of this queue, or on a thread of the executor, it runs
  /// the queue itself, so it never waits for its own caller. On any other thread it does so if the
  /// executor has not started the queue for 100 ms, or for a second if it is an executor of the
  /// user, and at `deadline` at the latest: its threads may be blocked, or it may have been
  /// stopped. What it runs itself is not cut short at `deadline`.
  bool quiesce(LocalTime deadline);

  /// The number of tasks that are queued and have not started.
  std::size_t backlog() const;

  /// True when called from inside a task of this queue.
  bool running_in_this_thread() const;

  /// True there and on a thread of the executor, where `quiesce` runs the queue itself.
  bool serves_this_thread() const;

 private:
  /// Whose threads run the queue.
  enum class Threads { runtime, given, prompt, caller };

  static Threads threads_of(const Executor& executor, const Runtime& runtime);

  using Entry = std::variant<Task, MutexState>;  ///< a state: the retriever is to be notified

  void set(MutexOwner after);
  void enqueue_state();
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
  MutexOwner before_;
  MutexOwner after_;
  detail::ShortQueue<Entry> queue_;
  bool discarding_ = false;
  int holds_ = 0;
  bool scheduled_ = false;    // the executor has been asked to run the queue
  std::thread::id runner_{};  // who runs a task now
};

}  // namespace simba
