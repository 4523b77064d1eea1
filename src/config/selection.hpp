#pragma once

#include <optional>
#include <string_view>

#include "config/sections.hpp"
#include "config/store_settings.hpp"

namespace simba::config {

/// What there is to choose from.
struct Offer {
  std::string_view file_name{};  ///< for messages
  const Sections& file;
  const Sections& variables;
  const Environment& environment;
};

/// The settings of the store that is named, or else of the only one that is enabled. Nothing where
/// none or several are enabled and none is needed. Throws Error of kind `configuration`.
std::optional<StoreSettings> select(const Offer& offer, std::string_view store, bool needed);

/// Checks all sections, also those that are not used.
void check_sections(const Sections& sections);

/// What variables say on top of a store that was chosen otherwise. Its switch and URL do not count.
void add_variables(StoreSettings& settings, const Sections& variables,
                   const Environment& environment);

}  // namespace simba::config
