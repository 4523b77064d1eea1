#pragma once

#include <string>
#include <string_view>

#include "config/store_settings.hpp"

namespace simba::config {

/// What a URL says.
struct UrlSettings {
  const StoreType* type = nullptr;
  std::string origin{};  ///< the URL as messages show it, after where it was found
  Layer layer{};
};

/// `found_at` is where the URL was found, e.g. "simba.yaml:3: simba.redis.url"; empty: the caller
/// gave it. Throws Error of kind `configuration`, and `unsupported` if the store was not built
/// in.
UrlSettings read_url(std::string_view text, std::string_view found_at);

}  // namespace simba::config
