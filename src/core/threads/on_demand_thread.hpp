#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "simba/core/fork_guard.hpp"
#include "simba/core/log.hpp"

namespace simba::detail {

/// Runs jobs that block, in order, on a thread that is there only while there are jobs. (Not
/// BoundedThreads: jobs come while another thread waits for the end of the earlier ones,
/// and those that are given up are carried out nevertheless.)
///
/// Threads: every function may be called from any thread.
/// Lifetime: the destructor does not wait for jobs; they are carried out all the same. In a forked
/// child no function does anything: the jobs are the parent's.
class OnDemandThread {
 public:
  /// `name` names the thread, in at most 15 bytes; `what` begins the log line for a job that
  /// throws.
  OnDemandThread(std::string name, std::string what, std::shared_ptr<Logger> log);
  ~OnDemandThread();
  OnDemandThread(const OnDemandThread&) = delete;
  OnDemandThread& operator=(const OnDemandThread&) = delete;

  /// Throws std::system_error if no thread can be started; then the job waits for the next
  /// call.
  void post(std::function<void()> job);

  /// Waits until all jobs are done and the thread is joined, at most for `limit`. False: one takes
  /// longer. It and those behind it are left to their thread, which nobody waits for any more; new
  /// ones get another. Not to be called in a job.
  bool wait(std::chrono::milliseconds limit);

 private:
  struct Shared;

  const ForkGuard fork_guard_;
  const std::shared_ptr<Shared> shared_;  // with the threads
};

}  // namespace simba::detail
