#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

namespace simba::testkit {

/// Lets a test wait, in real time, for a condition on something that other threads change.
///
/// Threads: every function may be called concurrently from any thread.
class ChangeSignal {
 public:
  /// Makes waiters check again. Call it after the change.
  void changed();

  /// Waits up to `limit` until `done()` is true, and returns whether it is. `done` is called on
  /// this thread with no lock held, immediately and after every change.
  bool wait(const std::function<bool()>& done, std::chrono::milliseconds limit) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable condition_;
  std::uint64_t changes_ = 0;  // guarded by mutex_
};

}  // namespace simba::testkit
