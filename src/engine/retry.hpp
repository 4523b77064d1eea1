#pragma once

#include <chrono>
#include <string_view>

#include "simba/core/error.hpp"
#include "simba/core/random.hpp"
#include "simba/engine/contention_options.hpp"

namespace simba::engine {

/// The pause after `failures` failures in a row: doubles from `retry_min` to `retry_max`, jittered
/// down to its half.
std::chrono::nanoseconds retry_pause(int failures, const ContentionPlan& plan, Random& random);

/// The error of a request that was not answered within the request timeout.
Error no_answer(std::string_view request, const ContentionPlan& plan);

}  // namespace simba::engine
