#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "simba/core/error.hpp"
#include "simba/core/mutex_owner.hpp"
#include "simba/core/mutex_records.hpp"
#include "simba/core/names.hpp"
#include "simba/core/time.hpp"
#include "simba/engine/contention_options.hpp"

namespace simba::engine {

/// The state of one mutex as reported by a store.
struct LeaseRecord {
  std::string owner_id{};  ///< empty: free
  StoreLease lease{};
  std::chrono::milliseconds ttl_left{0};         ///< on the store's clock, when it answered
  std::chrono::milliseconds transition_left{0};  ///< the same, until anyone else may acquire
  FencingToken fencing_token = 0;

  /// The owner has the same contender id as the requester but is not the requester: another
  /// process, perhaps one that has crashed. Set only in answers to acquire, guard and release, and
  /// only if the store is sure.
  bool namesake = false;

  /// A local time that is certainly before the store decided. A store sets it if the time before
  /// the request was sent cannot be used: in notices, and if no request was sent.
  std::optional<LocalTime> counted_from{};

  /// The store's clock when it decided: the one that its leases follow. Owners watch by it whether
  /// that clock keeps to the drift allowance. Empty: leases follow no clock of the store.
  std::optional<StoreTime> store_time{};
};

/// The answer to a request: a record, or an error if the outcome is unknown.
class LeaseAnswer {
 public:
  LeaseAnswer(LeaseRecord record) : value_{std::move(record)} {}  // NOLINT(*-explicit-*)
  LeaseAnswer(Error error) : value_{std::move(error)} {}          // NOLINT(*-explicit-*)

  const LeaseRecord* record() const noexcept { return std::get_if<LeaseRecord>(&value_); }
  const Error* error() const noexcept { return std::get_if<Error>(&value_); }

 private:
  std::variant<LeaseRecord, Error> value_;
};

using AnswerHandler = std::function<void(LeaseAnswer)>;

/// Who requests what. Valid only during the call it is passed to.
struct LeaseRequest {
  std::string mutex;
  std::string contender_id;
  std::chrono::milliseconds ttl{0};
  std::chrono::milliseconds transition{0};

  /// The requesting factory; 0: unknown. A store that keeps it beside the owner can recognize a
  /// namesake by it.
  std::uint64_t instance = 0;

  /// For an acquisition: the token of the namesake to take over; 0: none.
  FencingToken takes_over = 0;

  /// For an acquisition: when the contender began to wait for the ownership that it requests. What
  /// it was granted before that it has lost by its own account. What it was granted later it did
  /// not know of when it sent the request, which crossed the grant. `never`: unknown.
  LocalTime waiting_since = never;
};

/// A notification from a store.
struct Notice {
  enum class Kind {
    changed,    ///< a hint: the owner may have changed; `record` may say who it is now
    granted,    ///< the store made the watching contender the owner; `record` is its lease
    suspended,  ///< the session with the store is disconnected and may end: at risk; `record` may
                ///< say how long its mutexes are still safe
    revoked,    ///< the session with the store has ended: its mutexes are lost
    renewed,    ///< the same owner has begun a new lease, `record`: nobody else needs to ask before
                ///< that is over
  };
  Kind kind = Kind::changed;
  std::optional<LeaseRecord> record{};
};

using NoticeHandler = std::function<void(const Notice&)>;

/// What happens to a contender's watch when it owns the mutex.
enum class OwnerWatch {
  ended,  ///< an owner needs no notifications
  kept,   ///< the store has sessions, and notifies owners when theirs is disconnected or ends; no
          ///< contender can have a ttl of its own
};

/// A subscription, ended by destroying it; a notice in progress may still arrive.
class Watch {
 public:
  virtual ~Watch() = default;
};

/// The interface of stores with leases. It decides only who owns a mutex, and knows nothing of user
/// callbacks, service states or schedules.
///
/// Each request is answered exactly once by calling its handler, inside the call or later, on any
/// thread, even if the store is unreachable or is being destroyed. No request blocks.
///
/// Each operation is atomic, and only the store's own clock counts. Nobody else can acquire before
/// a granted lease has expired, unless the owner releases it or an operator evicts the owner.
///
/// Threads: every function may be called concurrently from any thread. Handlers are called with no
/// lock held. Lifetime: shared; the last reference may be dropped inside a handler.
class LeaseStore {
 public:
  virtual ~LeaseStore() = default;

  virtual NameLimits name_limits() const noexcept = 0;

  virtual OwnerWatch owner_watch() const noexcept { return OwnerWatch::ended; }

  /// The worst cases of services with this plan, for display. A store that is faster than its
  /// leases may say so, and one that is slower must.
  virtual WorstCases worst_cases(const ContentionPlan& plan) const {
    return simba::worst_cases(plan);
  }

  /// Throws InvalidArgumentError, with the reason, if the store does not accept a name that is
  /// within the limits. Called when a service is created; an observer has no contender id.
  virtual void check_names(std::string_view /*mutex*/, std::string_view /*contender_id*/) const {}

  /// Held by each factory on the store and by its services. A store with its own threads or
  /// connections has them only while someone is attached: when the last user is destroyed it ends
  /// them, in bounded time, before that destructor returns. Pending requests fail then, and so do
  /// all others while nobody is attached.
  virtual std::shared_ptr<void> attach() { return nullptr; }

  /// Makes the contender the owner if the mutex is free, its lease has expired, or the contender
  /// already is the owner (a reply was lost, or it was restarted). A grant starts a full lease and
  /// has a fencing token greater than every earlier one of this mutex. Answers with the owner.
  ///
  /// A store that recognizes namesakes grants a mutex owned by a namesake only if the request takes
  /// over exactly its token. So late requests of a crashed process take nothing from its successor
  /// under the same id. It need not grant at all while it knows that the namesake is alive.
  virtual void acquire(const LeaseRequest& request, AnswerHandler handler) = 0;

  /// Restarts the lease if the contender is still the owner and its lease has not expired; never
  /// that of a namesake. The token stays the same or grows. Answers with the owner, whoever that
  /// is; a store with sessions (`OwnerWatch::kept`) may answer "nobody" if it is not the contender.
  virtual void guard(const LeaseRequest& request, AnswerHandler handler) = 0;

  /// Frees the mutex, or passes it to the next waiter, if the contender owns it under exactly this
  /// token; a release that is late therefore never ends a newer ownership. In any case the
  /// contender stops waiting. Answers with the owner after that, like `guard`; if that still is the
  /// contender, the token was wrong, and the answer contains the right one.
  virtual void release(const LeaseRequest& request, FencingToken token, AnswerHandler handler) = 0;

  /// Answers with the owner and changes nothing. Uses only `mutex` of the request.
  virtual void retrieve(const LeaseRequest& request, AnswerHandler handler) = 0;

  /// Subscribes to changes: with a contender id as a waiter, who may be granted the mutex directly,
  /// without one as an observer. Once the subscription is active it sends a `changed` notice,
  /// unless it is certain that nothing has changed since the call. Notices may be lost. Throws
  /// Error if the store knows already that it cannot: a change is then noticed later.
  virtual std::unique_ptr<Watch> watch(const LeaseRequest& request, NoticeHandler handler) = 0;

  /// What the store keeps beside its mutexes, as long as it lives; null: nothing. Requests fail
  /// while nobody is attached.
  virtual MutexRecords* records() noexcept { return nullptr; }
};

}  // namespace simba::engine
