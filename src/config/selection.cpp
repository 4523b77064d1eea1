#include "config/selection.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/messages.hpp"
#include "config/read/url_settings.hpp"
#include "simba/core/error.hpp"

namespace simba::config {
namespace {

/// One section, as the file and the environment have it together.
struct Candidate {
  std::string name{};
  const Section* file = nullptr;
  const Section* variables = nullptr;

  /// The last word on it.
  const Setting* switch_of() const {
    if (variables != nullptr && variables->enabled) return &*variables->enabled;
    return file != nullptr && file->enabled ? &*file->enabled : nullptr;
  }

  const Setting* url() const {
    if (variables != nullptr && variables->url) return &*variables->url;
    return file != nullptr && file->url ? &*file->url : nullptr;
  }

  const Section& first() const { return file != nullptr ? *file : *variables; }

  /// A section that is there is enabled unless it says otherwise.
  bool enabled() const {
    const Setting* const setting = switch_of();
    if (setting == nullptr) return true;
    try {
      return parse_toggle(value_of(*setting));
    } catch (const Error& error) {
      if (!setting->problem.empty()) throw;
      refuse(setting->origin, error.what());
    }
  }
};

/// Variables alone make a section where they switch it on or say where it is.
std::vector<Candidate> candidates_of(const Offer& offer) {
  std::vector<Candidate> candidates;
  for (const std::string& name : section_names()) {
    const Candidate candidate{name, offer.file.find(name), offer.variables.find(name)};
    const bool by_variables = candidate.variables != nullptr &&
                              (candidate.variables->url || candidate.variables->enabled);
    if (candidate.file != nullptr || by_variables) candidates.push_back(candidate);
  }
  return candidates;
}

/// Of all stores. SQLite's path is not among them: a default may be a file of SQLite.
constexpr std::array address_keys{std::string_view{"host"}, std::string_view{"hosts"},
                                  std::string_view{"port"}, std::string_view{"unix-socket"},
                                  std::string_view{"connect-string"}};

/// Whoever says where a store is expects that it is used: any other, such as a default, might
/// exclude nobody.
void refuse_address_alone(const Offer& offer) {
  for (const Section& section : offer.variables.sections) {
    if (section.url || section.enabled || offer.file.find(section.name) != nullptr) continue;
    for (const Setting& setting : section.keys) {
      const auto same = [&](std::string_view key) { return key == setting.key; };
      if (std::none_of(address_keys.begin(), address_keys.end(), same)) continue;
      const bool by_jdbc = section.name == jdbc_section;
      const std::string choice = by_jdbc ? variable_of(section.name, "url") + "=URL"
                                         : variable_of(section.name, "enabled") + "=true";
      refuse(setting.origin,
             fmt::format("it says where a store is, but does not choose it; set {} too, or "
                         "SIMBA_BACKEND=URL (in the command also --backend URL), or {}=false if "
                         "this store is not to be used",
                         choice, variable_of(section.name, "enabled")));
    }
  }
}

std::string places_of(const std::vector<Candidate>& candidates) {
  std::vector<std::string> places;
  places.reserve(candidates.size());
  for (const Candidate& candidate : candidates) places.push_back(candidate.first().place);
  return joined(places);
}

/// The URL of a section must lead to its own store; that of `jdbc` to any database.
void check_fits(const StoreType& type, const std::string& section, const UrlSettings& url) {
  if (section == jdbc_section ? type.sql : type.name == section) return;
  refuse(url.origin,
         fmt::format("the URL is for the store \"{}\", not \"{}\"", type.name, section));
}

StoreSettings settings_of(const Candidate& candidate, const Environment& environment) {
  const StoreType* type = find_store_type(candidate.name);
  const std::string& origin = candidate.first().origin;
  const Setting* const url = candidate.url();
  if (type == nullptr && url == nullptr) {
    refuse(origin,
           "missing key \"url\", which names the database, for example "
           "mysql://user@host/database or postgresql://user@host/database");
  }
  if (type != nullptr) require_built(*type, origin);
  std::optional<UrlSettings> from_url;
  if (url != nullptr) {
    from_url = read_url(value_of(*url), url->origin);
    check_fits(*from_url->type, candidate.name, *from_url);
    type = from_url->type;
  }
  StoreSettings settings{*type, origin};
  // From the strongest to the weakest.
  for (const Section* section : {candidate.variables, candidate.file}) {
    if (section == nullptr) continue;
    settings.fill_in(section->keys, environment, names_of_every_section());
    if (from_url && section->url) settings.fill_in(std::exchange(from_url, {})->layer, environment);
  }
  return settings;
}

const Candidate& named(const std::vector<Candidate>& candidates, std::string_view store,
                       std::string_view file_name) {
  for (const Candidate& candidate : candidates) {
    if (candidate.name == store) return candidate;
  }
  // A database may stand under `jdbc`.
  for (const Candidate& candidate : candidates) {
    const Setting* const url = candidate.url();
    if (candidate.name != jdbc_section || url == nullptr) continue;
    const auto scheme = scheme_of(url->value);
    const StoreType* const type = scheme ? find_store_type_by_scheme(*scheme) : nullptr;
    if (type != nullptr && type->name == store) return candidate;
  }
  const auto known = section_names();
  if (std::find(known.begin(), known.end(), store) == known.end()) {
    refuse(file_name, fmt::format("unknown store {}{}", shown(store), suggestion(store, known)));
  }
  refuse(file_name, fmt::format("store \"{}\" is not configured; configured: {}", store,
                                candidates.empty() ? "none" : places_of(candidates)));
}

[[noreturn]] void refuse_choice_among(const std::vector<Candidate>& candidates,
                                      const std::vector<Candidate>& enabled,
                                      std::string_view name) {
  if (candidates.empty()) {
    refuse(name, fmt::format("no store configured; add one of these under \"simba\": {}",
                             joined(section_names())));
  }
  if (enabled.empty()) {
    refuse(name, fmt::format("no store is enabled; enable one of: {}", places_of(candidates)));
  }
  refuse(
      name,
      fmt::format(
          "{} stores are enabled, but only one is allowed: {}; set enabled: false in the others, "
          "or a variable such as {}=false, or name the store to use (simba --store NAME)",
          enabled.size(), places_of(enabled), variable_of(enabled.back().name, "enabled")));
}

}  // namespace

std::optional<StoreSettings> select(const Offer& offer, std::string_view store, Need need) {
  const std::vector<Candidate> candidates = candidates_of(offer);
  if (!store.empty()) {
    return settings_of(named(candidates, store, offer.file_name), offer.environment);
  }
  std::vector<Candidate> enabled;
  for (const Candidate& candidate : candidates) {
    if (candidate.enabled()) enabled.push_back(candidate);
  }
  if (enabled.size() == 1) return settings_of(enabled.front(), offer.environment);
  if (enabled.empty() && need != Need::any) refuse_address_alone(offer);
  const bool too_many = need == Need::at_most_one && enabled.size() > 1;
  if (need == Need::one || too_many) refuse_choice_among(candidates, enabled, offer.file_name);
  return std::nullopt;
}

void check_sections(const Sections& sections) {
  for (const Section& section : sections.sections) {
    const StoreType* type = find_store_type(section.name);
    if (type == nullptr && section.url) {
      const auto scheme = scheme_of(section.url->value);
      if (scheme) type = find_store_type_by_scheme(*scheme);
    }
    check_section(section, type);
  }
}

void fill_in_variables(StoreSettings& settings, const Sections& variables,
                       const Environment& environment) {
  const Section* const section = variables.find(settings.type().name);
  if (section != nullptr) settings.fill_in(section->keys, environment, names_of_every_section());
}

}  // namespace simba::config
