#pragma once

#include <memory>

#include "simba/engine/store_admin.hpp"
#include "simba/redis/redis_options.hpp"

namespace simba::redis {

/// What tools do with a Redis store. Does not connect: each function does so when it needs to.
///
/// `find`, `evict` and `init` take no rights beyond those of the store. `list` takes `+scan`.
/// `examine` tells more with `+info`, `+config|get` and `+cluster|info`, and says where it lacks
/// them.
///
/// Redis keeps a mutex that is free as long as its newest token, for a week. When a contender of
/// the JVM library became the owner is not known: `acquired_at` is the epoch then, and the token 0.
/// `left` is empty for a key without an expiry, which only a foreign hand can have set.
///
/// Throws InvalidArgumentError where an option is out of bounds or two contradict each other.
std::unique_ptr<engine::StoreAdmin> make_redis_admin(const RedisOptions& options,
                                                     std::shared_ptr<const Runtime> runtime);

}  // namespace simba::redis
