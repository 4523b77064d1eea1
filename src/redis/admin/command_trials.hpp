#pragma once

#include <vector>

#include "redis/admin/server_console.hpp"
#include "simba/engine/store_admin.hpp"

namespace simba::redis {

/// Tries each command that the store needs, in a form that changes nothing, and tells which of them
/// the user may not use, or what else the server refuses for now.
std::vector<engine::Finding> try_commands(ServerConsole& console, const Endpoint& server);

}  // namespace simba::redis
