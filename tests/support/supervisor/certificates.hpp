#pragma once

#include <filesystem>
#include <string>

#include "support/supervisor/caller.hpp"

namespace simba::support {

/// Makes `folder` with the certificates that `Location::certificates` tells of, and server.crt and
/// server.key for a server called `host` (as in "DNS:localhost,IP:127.0.0.1").
void make_certificates(const std::filesystem::path& folder, const std::string& host,
                       Caller& caller);

}  // namespace simba::support
