#pragma once

#include <memory>

#include "simba/core/runtime.hpp"
#include "simba/core/tls_options.hpp"
#include "zookeeper/client/client.hpp"
#include "zookeeper/settings.hpp"

namespace simba::zookeeper {

/// Throws Error if the ZooKeeper library that this was built with cannot do what is asked: of
/// kind `unsupported`, or of kind `configuration` where a file is missing that it needs.
void check_tls(const TlsOptions& tls);

/// Sessions over the ZooKeeper C library. Each has the two threads of the library. What blocks in
/// there, to look up host names and to end a session, is done by one more thread, which is gone
/// when there is nothing of it to do. `wait_until_closed` waits at most for the connection timeout
/// and five seconds; a look-up that takes longer is left to its thread, with a warning.
///
/// `connect` throws std::system_error if the system gives no thread.
std::shared_ptr<Connector> make_c_connector(const Settings& settings,
                                            std::shared_ptr<const Runtime> runtime);

}  // namespace simba::zookeeper
