#pragma once

#include <memory>

#include "simba/core/mutex_service_factory.hpp"
#include "simba/engine/lease_store.hpp"
#include "simba/zookeeper/zookeeper_options.hpp"

namespace simba::zookeeper {

/// A factory whose services contend through ZooKeeper, as Curator's `LeaderLatch` does. All its
/// mutexes share one session: one connection and the two threads of the ZooKeeper library; a third
/// comes and goes when a session is opened or closed. The session begins at the first request and
/// ends with the factory and its services.
///
/// Throws InvalidArgumentError where an option is out of bounds or two contradict each other, and
/// Error of kind `unsupported` where TLS is asked of a library that has none, `configuration` where
/// that library needs a file that is not given.
std::unique_ptr<MutexServiceFactory> make_zookeeper_factory(ZooKeeperOptions options);

/// The store alone, for those that put something of their own around it. Throws as above. It serves
/// while someone is attached, as every factory and service is: see `LeaseStore::attach`.
///
/// Whoever makes services on it gives them `contention_of(options)`, so that a lease is as long as
/// the session.
std::shared_ptr<engine::LeaseStore> make_zookeeper_store(const ZooKeeperOptions& options,
                                                         std::shared_ptr<const Runtime> runtime);

/// The options of contention with a lease as long as the session time-out that is asked for.
engine::ContentionOptions contention_of(const ZooKeeperOptions& options);

}  // namespace simba::zookeeper
