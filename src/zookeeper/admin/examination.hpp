#pragma once

#include <string_view>

#include "simba/core/random.hpp"
#include "simba/engine/store_admin.hpp"
#include "zookeeper/admin/client_console.hpp"
#include "zookeeper/settings.hpp"

namespace simba::zookeeper {

/// What the names of nodes begin with that are created to see whether that is allowed.
inline constexpr std::string_view probe_prefix = "simba-doctor-";

/// As `StoreAdmin::examine`.
engine::StoreReport examine_servers(ClientConsole& console, const Settings& settings,
                                    Random& random);

}  // namespace simba::zookeeper
