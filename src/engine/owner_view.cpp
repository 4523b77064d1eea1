#include "engine/owner_view.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace simba::engine {

namespace {

// A store may say anything; what it says is shown and waited for, so it must not overflow.
std::chrono::milliseconds sane(std::chrono::milliseconds left) {
  return std::clamp<std::chrono::milliseconds>(left, std::chrono::milliseconds{0},
                                               std::chrono::hours{24 * 366});
}

}  // namespace

OwnerView view_of(const LeaseRecord& record, LocalTime counted_from) {
  return OwnerView{
      .owner_id = record.owner_id,
      .lease = record.lease,
      .local_lease = LocalLease{.acquired_at = counted_from,
                                .ttl_at = counted_from + sane(record.ttl_left),
                                .transition_at = counted_from + sane(record.transition_left)},
      .fencing_token = record.fencing_token,
  };
}

MutexOwner to_owner(OwnerView view, const std::shared_ptr<const Clock>& clock) {
  if (view.owner_id.empty()) return MutexOwner::none();
  return MutexOwner{std::move(view.owner_id), view.lease, view.local_lease, view.fencing_token,
                    clock};
}

}  // namespace simba::engine
