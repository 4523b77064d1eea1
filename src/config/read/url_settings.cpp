#include "config/read/url_settings.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "config/messages.hpp"
#include "core/host_list.hpp"
#include "simba/core/error.hpp"

namespace simba::config {
namespace {

std::vector<std::string> all_schemes() {
  std::vector<std::string> schemes;
  for (const StoreType& type : store_types()) {
    schemes.insert(schemes.end(), type.schemes.begin(), type.schemes.end());
  }
  return schemes;
}

/// `before` is "" or ends with ": ".
const StoreType& type_of(std::string_view text, const std::string& before) {
  const auto scheme = scheme_of(text);
  if (!scheme) {
    refuse(fmt::format("{}no scheme; for example redis://127.0.0.1:6379. Allowed: {}", before,
                       joined(all_schemes())));
  }
  const StoreType* const type = find_store_type_by_scheme(*scheme);
  if (type == nullptr && detail::looks_like_port(text.substr(scheme->size() + 1))) {
    refuse(fmt::format("{}no scheme; for example redis://{}. Allowed: {}", before, text,
                       joined(all_schemes())));
  }
  if (type == nullptr) {
    refuse(fmt::format("{}unknown scheme {}{}", before, shown(*scheme),
                       suggestion(*scheme, all_schemes())));
  }
  return *type;
}

Url parse(std::string_view text, const StoreType& type, const std::string& before) {
  try {
    return parse_url(text, type.form);
  } catch (const Error& error) {
    refuse(fmt::format("{}invalid {} URL: {}. Allowed: {}", before, type.title, error.what(),
                       joined(type.urls)));
  }
}

}  // namespace

UrlSettings read_url(std::string_view text, std::string_view found_at) {
  const std::string before = found_at.empty() ? std::string{} : fmt::format("{}: ", found_at);
  const StoreType& type = type_of(text, before);
  require_built(type, found_at.empty() ? "the URL" : found_at);
  const Url url = parse(text, type, before);

  const std::string place{found_at.empty() ? "the URL" : found_at};
  UrlSettings result{.type = &type, .origin = before + to_text(url)};
  if (result.origin.ends_with(':')) result.origin.pop_back();  // messages put one after it
  try {
    for (const Parameter& part : type.read_url(url)) {
      result.layer.push_back({.key = part.name,
                              .value = part.value,
                              .origin = fmt::format("{}: {}", result.origin, part.name),
                              .place = place});
    }
  } catch (const Error& error) {
    refuse(fmt::format("{}: {}", result.origin, error.what()));
  }
  for (const Parameter& parameter : url.parameters) {
    const std::string origin = fmt::format("{}: parameter \"{}\"", result.origin, parameter.name);
    const auto same = [&](const Setting& part) { return part.key == parameter.name; };
    if (std::any_of(result.layer.begin(), result.layer.end(), same)) {
      refuse(origin + ": already set by the URL before its parameters; remove one of them");
    }
    result.layer.push_back(
        {.key = parameter.name, .value = parameter.value, .origin = origin, .place = place});
  }
  return result;
}

}  // namespace simba::config
