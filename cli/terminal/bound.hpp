#pragma once

#include <chrono>
#include <string>

namespace simba::cli {

/// "at most 19.4 s": for people, never less than it is.
std::string at_most(std::chrono::nanoseconds span);

}  // namespace simba::cli
