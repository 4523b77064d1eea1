#pragma once

#include <string>

#include "simba/config/configuration.hpp"
#include "soak/options.hpp"

namespace simba::soak {

/// The store as all processes use it.
config::Configuration configuration_of(const std::string& url, const Options& options);

/// The variable of the environment that names the store to workers.
inline constexpr const char* url_variable = "SIMBA_SOAK_URL";

/// Contends for its share of the mutexes until TERM comes: owns each for a while, gives it up and
/// comes again. Returns the exit code.
int be_worker(const Options& options);

}  // namespace simba::soak
