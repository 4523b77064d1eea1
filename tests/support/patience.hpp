#pragma once

#include <chrono>
#include <functional>

#include "simba/core/time.hpp"

namespace simba::support {

/// The present moment of CLOCK_BOOTTIME, which services decide by.
LocalTime now();

/// `span` times the variable SIMBA_TEST_SCALE of the environment.
std::chrono::milliseconds scaled(std::chrono::milliseconds span);

/// Waits until `condition` holds, at most `scaled(limit)`, and says whether it does. Looks each
/// millisecond; a pause in which the machine lets us wait for longer counts as no more than that.
bool within(std::chrono::milliseconds limit, const std::function<bool()>& condition);

/// The same with a limit far beyond every bound.
bool eventually(const std::function<bool()>& condition);

}  // namespace simba::support
