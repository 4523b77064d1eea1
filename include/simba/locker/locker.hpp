#pragma once

#include <chrono>
#include <stop_token>

#include "simba/core/time.hpp"

namespace simba {

/// A lock that at most one instance in all processes holds.
///
/// Threads: `close()` and the queries may be called from any thread, even while another one waits
/// in an acquire. Not guaranteed: that the lock is still held when the next line runs; see
/// `SimbaLocker`.
class Locker {
 public:
  virtual ~Locker() = default;

  /// Blocks until the lock is held.
  /// Throws IllegalStateError if this instance already holds it or is acquiring it, and Error if
  /// the store permanently rejects it (wrong password, missing permission).
  virtual void acquire() = 0;

  /// Waits for at most `timeout`, then throws TimeoutError. Giving up must tell the store, so if
  /// the store is unreachable this takes up to the release wait longer; the same holds for the
  /// other overloads that can give up.
  virtual void acquire(std::chrono::nanoseconds timeout) = 0;

  /// Waits until `stop` is requested. Returns false if that happened first.
  [[nodiscard]] virtual bool try_acquire(std::stop_token stop) = 0;

  /// Tries once. Returns false if someone else holds the lock. Throws Error if the store gave no
  /// definite answer.
  [[nodiscard]] virtual bool try_acquire() = 0;

  /// Releases the lock if it is held. May be called any number of times.
  virtual void close() noexcept = 0;

  /// The token of the last acquisition, even after the lock was lost; 0 before the first.
  [[nodiscard]] virtual FencingToken fencing_token() const noexcept = 0;

  /// Fires before anyone else can hold the lock. Already fired if it is not held.
  [[nodiscard]] virtual std::stop_token lost() const = 0;
};

}  // namespace simba
