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
#include "simba/core/names.hpp"
#include "simba/engine/contention_options.hpp"

namespace simba::engine {

/// What a store says of one mutex.
struct LeaseRecord {
  std::string owner_id{};  ///< empty: free
  StoreLease lease{};
  std::chrono::milliseconds ttl_left{0};         ///< on the store's clock when it answered
  std::chrono::milliseconds transition_left{0};  ///< the same, until anyone else may acquire
  FencingToken fencing_token = 0;

  /// The owner has the contender id of whoever asks, but is another: another process, perhaps one
  /// that has crashed. Only in answers to acquire, guard and release, and only where the store is
  /// sure.
  bool namesake = false;

  /// A local moment that surely came before the store decided. A store sets it where the moment
  /// before the request was sent does not serve: in notices, and where no request went out.
  std::optional<LocalTime> counted_from{};
};

/// The answer to a request: a record, or an error when nobody knows.
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

/// Who asks for what. Valid only during the call it is passed to.
struct LeaseRequest {
  std::string mutex;
  std::string contender_id;
  std::chrono::milliseconds ttl{0};
  std::chrono::milliseconds transition{0};

  /// The factory that asks; 0: it does not say. A store that can keep it beside the owner knows by
  /// it who is a namesake.
  std::uint64_t instance = 0;

  /// For an acquisition: the token of the namesake that is to be taken over; 0: of none.
  FencingToken takes_over = 0;
};

/// Something that a store tells unasked.
struct Notice {
  enum class Kind {
    changed,    ///< a hint: the owner may have changed; `record` may say who it is now
    granted,    ///< the store has made the watching contender the owner; `record` is its lease
    suspended,  ///< the store's session is cut off and may end: at risk; `record` may say how long
                ///< what it holds is still sure
    revoked,    ///< the store's session has ended: what it held is lost
  };
  Kind kind = Kind::changed;
  std::optional<LeaseRecord> record{};
};

using NoticeHandler = std::function<void(const Notice&)>;

/// What becomes of a contender's watch when it owns the mutex.
enum class OwnerWatch {
  ended,  ///< there is nothing to tell an owner
  kept,   ///< the store has sessions, and tells owners when theirs is cut off or ends
};

/// A subscription. Destroying it ends it; a notice under way may still come.
class Watch {
 public:
  virtual ~Watch() = default;
};

/// The port of every store that has leases. It decides nothing but who holds a mutex: it knows no
/// callbacks of users, no status and no schedule.
///
/// Each request is answered exactly once, by calling its handler, inside the call or later, on any
/// thread, also when the store is out of reach or is being destroyed. No request blocks.
///
/// Each operation is atomic, and the store's own clock alone decides. It lets nobody else in before
/// a granted lease is over, unless the owner releases or someone forces it.
///
/// Threads: every function may be called from any thread at the same time. Handlers are called with
/// no lock held.
/// Lifetime: the store lives until every holder has let go, which may happen inside a handler.
class LeaseStore {
 public:
  virtual ~LeaseStore() = default;

  virtual NameLimits name_limits() const noexcept = 0;

  virtual OwnerWatch owner_watch() const noexcept { return OwnerWatch::ended; }

  /// What services with this plan can count on at worst, for people. A store that is quicker than
  /// its leases says so, and one that is slower must.
  virtual WorstCases worst_cases(const ContentionPlan& plan) const {
    return engine::worst_cases(plan);
  }

  /// Throws InvalidArgumentError, saying why, where the store cannot keep such a name although it
  /// is within the limits. Called when a service is made; an observer has no contender id.
  virtual void check_names(std::string_view /*mutex*/, std::string_view /*contender_id*/) const {}

  /// Held by each factory on the store and by its services. When the last of them is gone, a store
  /// with threads or connections of its own ends them before it returns, in bounded time; requests
  /// still under way fail, and so do later ones until someone attaches again.
  virtual std::shared_ptr<void> attach() { return nullptr; }

  /// Makes the contender the owner if the mutex is free, its lease is over, or the contender is the
  /// owner already (a reply was lost, or it has been started anew). A grant begins a full lease and
  /// has a fencing token greater than every earlier one of this mutex. Answers with the owner.
  ///
  /// A store that tells namesakes apart grants what a namesake owns only where the request takes
  /// over its very token. So what a process that has crashed had under way takes nothing from the
  /// one that came after it under the same id. It need not grant at all while it knows that the
  /// namesake is alive.
  virtual void acquire(const LeaseRequest& request, AnswerHandler handler) = 0;

  /// Begins the lease anew if the contender is still the owner and its lease is not over; not that
  /// of a namesake. The token stays or grows. Answers with the owner, whoever that is.
  virtual void guard(const LeaseRequest& request, AnswerHandler handler) = 0;

  /// Frees the mutex, or passes it to the next waiter, if the contender owns it under exactly this
  /// token; a release that is late therefore never ends a newer ownership. In any case the
  /// contender waits no longer. Answers with the owner after that; when that is still the
  /// contender, the token was not the right one, and the answer has it.
  virtual void release(const LeaseRequest& request, FencingToken token, AnswerHandler handler) = 0;

  /// Answers with the owner and changes nothing. Uses only `mutex` of the request.
  virtual void retrieve(const LeaseRequest& request, AnswerHandler handler) = 0;

  /// Tells of changes. With a contender id: as a waiter, who may be granted the mutex directly.
  /// With an empty one: as an observer. Once the subscription works it sends a `changed` notice,
  /// unless it is sure that nothing changed since the call. Notices may get lost.
  virtual std::unique_ptr<Watch> watch(const LeaseRequest& request, NoticeHandler handler) = 0;
};

}  // namespace simba::engine
