#pragma once

#include <memory>

#include "simba/core/clock.hpp"
#include "simba/core/waiter.hpp"

namespace simba::detail {

/// Blocks the calling thread.
std::shared_ptr<Waiter> make_blocking_waiter(std::shared_ptr<const Clock> clock);

}  // namespace simba::detail
