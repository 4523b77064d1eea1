#pragma once

#include <string_view>

#include "simba/core/credentials.hpp"
#include "simba/core/secret.hpp"
#include "simba/core/tls_options.hpp"

namespace simba::detail {

/// Whether a host is this machine for sure: a loopback address, "localhost", or the path of a Unix
/// socket.
bool is_this_host(std::string_view host) noexcept;

/// A password leaves this host unencrypted only if that was asked for. Throws InvalidArgumentError
/// if `mode` is unset, there is a password or a source of one, and `host` is another one; the
/// message names `tls.mode`.
void check_plain_password(TlsMode mode, std::string_view host, const Secret& password,
                          const CredentialsSource& source = {});

}  // namespace simba::detail
