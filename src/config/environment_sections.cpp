#include <algorithm>

#include <fmt/format.h>

#include "config/sections.hpp"
#include "config/text.hpp"

namespace simba::config {
namespace {

std::string upper_case(std::string_view text) {
  std::string upper{text};
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (c == '-') c = '_';
  }
  return upper;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// SIMBA_REDIS_SERVICE_HOST, SIMBA_REDIS_PORT=tcp://..., SIMBA_REDIS_PORT_6379_TCP and so on, which
/// a service "simba-redis" gives to all its neighbours.
bool is_of_kubernetes(std::string_view key, std::string_view value) {
  if (key.starts_with("service-host") || key.starts_with("service-port")) return true;
  if (key == "port") return value.find("://") != std::string_view::npos;
  return key.starts_with("port-") && key.size() > 5 && is_digit(key[5]);
}

Section read_section(const std::string& name, const Environment& environment) {
  Section section{.name = name, .origin = "the environment", .place = {}};
  const std::string prefix = fmt::format("SIMBA_{}_", upper_case(name));
  const auto& variables = environment.variables();
  for (auto variable = variables.lower_bound(prefix);
       variable != variables.end() && variable->first.starts_with(prefix); ++variable) {
    std::string key = lower_case(variable->first.substr(prefix.size()));
    std::replace(key.begin(), key.end(), '_', '-');
    if (variable->second.empty() || is_of_kubernetes(key, variable->second)) continue;
    Setting setting{.key = std::move(key),
                    .value = variable->second,
                    .origin = fmt::format("variable {}", variable->first)};
    section.place = fmt::format("{} (variable {})", name, variable->first);
    if (setting.key == "enabled") {
      section.enabled = std::move(setting);
    } else if (setting.key == "url") {
      section.url = std::move(setting);
    } else {
      section.keys.push_back(std::move(setting));
    }
  }
  return section;
}

}  // namespace

Sections read_environment(const Environment& environment) {
  Sections result;
  if (const auto value = environment.find("SIMBA_ENABLED")) {
    result.enabled = Setting{.key = "enabled", .value = *value, .origin = "variable SIMBA_ENABLED"};
  }
  for (const std::string& name : section_names()) {
    Section section = read_section(name, environment);
    if (section.enabled || section.url || !section.keys.empty()) {
      result.sections.push_back(std::move(section));
    }
  }
  return result;
}

}  // namespace simba::config
