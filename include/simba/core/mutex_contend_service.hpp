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
  virtual MutexContender& contender() const noexcept = 0;

  /// True while the contender holds the mutex by its local deadline. Reads the clock: a process
  /// that was paused past its lease gets `false` as soon as it wakes, before it has talked to the
  /// store. False from the moment `stop()` begins, and in a forked child.
  virtual bool is_owner() const noexcept = 0;

  /// `is_owner()`, and the ttl has not passed.
  virtual bool is_in_ttl() const noexcept = 0;

  /// Until when nobody else can own the mutex, as far as this process knows: the local end of the
  /// lease. It is later after each renewal, also while `on_released` runs within `stop()`, when
  /// `is_owner()` is false already. `LocalTime::min()` where nothing is held: before the first
  /// acquisition, from a loss on, once the mutex is being given back, and in a forked child.
  virtual LocalTime lease_until() const noexcept = 0;

  /// How long that still is; zero where nothing is held.
  virtual std::chrono::nanoseconds lease_left() const noexcept = 0;

  /// For an `on_released` that could not put in order what the mutex protects: the `stop()` under
  /// way does not give the mutex back. The lease is no longer renewed and runs out by itself, so
  /// nobody else owns the mutex before `lease_until()`. Does nothing where no `stop()` is under
  /// way, or where the lease is over.
  /// Not guaranteed where the process, or the last factory and service of the store, ends first: a
  /// store that notices that (SQLite, ZooKeeper) lets others in then.
  virtual void let_lease_run_out() = 0;

  /// Fires when the present ownership ends: at a loss, before anyone else can own the mutex, and at
  /// `stop()`, before the store hears of the release. Has fired already when there is none.
  /// Callbacks registered on the token run on a thread of the runtime, or on that of the caller of
  /// `stop()`. One that is slow delays no other mutex. Those on the same token run one after
  /// another in no particular order, and after a loss `on_released` waits until all have returned,
  /// unless `stop()` is called meanwhile. `stop_requested()` is true before the first one runs.
  virtual std::stop_token lost() const = 0;

  /// The token of the present ownership; of the last one when it is over; 0 before the first.
  virtual FencingToken fencing_token() const noexcept = 0;

  const std::string& contender_id() const noexcept { return contender().contender_id(); }
};

}  // namespace simba
