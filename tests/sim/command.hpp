#pragma once

#include <string>
#include <vector>

namespace simba::sim {

/// The program simba-sim. Returns its exit code: 0 all is well, 1 a rule is broken, 2 usage.
int run(const std::vector<std::string>& words);

}  // namespace simba::sim
