#pragma once

#include <memory>

#include "simba/engine/store_admin.hpp"
#include "simba/zookeeper/zookeeper_options.hpp"

namespace simba::zookeeper {

/// What tools do with a ZooKeeper store. Does not connect: the first function that needs to does
/// so, and the session ends with this object.
///
/// `left` of an owner is empty: it owns the mutex until its session ends. Free mutexes are listed
/// as long as the servers keep their nodes. `evict` removes the owner's node, which takes the right
/// to delete below the node of the mutex; where nodes are made with NodeAcl::creator only those
/// with the same credentials have it.
///
/// `examine` creates a node in the base path and removes it again. The version comes from the word
/// "srvr", which servers may not answer.
///
/// Throws InvalidArgumentError where an option is out of bounds or two contradict each other, and
/// Error of kind `unsupported` where TLS is asked of a library that has none.
std::unique_ptr<engine::StoreAdmin> make_zookeeper_admin(const ZooKeeperOptions& options,
                                                         std::shared_ptr<const Runtime> runtime);

}  // namespace simba::zookeeper
