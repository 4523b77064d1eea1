#include "simba/core/mutex_owner.hpp"

#include <ostream>
#include <utility>

namespace simba {

const MutexOwner& MutexOwner::none() noexcept {
  // Never destroyed: threads may ask for it while the process ends.
  static const MutexOwner& nobody = *new MutexOwner;  // NOLINT(bugprone-unhandled-exception-at-new)
  return nobody;
}

MutexOwner::MutexOwner(std::string owner_id, StoreLease lease, LocalLease local_lease,
                       FencingToken fencing_token, std::shared_ptr<const Clock> clock)
    : facts_{std::make_shared<const Facts>(Facts{.owner_id = std::move(owner_id),
                                                 .lease = lease,
                                                 .local_lease = local_lease,
                                                 .fencing_token = fencing_token,
                                                 .clock = std::move(clock)})} {}

const MutexOwner::Facts& MutexOwner::of_nobody() noexcept {
  // Never destroyed: see none().
  static const Facts& nobody = *new Facts;  // NOLINT(bugprone-unhandled-exception-at-new)
  return nobody;
}

bool MutexOwner::is_owner(std::string_view contender_id) const noexcept {
  // Nobody is not a contender with an empty id.
  return !owner_id().empty() && owner_id() == contender_id;
}

bool MutexOwner::is_in_ttl() const noexcept {
  const Facts& known = facts();
  return !known.owner_id.empty() && known.clock && known.local_lease.ttl_at > known.clock->now();
}

bool MutexOwner::is_in_ttl(std::string_view contender_id) const noexcept {
  return is_owner(contender_id) && is_in_ttl();
}

bool MutexOwner::is_in_transition() const noexcept {
  const Facts& known = facts();
  return !known.owner_id.empty() && known.clock &&
         known.local_lease.transition_at >= known.clock->now();
}

bool MutexOwner::is_in_transition_of(std::string_view contender_id) const noexcept {
  return is_owner(contender_id) && is_in_transition();
}

bool MutexOwner::has_owner() const noexcept { return is_in_transition(); }

std::string to_string(const MutexOwner& owner) {
  if (owner.owner_id().empty()) return "nobody";
  return owner.owner_id() + " (fencing token " + std::to_string(owner.fencing_token()) + ')';
}

std::ostream& operator<<(std::ostream& out, const MutexOwner& owner) {
  return out << to_string(owner);
}

}  // namespace simba
