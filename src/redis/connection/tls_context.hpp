#pragma once

#include <memory>
#include <openssl/ssl.h>
#include <string>

#include <asio/ssl/context.hpp>

#include "simba/core/tls_options.hpp"

namespace simba::redis {

/// Reads the files that `options` names. At least TLS 1.2. Throws Error (configuration) that names
/// the file that is wrong. `options.mode` is not off.
std::shared_ptr<asio::ssl::context> make_tls_context(const TlsOptions& options);

/// Tells one connection whom it talks to: `host` is what the server's certificate must name where
/// `mode` is verify. Throws Error (configuration) if OpenSSL does not take it.
void expect_host(SSL& ssl, TlsMode mode, const std::string& host);

/// Why the certificate of the server was refused; empty: it was not.
std::string certificate_refusal(const SSL& ssl);

}  // namespace simba::redis
