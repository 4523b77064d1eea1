#pragma once

#include <memory>

#include "simba/core/mutex_service_factory.hpp"
#include "simba/engine/lease_store.hpp"
#include "simba/zookeeper/zookeeper_options.hpp"

namespace simba::zookeeper {

/// A factory whose services contend through ZooKeeper, as Curator's `LeaderLatch` does. All its
/// mutexes share one session: one connection and the two threads of the ZooKeeper library; a third
/// runs temporarily while a session is opened or closed. The session starts at the first request
/// and ends with the factory and its services.
///
/// Throws InvalidArgumentError if an option is out of bounds or two contradict each other, Error of
/// kind `unsupported` if TLS is requested but the ZooKeeper library does not support it, and of
/// kind `configuration` if a file that it needs is not set.
std::unique_ptr<MutexServiceFactory> make_zookeeper_factory(ZooKeeperOptions options);

/// Only the store, for code that wraps it. Throws as above. It works while someone is attached, as
/// every factory and service is: see `LeaseStore::attach`.
///
/// Services on it must use `contention_of(options)`, so that a lease is as long as the session.
std::shared_ptr<engine::LeaseStore> make_zookeeper_store(const ZooKeeperOptions& options,
                                                         std::shared_ptr<const Runtime> runtime);

/// The contention options with a lease as long as the requested session timeout.
ContentionOptions contention_of(const ZooKeeperOptions& options);

}  // namespace simba::zookeeper
