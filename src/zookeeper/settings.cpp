#include "zookeeper/settings.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/checks.hpp"
#include "core/host_list.hpp"
#include "core/plain_password.hpp"
#include "core/text.hpp"
#include "zookeeper/queue/node_names.hpp"

namespace simba::zookeeper {
namespace {

using std::chrono::milliseconds;

/// "" for the root of the tree, else it begins with '/' and does not end with one.
std::string checked_path(std::string_view what, std::string_view path) {
  if (path.empty() || path == "/") return {};
  detail::require(path.front() == '/',
                  fmt::format("{} must begin with '/' (got '{}')", what, detail::excerpt(path)));
  detail::require(path.back() != '/',
                  fmt::format("{} must not end with '/' (got '{}')", what, detail::excerpt(path)));
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at + 1), path.size());
    const std::string_view step = path.substr(at + 1, end - at - 1);
    detail::require(!step.empty(), fmt::format("{} must not contain an empty name (got '{}')", what,
                                               detail::excerpt(path)));
    check_node_name(fmt::format("part of {}", what), step);
    at = end;
  }
  return std::string{path};
}

}  // namespace

std::vector<Server> servers_in(std::string_view hosts) {
  constexpr std::uint16_t usual_port = 2181;
  detail::require(!hosts.empty(),
                  "connect_string must name at least one server, for example "
                  "zk1:2181,zk2:2181,zk3:2181/chroot");
  std::vector<Server> servers;
  for (detail::HostPort& host : detail::parse_hosts(hosts, "connect_string")) {
    servers.push_back(
        {.host = std::move(host.host), .port = fmt::to_string(host.port.value_or(usual_port))});
  }
  return servers;
}

Settings checked_settings(const ZooKeeperOptions& options) {
  const std::string_view text = options.connect_string;
  const std::size_t slash = std::min(text.find('/'), text.size());
  Settings settings;
  settings.hosts = text.substr(0, slash);
  for (const Server& server : servers_in(settings.hosts)) {
    detail::require(
        options.tls.mode != TlsMode::unset || options.digest_password.empty() ||
            detail::is_this_host(server.host),
        fmt::format("the password would be sent unencrypted to host {}; set tls.mode to off if "
                    "you trust the network, or to verify_ca if the ZooKeeper library has TLS",
                    server.host));
  }
  settings.root = checked_path("the chroot of connect_string", text.substr(slash)) +
                  checked_path("base_path", options.base_path);

  settings.session_timeout =
      options.session_timeout.value_or(options.contention.ttl + options.contention.transition);
  detail::in_bounds("session_timeout", settings.session_timeout, milliseconds{100});
  settings.connection_timeout = options.connection_timeout;
  detail::in_bounds("connection_timeout", settings.connection_timeout, milliseconds{1});
  settings.tick_time = options.tick_time;
  if (settings.tick_time) {
    detail::in_bounds("tick_time", *settings.tick_time, milliseconds{1});
    // Beyond it a session would never be proven to last long enough for an ownership.
    detail::require(
        *settings.tick_time <= settings.session_timeout * 2 / 3,
        fmt::format("tick_time must be at most two thirds of session_timeout, {} ms (got {} ms)",
                    settings.session_timeout.count(), settings.tick_time->count()));
  }

  detail::require(options.digest_user.find(':') == std::string::npos,
                  "digest_user must not contain ':', which separates it from the password");
  detail::require(options.digest_user.empty() == options.digest_password.empty(),
                  "digest_user and digest_password must be set together");
  settings.acl = options.acl;
  if (settings.acl == NodeAcl::unset) {
    settings.acl = options.digest_user.empty() ? NodeAcl::open : NodeAcl::creator;
  }
  detail::require(
      settings.acl == NodeAcl::open || !options.digest_user.empty(),
      "an acl other than open requires digest_user; without it nobody could use the nodes");
  settings.on_disconnect = options.on_disconnect;
  settings.digest_user = options.digest_user;
  settings.digest_password = options.digest_password;
  settings.tls = options.tls;
  return settings;
}

}  // namespace simba::zookeeper
