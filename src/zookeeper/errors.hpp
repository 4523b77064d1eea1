#pragma once

#include <string_view>

#include "simba/core/error.hpp"
#include "zookeeper/client/client.hpp"

namespace simba::zookeeper {

/// What to say of a request that did not succeed. `what` names it, e.g. "create the node".
Error error_of(Code code, std::string_view what, std::string_view path);

}  // namespace simba::zookeeper
