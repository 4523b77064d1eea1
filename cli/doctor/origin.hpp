#pragma once

#include <string>
#include <vector>

#include "cli/common_options.hpp"

namespace simba::cli {

/// Where `CommonOptions::load` takes the configuration from, in words and without values.
struct Origin {
  std::string store{};                   ///< what names the store, e.g. "--backend"
  std::vector<std::string> variables{};  ///< of the environment, that may change settings
};

Origin origin_of(const CommonOptions& options, const config::Environment& environment);

}  // namespace simba::cli
