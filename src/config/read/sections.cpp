#include "config/read/sections.hpp"

#include <algorithm>

#include "config/keys/key_table.hpp"

namespace simba::config {

const Section* Sections::find(std::string_view name) const {
  const auto found = std::find_if(sections.begin(), sections.end(),
                                  [&](const Section& section) { return section.name == name; });
  return found == sections.end() ? nullptr : &*found;
}

std::vector<std::string> section_names() {
  std::vector<std::string> names{std::string{jdbc_section}};
  for (const StoreType& type : store_types()) names.push_back(type.name);
  return names;
}

const std::vector<std::string>& names_of_every_section() {
  static const std::vector<std::string> names{"enabled", "url"};
  return names;
}

namespace {

/// The store is not known, so a key may be one of any database.
void check_jdbc_keys(const Section& section) {
  std::vector<std::string> known = names_of_every_section();
  const StoreType* any = nullptr;
  for (const StoreType& type : store_types()) {
    if (!type.sql || !type.built()) continue;
    any = &type;
    for (std::string& name : type.make()->keys().names()) known.push_back(std::move(name));
  }
  if (any == nullptr) return;
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  const auto options = any->make();
  for (const Setting& setting : section.keys) {
    check_key(options->keys(), setting, known);
  }
}

}  // namespace

void check_section(const Section& section, const StoreType* type) {
  if (type == nullptr) {
    check_jdbc_keys(section);
  } else if (type->built()) {
    check_layer(*type, section.keys, names_of_every_section());
  }
}

}  // namespace simba::config
