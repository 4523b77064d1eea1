#pragma once

#include <string>

#include "simba/core/mutex_owner.hpp"
#include "simba/engine/lease_store.hpp"

namespace simba::engine {

/// An owner as a machine knows it; a service makes a `MutexOwner` of it by adding the clock.
struct OwnerView {
  std::string owner_id;  ///< empty: nobody
  StoreLease lease;
  LocalLease local_lease;
  FencingToken fencing_token = 0;
};

/// How an owner is shown to others. Nothing is decided by it, so no margin is taken off.
OwnerView view_of(const LeaseRecord& record, LocalTime counted_from);

MutexOwner to_owner(OwnerView view, const std::shared_ptr<const Clock>& clock);

}  // namespace simba::engine
