#pragma once

#include "soak/options.hpp"
#include "soak/outcome.hpp"

namespace simba::soak {

/// Starts the store and the workers, kills, stops and replaces them until the time is over, and
/// looks what is left. SIGINT, SIGTERM and SIGHUP end it early, at any time. Throws
/// std::runtime_error where the store does not start, see support::is_missing_server.
Outcome run(const Options& options);

}  // namespace simba::soak
