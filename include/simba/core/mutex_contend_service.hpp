#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "simba/core/mutex_contender.hpp"
#include "simba/core/mutex_retrieval_service.hpp"

namespace simba {

/// Contends for one mutex on behalf of one contender.
///
/// Not guaranteed: that the mutex is still owned when the next line runs. A process can be paused
/// at any point; what protects a resource from that is the fencing token.
class MutexContendService : public virtual MutexRetrievalService {
 public:
  [[nodiscard]] virtual MutexContender& contender() const noexcept = 0;

  /// True while the contender owns the mutex according to its local deadline. Reads the clock: a
  /// process that was paused past its lease gets `false` as soon as it resumes, before it has
  /// contacted the store. False as soon as `stop()` begins, and in a forked child.
  [[nodiscard]] virtual bool is_owner() const noexcept = 0;

  /// `is_owner()`, and the ttl has not passed.
  [[nodiscard]] virtual bool is_in_ttl() const noexcept = 0;

  /// Until when nobody else can own the mutex, as far as this process knows: the local end of the
  /// lease. Moves forward with each renewal, including those while `on_released` runs within
  /// `stop()`, when `is_owner()` is already false. `LocalTime::min()` if nothing is held: before
  /// the first acquisition, after a loss, once the mutex is being released, and in a forked child.
  [[nodiscard]] virtual LocalTime lease_until() const noexcept = 0;

  /// The time left until `lease_until()`; zero if nothing is held.
  [[nodiscard]] virtual std::chrono::nanoseconds lease_left() const noexcept = 0;

  /// For an `on_released` that failed to clean up what the mutex protects: the `stop()` in progress
  /// does not release the mutex. The lease is no longer renewed and expires, so nobody else owns
  /// the mutex before `lease_until()`. Has no effect if no `stop()` is in progress or the lease has
  /// expired. Not guaranteed if the process, or the last factory and service of the store, ends
  /// first: a store that detects this (SQLite, ZooKeeper) then lets others acquire.
  virtual void let_lease_run_out() = 0;

  /// Fires when the current ownership ends: on a loss, before anyone else can own the mutex, and in
  /// `stop()`, before the store is told of the release. Already fired if the mutex is not owned.
  /// Stop callbacks registered on the token run on a thread of the runtime, or on the thread that
  /// calls `stop()`. A slow one does not delay other mutexes. Those on the same token run one after
  /// another in no particular order, and after a loss `on_released` waits until all have returned,
  /// unless `stop()` is called in the meantime. `stop_requested()` is true before the first one
  /// runs.
  [[nodiscard]] virtual std::stop_token lost() const = 0;

  /// The token of the current or, after it has ended, of the last ownership; 0 before the first.
  [[nodiscard]] virtual FencingToken fencing_token() const noexcept = 0;

  [[nodiscard]] const std::string& contender_id() const noexcept {
    return contender().contender_id();
  }
};

}  // namespace simba
