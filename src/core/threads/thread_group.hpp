#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace simba::detail {

/// The threads of one runtime. They never wait for each other's work: two of them could be the last
/// to hold a part of the runtime at the same time, each waiting for the other to end.
class ThreadGroup {
 public:
  ThreadGroup() = default;
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  /// Starts a thread of this group under `name` (at most 15 bytes). `body` holds the group, and
  /// whatever else it needs, so that the thread may outlive its owner; it does not throw.
  std::thread start(std::string name, std::function<void()> body) const;

  /// Joins `thread`, which has been told to end; called on a thread of the group it lets it go.
  void join_or_detach(std::thread& thread) const;

 private:
  bool contains_this_thread() const noexcept;
};

/// Threads of one owner that are told to end and then get a bounded time for it: what they wait in
/// may be a name server that does not answer or a logger that is stuck, and no destructor waits for
/// that. (A ThreadGroup's threads carry out what is queued, however long it takes.)
///
/// Threads: calls on one object must not overlap.
/// Lifetime: the destructor lets go of those that have not ended. Not to be destroyed in a forked
/// child, where the threads are the parent's: its owner leaks it there.
class BoundedThreads {
 public:
  BoundedThreads();
  BoundedThreads(const BoundedThreads&) = delete;
  BoundedThreads& operator=(const BoundedThreads&) = delete;
  ~BoundedThreads() { join_or_let_go(std::chrono::milliseconds::zero()); }

  /// Starts a thread under `name` (at most 15 bytes). `body` holds whatever it needs, so that it
  /// may outlive this object; it does not throw. Throws std::system_error where the system gives no
  /// thread.
  void start(const std::string& name, std::function<void()> body);

  std::size_t size() const noexcept { return threads_.size(); }
  bool contains_this_thread() const noexcept;

  /// Joins all threads if they end in time. If one has not ended, or this is one of them, all are
  /// let go. Says whether they were joined.
  bool join_or_let_go(std::chrono::nanoseconds patience);

 private:
  struct Ended;

  const std::shared_ptr<Ended> ended_;
  std::vector<std::thread> threads_;
  std::size_t started_ = 0;
};

}  // namespace simba::detail
