#pragma once

#include <chrono>
#include <stop_token>

#include "simba/core/time.hpp"

namespace simba {

/// A lock that is held by at most one instance in all processes.
///
/// Threads: `close()` and the queries may be called from any thread, also while another one waits
/// in an acquire. Not guaranteed: that the lock is still held when the next line runs; see
/// `SimbaLocker`.
class Locker {
 public:
  virtual ~Locker() = default;

  /// Blocks until the lock is held.
  /// Throws IllegalStateError when this instance holds it, or is acquiring it, already; Error when
  /// the store refuses us for good (wrong password, no permission).
  virtual void acquire() = 0;

  /// The same for at most `timeout`. Throws TimeoutError after that. Giving up tells the store, so
  /// where the store is out of reach it takes up to the release wait longer; so it does for the
  /// other forms that can give up.
  virtual void acquire(std::chrono::nanoseconds timeout) = 0;

  /// The same until `stop` is requested. Returns false when that happened first.
  virtual bool acquire(std::stop_token stop) = 0;

  /// Asks once. Returns false when another holds the lock. Throws Error when the store gave no
  /// clear answer.
  virtual bool try_acquire() = 0;

  /// Gives the lock back if it is held. May be called any number of times.
  virtual void close() noexcept = 0;

  /// The token of the last acquisition, also after it was lost; 0 before the first.
  virtual FencingToken fencing_token() const noexcept = 0;

  /// Fires before anyone else can hold the lock. Has fired already when it is not held.
  virtual std::stop_token lost() const = 0;
};

}  // namespace simba
