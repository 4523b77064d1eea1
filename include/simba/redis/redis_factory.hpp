#pragma once

#include <memory>

#include "simba/core/mutex_service_factory.hpp"
#include "simba/engine/lease_store.hpp"
#include "simba/redis/redis_options.hpp"

namespace simba::redis {

/// A factory whose services contend through Redis. All its mutexes share one thread, one connection
/// for commands and, once someone waits or observes, one for messages; a cluster needs these two
/// for each node that holds one of the mutexes, and sentinels need one more.
///
/// Creating it does not connect. That happens at the first request, so a server that is down is
/// handled like one that goes down later, and is reconnected automatically. Throws
/// InvalidArgumentError if an option is out of bounds or two contradict each other.
std::unique_ptr<MutexServiceFactory> make_redis_factory(RedisOptions options);

/// Only the store, for code that wraps it. Throws as above. It works while someone is attached, as
/// every factory and service is: see `LeaseStore::attach`.
std::shared_ptr<engine::LeaseStore> make_redis_store(const RedisOptions& options,
                                                     std::shared_ptr<const Runtime> runtime);

}  // namespace simba::redis
