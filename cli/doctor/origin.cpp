#include "cli/doctor/origin.hpp"

namespace simba::cli {
namespace {

std::string store_origin(const CommonOptions& options, const config::Environment& environment) {
  if (options.backend) return "option --backend";
  const bool named = environment.find("SIMBA_BACKEND").has_value();
  if (options.config) {
    return named
               ? "variable SIMBA_BACKEND, which goes before what file " + *options.config + " says"
               : "file " + *options.config;
  }
  return named ? "variable SIMBA_BACKEND" : "default, since nothing names a store";
}

}  // namespace

Origin origin_of(const CommonOptions& options, const config::Environment& environment) {
  Origin origin{.store = store_origin(options, environment)};
  for (const auto& [name, value] : environment.variables()) {
    if (name.starts_with("SIMBA_") && name != "SIMBA_BACKEND" && !value.empty()) {
      origin.variables.push_back(name);
    }
  }
  return origin;
}

}  // namespace simba::cli
