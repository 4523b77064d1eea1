#pragma once

#include <string>
#include <zookeeper/zookeeper.h>

#include "simba/core/tls_options.hpp"

namespace simba::zookeeper {

/// As `zookeeper_init2`, encrypted. `tls` has passed `check_tls`.
zhandle_t* open_handle_with_tls(const std::string& hosts, const TlsOptions& tls, watcher_fn watcher,
                                int timeout, void* context, int flags, log_callback_fn log);

}  // namespace simba::zookeeper
