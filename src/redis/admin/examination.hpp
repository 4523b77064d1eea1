#pragma once

#include "redis/admin/server_console.hpp"
#include "simba/engine/store_admin.hpp"

namespace simba::redis {

/// As `StoreAdmin::examine`: all masters, and the sentinels.
engine::StoreReport examine_servers(ServerConsole& console);

}  // namespace simba::redis
