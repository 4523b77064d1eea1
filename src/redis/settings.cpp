#include "redis/settings.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>

#include <fmt/format.h>

#include "redis/protocol/script.hpp"
#include "simba/core/error.hpp"

namespace simba::redis {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds longest_timeout = std::chrono::hours{1};

void check(bool allowed, std::string_view otherwise) {
  if (!allowed) throw InvalidArgumentError{std::string{otherwise}};
}

void check_timeout(std::string_view name, milliseconds value) {
  if (value < milliseconds{1} || value > longest_timeout) {
    throw InvalidArgumentError{fmt::format("{} must be between 1 ms and {} ms (got {} ms)", name,
                                           longest_timeout.count(), value.count())};
  }
}

void check_endpoints(const RedisOptions& options) {
  check(!options.endpoints.empty(), "no endpoints configured; name at least one Redis server");
  check(options.topology != Topology::single || options.endpoints.size() == 1,
        "several endpoints configured for a single server; set topology to sentinel or cluster, or "
        "name one server");
  for (const Endpoint& endpoint : options.endpoints) {
    if (!endpoint.unix_socket.empty()) {
      check(options.topology == Topology::single,
            "a Unix socket cannot be used with sentinels or a cluster");
      check(options.tls.mode == TlsMode::off,
            "TLS cannot be used with a Unix socket; omit one of them");
      continue;
    }
    check(!endpoint.host.empty(), "host must not be empty");
    check(endpoint.port != 0, "port must be between 1 and 65535 (got 0)");
  }
}

void check_client_name(std::string_view name) {
  const bool printable = std::all_of(name.begin(), name.end(), [](char c) {
    return c > ' ' && c < '\x7f';  // as the server demands
  });
  check(printable, "client_name must consist of printable ASCII characters without spaces");
}

}  // namespace

std::shared_ptr<const ConnectionSettings> checked_settings(const RedisOptions& options) {
  const engine::ContentionPlan plan{options.contention};
  check_endpoints(options);
  check_client_name(options.client_name);
  check(options.database >= 0,
        fmt::format("database must not be negative (got {})", options.database));
  check(options.topology != Topology::cluster || options.database == 0,
        fmt::format("database must be 0 on a cluster (got {})", options.database));
  check(options.topology != Topology::sentinel || !options.master_name.empty(),
        "master_name must not be empty; set it to the name that the sentinels use");

  check(options.tls.certificate_file.empty() == options.tls.key_file.empty(),
        "tls.certificate_file and tls.key_file must be set together");

  const milliseconds command_timeout = options.command_timeout.value_or(plan.request_timeout);
  check_timeout("connect_timeout", options.connect_timeout);
  check_timeout("command_timeout", command_timeout);
  check(options.wait_replicas >= 0 && options.wait_replicas <= 1'000,
        fmt::format("wait_replicas must be between 0 and 1000 (got {})", options.wait_replicas));
  if (options.wait_replicas > 0) {
    check_timeout("wait_timeout", options.wait_timeout);
    check(options.wait_timeout < command_timeout,
          fmt::format("wait_timeout must be less than command_timeout, {} ms (got {} ms)",
                      command_timeout.count(), options.wait_timeout.count()));
  }

  auto settings = std::make_shared<ConnectionSettings>();
  settings->user = options.user;
  settings->password = options.password;
  settings->database = options.database;
  settings->client_name = options.client_name;
  settings->tls = options.tls;
  settings->connect_timeout = std::min(options.connect_timeout, plan.lease());
  settings->command_timeout = command_timeout;
  settings->scripts = all_scripts();
  settings->masters_only = options.topology == Topology::sentinel;
  return settings;
}

}  // namespace simba::redis
