#pragma once

#include <memory>

#include "simba/core/runtime.hpp"
#include "zookeeper/client/client.hpp"
#include "zookeeper/settings.hpp"

namespace simba::zookeeper {

/// Sessions over the ZooKeeper C library. Each has the two threads of the library. What blocks in
/// there, to look up host names and to end a session, is done by one more thread, which is gone
/// when there is nothing of it to do. `wait_until_closed` waits at most for the connection timeout
/// and five seconds; a look-up that takes longer is left to its thread, with a warning.
///
/// Throws as `check_tls` does. `connect` throws std::system_error if the system gives no thread.
std::shared_ptr<Connector> make_c_connector(const Settings& settings,
                                            std::shared_ptr<const Runtime> runtime);

}  // namespace simba::zookeeper
