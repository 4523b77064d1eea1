#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <openssl/ssl.h>
#include <string>
#include <vector>

#include <asio/ssl/context.hpp>

#include "simba/core/tls_options.hpp"

namespace simba::redis {

/// Reads the files that `options` names. At least TLS 1.2. Throws Error (configuration) that names
/// the file that is wrong. `options.mode` is not off.
std::shared_ptr<asio::ssl::context> make_tls_context(const TlsOptions& options);

/// What the connections of a store share: reading the files takes longer than the rest of a log-in.
/// They are read again when one has changed, so that a renewed certificate serves the connections
/// that follow.
///
/// Threads: `get` may be called from any thread.
class SharedTlsContext {
 public:
  /// As `make_tls_context`; always with the same options.
  std::shared_ptr<asio::ssl::context> get(const TlsOptions& options);

 private:
  using Stamp = std::array<std::int64_t, 4>;  // of a file
  static std::vector<Stamp> stamps_of(const TlsOptions& options);

  std::mutex mutex_;
  // guarded by mutex_
  std::shared_ptr<asio::ssl::context> context_;
  std::vector<Stamp> made_of_;
};

/// Tells one connection whom it talks to: `host` is what the server's certificate must name where
/// `mode` is verify. Throws Error (configuration) if OpenSSL does not take it.
void expect_host(SSL& ssl, TlsMode mode, const std::string& host);

/// Why the certificate of the server was refused; empty: it was not.
std::string certificate_refusal(const SSL& ssl);

}  // namespace simba::redis
