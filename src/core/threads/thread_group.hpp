#pragma once

#include <functional>
#include <string>
#include <thread>

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

}  // namespace simba::detail
