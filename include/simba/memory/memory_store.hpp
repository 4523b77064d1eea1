#pragma once

#include <memory>

#include "simba/core/clock.hpp"
#include "simba/engine/lease_store.hpp"

namespace simba::memory {

class LeaseTable;

/// A store inside this process: for tests, for experiments, and for programs whose contenders are
/// all in one process. Share one object among the factories that contend with each other.
///
/// Leases are real and end by the clock: the owner may renew up to and including `transition_at`,
/// anyone else may acquire only after it. Fencing tokens grow by one with every grant of the store
/// and never repeat, so free mutexes that nobody watches take no memory, but for a few that lend
/// theirs to the next.
///
/// Who comes next:
/// - A release passes the mutex to the waiter that has watched longest (`Notice::granted`).
/// - An `acquire` that comes when the mutex is free or its lease is over wins, even against
/// waiters. Nothing happens when a lease expires: the store has no timers, so whoever asks first
/// after that gets the mutex.
///
/// Notices: every watch begins with one notice, inside the call: `granted`, or `changed` with the
/// present owner. Every new owner or new token, and every release, is sent to everyone who watches
/// the mutex, except to the contender whose own request caused it and gets the answer. Renewals are
/// not notified. All notices have a record and the time it counts from.
///
/// Threads: every function may be called concurrently from any thread. A request is answered
/// inside the call, after the notices that it caused. Notices of one mutex come one at a time and
/// in order, with no lock held; while one thread delivers them, others leave theirs to it. An
/// answer is not ordered against the notices that other requests cause at the same time. Errors:
/// requests fail only if a name is empty (invalid argument). Lifetime: a watch may outlive the
/// store. Handlers must not throw. Not guaranteed: anything between processes; a forked child has
/// its own copy.
class MemoryStore final : public engine::LeaseStore {
 public:
  /// `clock` must be the clock of the runtime whose services use the store.
  /// Throws InvalidArgumentError if it is null.
  explicit MemoryStore(std::shared_ptr<const Clock> clock);
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;
  ~MemoryStore() override;

  NameLimits name_limits() const noexcept override;
  void acquire(const engine::LeaseRequest& request, engine::AnswerHandler handler) override;
  void guard(const engine::LeaseRequest& request, engine::AnswerHandler handler) override;
  void release(const engine::LeaseRequest& request, FencingToken token,
               engine::AnswerHandler handler) override;
  void retrieve(const engine::LeaseRequest& request, engine::AnswerHandler handler) override;
  std::unique_ptr<engine::Watch> watch(const engine::LeaseRequest& request,
                                       engine::NoticeHandler handler) override;
  /// Their time is `Clock::wall_now`. A record that has been written stays as long as the store.
  MutexRecords* records() noexcept override;

 private:
  const std::shared_ptr<LeaseTable> table_;  // shared with the watches
};

}  // namespace simba::memory
