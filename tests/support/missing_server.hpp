#pragma once

#include <exception>
#include <string_view>

namespace simba::support {

/// Whether a server could not be started because it is not installed: then its supervisor names the
/// package to install.
inline bool is_missing_server(const std::exception& error) {
  return std::string_view{error.what()}.find("apt-get install") != std::string_view::npos;
}

}  // namespace simba::support
