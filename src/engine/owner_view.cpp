#include "simba/engine/owner_view.hpp"

#include <utility>

namespace simba::engine {

OwnerView view_of(const LeaseRecord& record, LocalTime counted_from) {
  return OwnerView{
      .owner_id = record.owner_id,
      .lease = record.lease,
      .local_lease = LocalLease{.acquired_at = counted_from,
                                .ttl_at = counted_from + record.ttl_left,
                                .transition_at = counted_from + record.transition_left},
      .fencing_token = record.fencing_token,
  };
}

MutexOwner to_owner(OwnerView view, const std::shared_ptr<const Clock>& clock) {
  if (view.owner_id.empty()) return MutexOwner::none();
  return MutexOwner{std::move(view.owner_id), view.lease, view.local_lease, view.fencing_token,
                    clock};
}

}  // namespace simba::engine
