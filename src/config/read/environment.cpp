#include "simba/config/environment.hpp"

#include <algorithm>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "config/messages.hpp"
#include "config/read/sections.hpp"
#include "core/text.hpp"

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

bool begins_number(char c) { return c >= '0' && c <= '9'; }

/// How messages name a variable; its name may have any bytes.
std::string variable_origin(std::string_view name) {
  std::string safe{name};
  std::replace_if(
      safe.begin(), safe.end(), [](char c) { return c < '!' || c > '~'; }, '?');
  return fmt::format("variable {}", safe);
}

/// SIMBA_REDIS_SERVICE_HOST, SIMBA_REDIS_PORT=tcp://..., SIMBA_REDIS_PORT_6379_TCP and so on, which
/// a service "simba-redis" gives to all its neighbours.
bool is_of_kubernetes(std::string_view key, std::string_view value) {
  if (key.starts_with("service-host") || key.starts_with("service-port")) return true;
  if (key == "port") return value.find("://") != std::string_view::npos;
  return key.starts_with("port-") && key.size() > 5 && begins_number(key[5]);
}

bool is_key_of(const StoreType& type, std::string_view key) {
  return type.built() && type.make()->keys().find(key).key != nullptr;
}

/// Of those the names are ours alone; a `SIMBA_HOST` may belong to another program.
bool is_contention_key(std::string_view key) {
  const auto options = find_store_type("memory")->make();
  const Key* const found = options->keys().find(key).key;
  return found != nullptr && found->group == KeyGroup::contention;
}

/// One or two letters are wrong, and most are right.
bool is_nearly(std::string_view word, std::string_view name) {
  const std::size_t distance = detail::edit_distance(word, name);
  return distance > 0 && distance <= 2 && 2 * distance < name.size();
}

/// The store that `word` is meant to be.
const StoreType* nearly_store(std::string_view word) {
  for (const StoreType& type : store_types()) {
    const auto same = [&](const std::string& scheme) { return scheme == word; };
    const bool by_scheme =
        word != type.name && std::any_of(type.schemes.begin(), type.schemes.end(), same);
    if (by_scheme || is_nearly(word, type.name)) return &type;
  }
  return nullptr;
}

/// Nobody else would call a variable so. `name` is in kebab-case and without "simba-".
void check_meant(const std::string& variable, const std::string& name, std::string_view value) {
  const std::string origin = variable_origin(variable);
  for (const std::string_view whole : {"backend", "enabled"}) {
    if (is_nearly(name, whole)) {
      refuse(origin, fmt::format("unknown variable; did you mean SIMBA_{}?", upper_case(whole)));
    }
  }
  if (is_contention_key(name)) {
    refuse(origin, fmt::format("it does not name a store; write SIMBA_<STORE>_{}, for example {}",
                               upper_case(name), variable_of("redis", name)));
  }
  const std::size_t dash = name.find('-');
  if (dash == std::string::npos) return;
  const std::string word = name.substr(0, dash);
  const std::string key = name.substr(dash + 1);
  const StoreType* const meant = nearly_store(word);
  if (meant == nullptr || is_of_kubernetes(key, value)) return;
  if (key != "enabled" && key != "url" && !is_key_of(*meant, key)) return;
  refuse(origin, fmt::format("unknown store {}; did you mean {}?", shown(word),
                             variable_of(meant->name, key)));
}

void check_all_meant(const Environment& environment) {
  constexpr std::string_view prefix = "SIMBA_";
  const auto sections = section_names();
  const auto& variables = environment.variables();
  for (auto variable = variables.lower_bound(prefix);
       variable != variables.end() && variable->first.starts_with(prefix); ++variable) {
    std::string name = lower_case(variable->first.substr(prefix.size()));
    std::replace(name.begin(), name.end(), '_', '-');
    const auto is_of = [&](const std::string& section) { return name.starts_with(section + "-"); };
    if (variable->second.empty() || std::any_of(sections.begin(), sections.end(), is_of)) continue;
    check_meant(variable->first, name, variable->second);
  }
}

Section read_section(const std::string& name, const Environment& environment) {
  Section section{.name = name, .origin = "the environment", .place = {}};
  const std::string prefix = variable_of(name, "");
  const auto& variables = environment.variables();
  for (auto variable = variables.lower_bound(prefix);
       variable != variables.end() && variable->first.starts_with(prefix); ++variable) {
    std::string key = lower_case(variable->first.substr(prefix.size()));
    std::replace(key.begin(), key.end(), '_', '-');
    if (variable->second.empty() || is_of_kubernetes(key, variable->second)) continue;
    Setting setting{.key = std::move(key),
                    .value = variable->second,
                    .origin = variable_origin(variable->first)};
    section.place = fmt::format("{} ({})", name, variable_origin(variable->first));
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

std::string variable_of(std::string_view section, std::string_view key) {
  return fmt::format("SIMBA_{}_{}", upper_case(section), upper_case(key));
}

Sections read_environment(const Environment& environment) {
  check_all_meant(environment);
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
