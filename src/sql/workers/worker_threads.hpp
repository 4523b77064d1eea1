#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace simba::sql {

/// A few threads that are told to end and then get a bounded time for it: what they wait in may be
/// a name server that does not answer, and no destructor waits for that.
///
/// Threads: calls on one object must not overlap.
class WorkerThreads {
 public:
  WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;
  ~WorkerThreads();

  /// Starts a thread under `name` (at most 15 bytes). `body` holds whatever it needs, so that it
  /// may outlive this object; it does not throw. Throws std::system_error where the system gives no
  /// thread.
  void start(const std::string& name, std::function<void()> body);

  std::size_t size() const noexcept { return threads_.size(); }
  bool contains_this_thread() const noexcept;

  /// Joins all threads if they end in time. Those of one that has not ended, and all where this
  /// is one of them, are let go.
  void join_or_let_go(std::chrono::milliseconds patience);

 private:
  struct Ended;

  const std::shared_ptr<Ended> ended_;
  std::vector<std::thread> threads_;
};

}  // namespace simba::sql
