#pragma once

#include "redis/protocol/reply.hpp"
#include "simba/engine/lease_store.hpp"

namespace simba::redis {

/// What a script has answered (see lua/common.lua). An Error (internal) if it is not such an
/// answer. `request` tells how to read the lease of an owner that is not one of ours: it is taken
/// to have the same ttl and transition, where the request has any.
///
/// No more than a whole lease is ever left. A server says otherwise when its clock was set back;
/// who waits must look again then, since the owner may have renewed meanwhile.
engine::LeaseAnswer parse_lease_answer(const Reply& reply, const engine::LeaseRequest& request);

}  // namespace simba::redis
