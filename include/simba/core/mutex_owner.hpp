#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>

#include "simba/core/clock.hpp"
#include "simba/core/time.hpp"

namespace simba {

/// A lease as the store counts it.
struct StoreLease {
  StoreTime acquired_at{};
  StoreTime ttl_at{};
  StoreTime transition_at{};

  friend bool operator==(const StoreLease&, const StoreLease&) = default;
};

/// The same lease on the local clock. It is counted from before the request was sent. For the
/// contender that holds it, `transition_at` is already shortened by the safety margin and the
/// clock-drift allowance: until then, and no longer, it may assume that it owns the mutex.
struct LocalLease {
  LocalTime acquired_at{};
  LocalTime ttl_at{};
  LocalTime transition_at{};

  friend bool operator==(const LocalLease&, const LocalLease&) = default;
};

/// Who holds a mutex, since when, and until when. An immutable value.
///
/// Threads: a const object may be read from any thread.
/// Not guaranteed: that the owner still owns it when you read this. Only the owner's own service
/// can tell, and only until its local deadline.
class MutexOwner {
 public:
  /// Nobody.
  [[nodiscard]] static const MutexOwner& none() noexcept;

  MutexOwner() = default;
  MutexOwner(std::string owner_id, StoreLease lease, LocalLease local_lease,
             FencingToken fencing_token, std::shared_ptr<const Clock> clock);

  /// The contender id of the holder; empty for nobody.
  [[nodiscard]] const std::string& owner_id() const noexcept { return facts().owner_id; }

  [[nodiscard]] StoreTime acquired_at() const noexcept { return facts().lease.acquired_at; }
  [[nodiscard]] StoreTime ttl_at() const noexcept { return facts().lease.ttl_at; }
  [[nodiscard]] StoreTime transition_at() const noexcept { return facts().lease.transition_at; }
  [[nodiscard]] FencingToken fencing_token() const noexcept { return facts().fencing_token; }
  [[nodiscard]] const LocalLease& local_lease() const noexcept { return facts().local_lease; }

  [[nodiscard]] bool is_owner(std::string_view contender_id) const noexcept;

  /// `ttl_at > now`, on the local clock.
  [[nodiscard]] bool is_in_ttl() const noexcept;
  [[nodiscard]] bool is_in_ttl(std::string_view contender_id) const noexcept;

  /// `transition_at >= now`, on the local clock: nobody else may acquire yet.
  [[nodiscard]] bool is_in_transition() const noexcept;
  [[nodiscard]] bool is_in_transition_of(std::string_view contender_id) const noexcept;

  /// The same as `is_in_transition()`: a passed ttl alone does not make a mutex free.
  [[nodiscard]] bool has_owner() const noexcept;

  /// The same holder with the same token and the same lease on the store's clock.
  friend bool operator==(const MutexOwner& one, const MutexOwner& other) noexcept {
    return one.owner_id() == other.owner_id() && one.fencing_token() == other.fencing_token() &&
           one.facts().lease == other.facts().lease;
  }

 private:
  struct Facts {
    std::string owner_id;
    StoreLease lease;
    LocalLease local_lease;
    FencingToken fencing_token = 0;
    std::shared_ptr<const Clock> clock;
  };

  static const Facts& of_nobody() noexcept;
  const Facts& facts() const noexcept { return facts_ ? *facts_ : of_nobody(); }

  std::shared_ptr<const Facts> facts_;  // shared by all copies; empty for nobody
};

/// E.g. "10.0.0.7:8080#simba-4a1f... (fencing token 7)", or "nobody".
std::string to_string(const MutexOwner& owner);
std::ostream& operator<<(std::ostream& out, const MutexOwner& owner);

}  // namespace simba
