#pragma once

#include <exception>
#include <string_view>

namespace simba::support {

/// Whether a server could not be started because it is not installed: then its supervisor names the
/// package to install, or the script that fetches it.
inline bool is_missing_server(const std::exception& error) {
  const std::string_view text{error.what()};
  return text.find("apt-get install") != std::string_view::npos ||
         text.find("scripts/fetch-") != std::string_view::npos;
}

}  // namespace simba::support
