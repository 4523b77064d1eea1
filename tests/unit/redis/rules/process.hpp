#pragma once

#include <string>

#include "redis/waiting/subscriptions.hpp"
#include "unit/redis/rules/mutation.hpp"
#include "unit/redis/rules/network.hpp"
#include "unit/rules/process.hpp"

namespace simba::redis::rules {

using simba::rules::Process;

/// One process: everything of the Redis store above the connections, and a few contenders.
class RedisProcess final : public Process {
 public:
  RedisProcess(World& world, Network& network, std::string name, int drift_ppm,
               Subscriptions::Grants grants, Mutation mutation);
};

}  // namespace simba::redis::rules
