#include "simba/config/environment.hpp"

#include <unistd.h>
#include <utility>

namespace simba::config {

Environment::Environment(Variables variables) : variables_{std::move(variables)} {}

std::optional<std::string> Environment::find(std::string_view name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

Environment process_environment() {
  Environment::Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return Environment{std::move(variables)};
}

Environment empty_environment() { return {}; }

}  // namespace simba::config
