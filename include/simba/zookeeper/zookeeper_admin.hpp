#pragma once

#include <memory>

#include "simba/engine/store_admin.hpp"
#include "simba/zookeeper/zookeeper_options.hpp"

namespace simba::zookeeper {

/// What tools do with a ZooKeeper store. Creating it does not connect; the first function that
/// needs to does, and the session ends with this object.
///
/// `left` of an owner is empty: it owns the mutex until its session ends. Free mutexes are listed
/// as long as the servers keep their nodes. `evict` deletes the owner's node, which requires the
/// delete permission on the node of the mutex; with NodeAcl::creator only clients with the same
/// credentials have it.
///
/// `examine` creates a node in the base path and deletes it again. The version comes from the
/// four-letter command "srvr", which servers may have disabled.
///
/// Throws InvalidArgumentError if an option is out of bounds or two contradict each other, and
/// Error of kind `unsupported` if TLS is requested but the ZooKeeper library does not support it.
std::unique_ptr<engine::StoreAdmin> make_zookeeper_admin(const ZooKeeperOptions& options,
                                                         std::shared_ptr<const Runtime> runtime);

}  // namespace simba::zookeeper
