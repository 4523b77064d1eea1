#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "simba/core/time.hpp"

namespace simba {

/// How a blocking call waits. The default blocks the thread; a simulation runs virtual time
/// instead.
///
/// Threads: may be called from any thread at the same time.
class Waiter {
 public:
  virtual ~Waiter() = default;

  /// Returns once `ready()` holds or `deadline` has come, and says whether `ready()` holds. `ready`
  /// is called with `lock` held; `changed` is notified when it may have become true.
  virtual bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                          LocalTime deadline, const std::function<bool()>& ready) = 0;
};

}  // namespace simba
