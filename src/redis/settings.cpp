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
    throw InvalidArgumentError{fmt::format("{} is {} ms; it must be from 1 ms to {} ms", name,
                                           value.count(), longest_timeout.count())};
  }
}

void check_endpoints(const RedisOptions& options) {
  check(!options.endpoints.empty(), "no endpoint is given; name at least one server of Redis");
  check(options.topology != Topology::single || options.endpoints.size() == 1,
        "several endpoints are given for a single server; set the topology to sentinel or cluster, "
        "or name one");
  for (const Endpoint& endpoint : options.endpoints) {
    if (!endpoint.unix_socket.empty()) {
      check(options.topology == Topology::single,
            "a Unix socket leads to a single server only, not to sentinels or a cluster");
      check(options.tls.mode == TlsMode::off,
            "TLS and a Unix socket do not go together; leave one of them out");
      continue;
    }
    check(!endpoint.host.empty(), "an endpoint has an empty host");
    check(endpoint.port != 0, "an endpoint has port 0; it must be from 1 to 65535");
  }
}

void check_client_name(std::string_view name) {
  const bool printable = std::all_of(name.begin(), name.end(), [](char c) {
    return c > ' ' && c < '\x7f';  // as the server demands
  });
  check(printable, "client_name must not hold spaces or bytes that are no printable ASCII");
}

}  // namespace

std::shared_ptr<const ConnectionSettings> checked_settings(const RedisOptions& options) {
  const engine::ContentionPlan plan{options.contention};
  check_endpoints(options);
  check_client_name(options.client_name);
  check(options.database >= 0,
        fmt::format("database is {}; it must not be negative", options.database));
  check(options.topology != Topology::cluster || options.database == 0,
        fmt::format("database is {}; a cluster knows only 0", options.database));
  check(options.topology != Topology::sentinel || !options.master_name.empty(),
        "master_name is empty; it must be the name that the sentinels use");

  check(options.tls.certificate_file.empty() == options.tls.key_file.empty(),
        "tls.certificate_file and tls.key_file belong together; give both or neither");

  const milliseconds command_timeout = options.command_timeout.value_or(plan.request_timeout);
  check_timeout("connect_timeout", options.connect_timeout);
  check_timeout("command_timeout", command_timeout);
  check(options.wait_replicas >= 0 && options.wait_replicas <= 1'000,
        fmt::format("wait_replicas is {}; it must be from 0 to 1000", options.wait_replicas));
  if (options.wait_replicas > 0) {
    check_timeout("wait_timeout", options.wait_timeout);
    check(
        options.wait_timeout < command_timeout,
        fmt::format("wait_timeout is {} ms; it must be less than the time-out of a command, {} ms",
                    options.wait_timeout.count(), command_timeout.count()));
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
