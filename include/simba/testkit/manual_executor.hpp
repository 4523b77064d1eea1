#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "simba/core/executor.hpp"

namespace simba::testkit {

/// An executor that runs nothing until it is told to.
///
/// Threads: every function may be called concurrently from any thread. A task runs on the
/// thread that calls `run_one` or `run_all`, with no lock held, and may itself run further tasks.
/// Errors: what a task throws is rethrown by the call that ran it; the task is gone then.
/// Lifetime: tasks still queued at destruction are not run.
class ManualExecutor final : public Executor {
 public:
  ManualExecutor() = default;
  ManualExecutor(const ManualExecutor&) = delete;
  ManualExecutor& operator=(const ManualExecutor&) = delete;
  ~ManualExecutor() override;

  void execute(std::function<void()> task) override;

  /// True on the thread that created the executor, so that a call that waits there for a task runs
  /// it.
  bool running_in_this_thread() const noexcept override;

  /// Runs the oldest task and returns whether there was one.
  bool run_one();

  /// Runs tasks, including those added meanwhile, until none is left. Returns how many.
  std::size_t run_all();

  /// Drops all queued tasks without running them. Returns how many.
  std::size_t discard();

  /// How many tasks are queued.
  std::size_t size() const;

 private:
  const std::thread::id maker_ = std::this_thread::get_id();

  mutable std::mutex mutex_;
  std::deque<std::function<void()>> tasks_;  // guarded by mutex_
};

}  // namespace simba::testkit
