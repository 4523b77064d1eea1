#pragma once

#include <cstdint>

#include "unit/redis/rules/mutation.hpp"
#include "unit/rules/outcome.hpp"

namespace simba::redis::rules {

using simba::rules::Outcome;

/// A few processes contend while everything goes wrong, then while nothing does, then stop.
Outcome play(std::uint64_t seed, Mutation mutation);

}  // namespace simba::redis::rules
