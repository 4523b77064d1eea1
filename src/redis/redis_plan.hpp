#pragma once

#include <memory>

#include "redis/connection.hpp"
#include "simba/redis/redis_options.hpp"

namespace simba::redis {

/// Checks the options and makes of them how to connect. Throws InvalidArgumentError naming the
/// value and what is allowed.
std::shared_ptr<const ConnectionSettings> checked_settings(const RedisOptions& options);

}  // namespace simba::redis
