#pragma once

#include <cstdint>

#include "unit/rules/outcome.hpp"
#include "unit/zookeeper/rules/mutation.hpp"

namespace simba::zookeeper::rules {

using simba::rules::Outcome;

/// A few processes contend while everything goes wrong, then while nothing does, then stop.
Outcome play(std::uint64_t seed, Mutation mutation);

}  // namespace simba::zookeeper::rules
