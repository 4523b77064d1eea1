#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

namespace simba::testkit {

/// Lets a test wait, in real time, until something that others change fulfils a condition.
///
/// Threads: every function may be called from any thread at the same time.
class ChangeSignal {
 public:
  /// Whoever waits looks again. Call it after the change.
  void changed();

  /// Waits until `done()` holds, at most `limit`, and says whether it holds. `done` is called on
  /// this thread with no lock held, at once and after every change.
  bool wait(const std::function<bool()>& done, std::chrono::milliseconds limit) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable condition_;
  std::uint64_t changes_ = 0;  // guarded by mutex_
};

}  // namespace simba::testkit
