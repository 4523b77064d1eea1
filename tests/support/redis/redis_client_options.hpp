#pragma once

#include <cstdint>

#include "simba/core/secret.hpp"
#include "simba/redis/redis_options.hpp"
#include "support/location.hpp"

namespace simba::support {

/// The options of a client of Redis test servers, as their location tells: one server, a cluster or
/// sentinels; with TLS where the servers have it.
inline redis::RedisOptions redis_options(const Location& location,
                                         const ContentionOptions& contention = {}) {
  redis::RedisOptions options;
  options.endpoints = {{.host = location.host, .port = location.port}};
  if (!location.ports.empty()) {
    options.topology = redis::Topology::cluster;
    options.endpoints.clear();
    for (const auto port : location.ports) {
      options.endpoints.push_back({.host = location.host, .port = port});
    }
  }
  options.user = location.user;
  options.password = Secret{location.password};
  if (!location.master_name.empty()) {
    options.topology = redis::Topology::sentinel;
    options.master_name = location.master_name;
    options.sentinel_user = location.user;
    options.sentinel_password = Secret{location.password};
  }
  if (!location.certificates.empty()) {
    options.tls.mode = TlsMode::verify;
    options.tls.ca_file = location.certificates + "/ca.crt";
  }
  options.contention = contention;
  return options;
}

/// The same by another port, e.g. of a proxy. For one server only.
inline redis::RedisOptions redis_options(const Location& location, std::uint16_t port,
                                         const ContentionOptions& contention = {}) {
  Location elsewhere = location;
  elsewhere.port = port;
  return redis_options(elsewhere, contention);
}

}  // namespace simba::support
