#pragma once

#include <optional>
#include <string_view>

#include "config/read/sections.hpp"
#include "config/store_settings.hpp"

namespace simba::config {

/// What there is to choose from.
struct Offer {
  std::string_view file_name{};  ///< for messages
  const Sections& file;
  const Sections& variables;
  const Environment& environment;
};

/// How many stores may be enabled where none is named.
enum class Need { any, at_most_one, one };

/// The settings of the store that is named, or else of the only one that is enabled. Nothing if
/// none or several are enabled and may be. Throws Error of kind `configuration`.
std::optional<StoreSettings> select(const Offer& offer, std::string_view store, Need need);

/// Checks all sections, also those that are not used.
void check_sections(const Sections& sections);

/// What variables say of a store that was chosen otherwise, where that was silent. Its switch and
/// URL do not count.
void fill_in_variables(StoreSettings& settings, const Sections& variables,
                       const Environment& environment);

}  // namespace simba::config
