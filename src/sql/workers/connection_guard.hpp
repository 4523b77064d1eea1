#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "core/threads/thread_group.hpp"
#include "simba/core/time.hpp"
#include "sql/workers/poll_wait.hpp"

namespace simba::sql {

/// How many bytes have come so far. None by a Unix socket: who may answer there is trusted.
std::uint64_t received(int descriptor) noexcept;

/// Cuts a connection while this thread is inside of a client library that blocks, or that reads on
/// for as long as there is something to read. It has a thread of its own: not for every statement.
///
/// The constructors throw Error `unavailable` where the system gives no descriptor or thread.
class ConnectionGuard {
 public:
  /// At the deadline, or when woken.
  ConnectionGuard(int descriptor, LocalTime deadline, const Wakeup& closing);

  /// Soon after it has received more than `most` bytes in all.
  ConnectionGuard(int descriptor, std::uint64_t most);

  ~ConnectionGuard();
  ConnectionGuard(const ConnectionGuard&) = delete;
  ConnectionGuard& operator=(const ConnectionGuard&) = delete;

  /// Whether it has cut the connection because of its amount.
  bool exceeded() const noexcept { return exceeded_; }

 private:
  void start(std::function<void()> watch);
  void watch_amount(std::uint64_t most) noexcept;
  void cut() const noexcept;

  const int descriptor_;  // our own: the library may close its, and another file get that number
  const Wakeup over_{};
  std::atomic<bool> exceeded_{false};
  const detail::ThreadGroup group_{};
  std::thread thread_{};
};

}  // namespace simba::sql
