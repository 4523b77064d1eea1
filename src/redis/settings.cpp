#include "redis/settings.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/checks.hpp"
#include "core/plain_password.hpp"
#include "core/text.hpp"
#include "simba/core/error.hpp"

namespace simba::redis {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds shortest_retention = std::chrono::minutes{1};
constexpr milliseconds longest_retention = std::chrono::days{365};

void check_endpoints(const RedisOptions& options) {
  detail::require(!options.endpoints.empty(),
                  "no endpoints configured; name at least one Redis server");
  detail::require(
      options.topology != Topology::single || options.endpoints.size() == 1,
      "several endpoints configured for a single server; set topology to sentinel or cluster, or "
      "name one server");
  for (const Endpoint& endpoint : options.endpoints) {
    if (!endpoint.unix_socket.empty()) {
      detail::require(options.topology == Topology::single,
                      "a Unix socket cannot be used with sentinels or a cluster");
      detail::require(!uses_tls(options.tls.mode),
                      "TLS cannot be used with a Unix socket; omit one of them");
      continue;
    }
    detail::require(!endpoint.host.empty(), "host must not be empty");
    detail::require(endpoint.port != 0, "port must be between 1 and 65535 (got 0)");
    // A sentinel is sent its own password; what it names is most likely as far away as it is.
    detail::check_plain_password(options.tls.mode, endpoint.host, options.password,
                                 options.credentials);
    if (options.topology == Topology::sentinel) {
      detail::check_plain_password(options.tls.mode, endpoint.host, options.sentinel_password);
    }
  }
}

void check_client_name(std::string_view name) {
  const bool printable = std::all_of(name.begin(), name.end(), [](char c) {
    return c > ' ' && c < '\x7f';  // as the server demands
  });
  detail::require(printable,
                  "client_name must consist of printable ASCII characters without spaces");
}

/// `*` in the pattern stands for any characters.
bool matches(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  pattern.remove_prefix(star + 1);
  for (text.remove_prefix(star); !matches(pattern, text); text.remove_prefix(1)) {
    if (text.empty()) return false;
  }
  return true;
}

}  // namespace

std::string to_string(const Endpoint& endpoint) {
  if (!endpoint.unix_socket.empty()) return endpoint.unix_socket;
  return detail::host_text(endpoint.host, endpoint.port);
}

std::ostream& operator<<(std::ostream& out, const Endpoint& endpoint) {
  return out << to_string(endpoint);
}

std::optional<Error> refusal_to_connect(const ConnectionSettings& settings,
                                        const Endpoint& endpoint) {
  if (!endpoint.unix_socket.empty()) return std::nullopt;
  const auto& hosts = settings.permitted_hosts;
  if (!hosts.empty() && std::none_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
        return matches(host, endpoint.host);
      })) {
    return Error{ErrorKind::configuration,
                 fmt::format("not connecting to {}, which is not in permitted_hosts although a "
                             "sentinel or cluster node names it; add its host if it is one of "
                             "your servers",
                             detail::excerpt(to_string(endpoint)))};
  }
  // A server that names a path means no socket of ours: it is a name that someone may resolve.
  const bool here = detail::is_this_host(endpoint.host) && !endpoint.host.starts_with('/');
  const bool logs_in = !settings.password.empty() || settings.credentials;
  if (settings.tls.mode == TlsMode::unset && logs_in && !here) {
    return Error{ErrorKind::configuration,
                 fmt::format("not connecting to {}, which a sentinel or cluster node names: the "
                             "password would be sent unencrypted; set tls.mode to verify, or to "
                             "off if you trust the network",
                             detail::excerpt(to_string(endpoint)))};
  }
  return std::nullopt;
}

std::shared_ptr<const ConnectionSettings> checked_settings(const RedisOptions& options,
                                                           std::shared_ptr<Logger> log) {
  const ContentionPlan plan{options.contention};
  check_endpoints(options);
  check_client_name(options.client_name);
  detail::require(options.database >= 0,
                  fmt::format("database must not be negative (got {})", options.database));
  detail::require(options.topology != Topology::cluster || options.database == 0,
                  fmt::format("database must be 0 on a cluster (got {})", options.database));
  detail::require(options.topology != Topology::sentinel || !options.master_name.empty(),
                  "master_name must not be empty; set it to the name that the sentinels use");

  detail::check_certificate(options.tls);
  detail::check_ca(options.tls.mode, options.tls.ca_file);

  const milliseconds command_timeout = options.command_timeout.value_or(plan.request_timeout);
  detail::in_bounds("connect_timeout", options.connect_timeout, milliseconds{1});
  detail::in_bounds("command_timeout", command_timeout, milliseconds{1});
  detail::in_bounds("wait_replicas", options.wait_replicas, 0, 1'000);
  if (options.wait_replicas > 0) {
    detail::in_bounds("wait_timeout", options.wait_timeout, milliseconds{1});
    detail::require(options.wait_timeout < command_timeout,
                    fmt::format("wait_timeout must be less than command_timeout, {} ms (got {} ms)",
                                command_timeout.count(), options.wait_timeout.count()));
  }

  detail::require(
      options.token_retention >= shortest_retention && options.token_retention <= longest_retention,
      fmt::format("token_retention must be between 1 minute and 365 days (got {} ms)",
                  options.token_retention.count()));

  auto settings = std::make_shared<ConnectionSettings>();
  settings->user = options.user;
  settings->password = options.password;
  if (options.credentials) {
    settings->credentials = std::make_shared<CredentialsCalls>(options.credentials, std::move(log));
  }
  settings->database = options.database;
  settings->client_name = options.client_name;
  settings->tls = options.tls;
  settings->connect_timeout = std::min(options.connect_timeout, plan.lease());
  settings->command_timeout = command_timeout;
  for (const std::string& host : options.permitted_hosts) {
    detail::require(can_be_host(host),
                    "permitted_hosts must not contain an empty name or one with spaces");
    detail::require(
        std::count(host.begin(), host.end(), '*') <= 3,
        fmt::format("a name in permitted_hosts must contain at most 3 '*' (got '{}')", host));
  }
  if (!options.permitted_hosts.empty()) {
    settings->permitted_hosts = options.permitted_hosts;
    for (const Endpoint& endpoint : options.endpoints) {
      settings->permitted_hosts.push_back(endpoint.host);
    }
  }
  settings->masters_only = options.topology == Topology::sentinel;
  return settings;
}

}  // namespace simba::redis
