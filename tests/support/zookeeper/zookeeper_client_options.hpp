#pragma once

#include "simba/zookeeper/zookeeper_options.hpp"
#include "support/location.hpp"
#include "support/zookeeper/zookeeper_servers.hpp"

namespace simba::support {

/// The options of a client of ZooKeeper test servers, as their location tells: one server or an
/// ensemble.
inline zookeeper::ZooKeeperOptions zookeeper_options(const Location& location,
                                                     const ContentionOptions& contention = {}) {
  zookeeper::ZooKeeperOptions options;
  options.connect_string = connect_string(location);
  options.contention = contention;
  options.tick_time = zookeeper_tick;
  return options;
}

}  // namespace simba::support
