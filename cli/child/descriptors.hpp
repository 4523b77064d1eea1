#pragma once

#include <vector>

namespace simba::cli {

/// Those of this process that are open, in order. Where /proc is missing, those below 1024.
std::vector<int> open_descriptors();

}  // namespace simba::cli
