#pragma once

#include <string>
#include <string_view>

#include "simba/core/credentials.hpp"

namespace simba::detail {

/// What a new connection logs in with: what the source returns, with `user` where it names none.
/// Throws Error if the source throws, or returns what C libraries would cut off. `where` is what
/// messages call the server.
Credentials current_credentials(const CredentialsSource& source, const std::string& user,
                                std::string_view where);

}  // namespace simba::detail
