#pragma once

#include <cstdint>

#include "simba/core/secret.hpp"
#include "simba/core/tls_options.hpp"
#include "simba/sql/sql_options.hpp"
#include "support/location.hpp"

namespace simba::support {

/// The options of a client of a test server: `PostgreSqlOptions` or `MySqlOptions`. `port` instead
/// of that of the location, e.g. of a proxy.
template <class Options>
Options client_options(const Location& location, std::uint16_t port,
                       const sql::SqlOptions& options) {
  Options result;
  result.host = location.host;
  result.port = port;
  result.user = location.user;
  result.password = Secret{location.password};
  result.database = location.database;
  result.sql = options;
  return result;
}

template <class Options>
Options client_options(const Location& location, const sql::SqlOptions& options = {}) {
  return client_options<Options>(location, location.port, options);
}

/// The same for a server with certificates: verifies it, as accounts with caching_sha2_password
/// need.
template <class Options>
Options verifying(Options options, const Location& location) {
  if (!location.certificates.empty()) {
    options.tls.mode = TlsMode::verify;
    options.tls.ca_file = location.certificates + "/ca.crt";
  }
  return options;
}

}  // namespace simba::support
