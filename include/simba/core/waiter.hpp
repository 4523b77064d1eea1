#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "simba/core/time.hpp"

namespace simba {

/// How a blocking call waits. The default blocks the thread; a simulation advances virtual time
/// instead.
///
/// Threads: may be called concurrently from any thread.
class Waiter {
 public:
  virtual ~Waiter() = default;

  /// Returns when `ready()` is true or `deadline` has passed, and returns whether `ready()` is
  /// true. `ready` is called with `lock` held; `changed` is notified when it may have become true.
  virtual bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                          LocalTime deadline, const std::function<bool()>& ready) = 0;
};

}  // namespace simba
