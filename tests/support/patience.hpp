#pragma once

#include <chrono>
#include <functional>

#include "simba/core/time.hpp"

namespace simba::support {

/// The present moment of CLOCK_BOOTTIME, which services decide by.
LocalTime now();

/// A bound or deadline: `span` times the environment variable SIMBA_TEST_SCALE.
std::chrono::milliseconds scaled(std::chrono::milliseconds span);

/// A lease or session: `span` times the environment variable SIMBA_TEST_LEASE_SCALE.
std::chrono::milliseconds scaled_lease(std::chrono::milliseconds span);

/// Waits until `condition` holds, at most `scaled(limit)`, and says whether it does. Looks each
/// millisecond; a pause in which the machine lets us wait for longer counts as no more than that.
bool within(std::chrono::milliseconds limit, const std::function<bool()>& condition);

/// The same with a limit far beyond every bound.
bool eventually(const std::function<bool()>& condition);

}  // namespace simba::support
