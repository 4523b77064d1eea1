#pragma once

#include "redis/protocol/reply.hpp"
#include "simba/engine/lease_store.hpp"

namespace simba::redis {

/// What a script has answered (see lua/common.lua). An Error (internal) if it is not such an
/// answer. `request` tells how to read the lease of an owner that is not one of ours: it is taken
/// to have the same transition.
engine::LeaseAnswer parse_lease_answer(const Reply& reply, const engine::LeaseRequest& request);

}  // namespace simba::redis
