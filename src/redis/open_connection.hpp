#pragma once

#include <functional>
#include <memory>

#include "redis/connection.hpp"

namespace simba::redis {

/// Opens a connection: `Connection::open` with a loop, or a test's own.
using OpenConnection = std::function<std::shared_ptr<Connection>(
    Endpoint, std::shared_ptr<const ConnectionSettings>, Connection::Use, Connection::Events)>;

}  // namespace simba::redis
