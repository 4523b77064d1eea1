#pragma once

#include <memory>

#include "simba/engine/store_admin.hpp"
#include "simba/redis/redis_options.hpp"

namespace simba::redis {

/// What tools do with a Redis store. Creating it does not connect; each function connects when it
/// needs to.
///
/// `find`, `evict` and `init` need no permissions beyond those of the store. `list` needs `+scan`.
/// `examine` reports more with `+info`, `+config|get` and `+cluster|info`, and says if it lacks
/// them.
///
/// A free mutex is listed as long as Redis keeps its last token (`token_retention`). It is not
/// known when a contender of the JVM library became the owner: then `acquired_at` is the epoch and
/// the token 0. `left` is empty for a key without an expiry, which Simba never sets.
///
/// Throws InvalidArgumentError if an option is out of bounds or two contradict each other.
std::unique_ptr<engine::StoreAdmin> make_redis_admin(const RedisOptions& options,
                                                     std::shared_ptr<const Runtime> runtime);

}  // namespace simba::redis
