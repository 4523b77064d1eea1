#include "zookeeper/settings.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "simba/core/error.hpp"
#include "zookeeper/queue/node_names.hpp"

namespace simba::zookeeper {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds longest = std::chrono::hours{1};

void check(bool allowed, std::string_view otherwise) {
  if (!allowed) throw InvalidArgumentError{std::string{otherwise}};
}

void check_span(std::string_view name, milliseconds value, milliseconds least) {
  if (value < least || value > longest) {
    throw InvalidArgumentError{fmt::format("{} must be between {} ms and {} ms (got {} ms)", name,
                                           least.count(), longest.count(), value.count())};
  }
}

/// "" for the root of the tree, else it begins with '/' and does not end with one.
std::string checked_path(std::string_view what, std::string_view path) {
  if (path.empty() || path == "/") return {};
  check(path.front() == '/', fmt::format("{} must begin with '/' (got '{}')", what, path));
  check(path.back() != '/', fmt::format("{} must not end with '/' (got '{}')", what, path));
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at + 1), path.size());
    const std::string_view step = path.substr(at + 1, end - at - 1);
    check(!step.empty(), fmt::format("{} must not contain an empty name (got '{}')", what, path));
    check_node_name(fmt::format("part of {}", what), step);
    at = end;
  }
  return std::string{path};
}

void check_hosts(std::string_view hosts) {
  constexpr std::string_view example = "for example zk1:2181,zk2:2181,zk3:2181/chroot";
  check(!hosts.empty(), fmt::format("connect_string must name at least one server, {}", example));
  for (std::size_t at = 0; at <= hosts.size();) {
    const std::size_t end = std::min(hosts.find(',', at), hosts.size());
    const std::string_view host = hosts.substr(at, end - at);
    check(!host.empty(), fmt::format("connect_string must not contain an empty host; {}", example));
    const bool plain = std::all_of(host.begin(), host.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '.' || c == '-' || c == '_' || c == ':' || c == '[' || c == ']' || c == '%';
    });
    check(plain, fmt::format("connect_string: '{}' is not a host with an optional port; {}", host,
                             example));
    at = end + 1;
  }
}

}  // namespace

Settings checked_settings(const ZooKeeperOptions& options) {
  const std::string_view text = options.connect_string;
  const std::size_t slash = std::min(text.find('/'), text.size());
  Settings settings;
  settings.hosts = text.substr(0, slash);
  check_hosts(settings.hosts);
  settings.root = checked_path("the chroot of connect_string", text.substr(slash)) +
                  checked_path("base_path", options.base_path);

  settings.session_timeout =
      options.session_timeout.value_or(options.contention.ttl + options.contention.transition);
  check_span("session_timeout", settings.session_timeout, milliseconds{100});
  settings.connection_timeout = options.connection_timeout;
  check_span("connection_timeout", settings.connection_timeout, milliseconds{1});
  settings.tick_time = options.tick_time;
  if (settings.tick_time) {
    check_span("tick_time", *settings.tick_time, milliseconds{1});
    // Beyond it a session would never be proven to last long enough for an ownership.
    check(*settings.tick_time <= settings.session_timeout * 2 / 3,
          fmt::format("tick_time must be at most two thirds of session_timeout, {} ms (got {} ms)",
                      settings.session_timeout.count(), settings.tick_time->count()));
  }

  check(options.digest_user.find(':') == std::string::npos,
        "digest_user must not contain ':', which separates it from the password");
  check(options.digest_user.empty() == options.digest_password.empty(),
        "digest_user and digest_password must be set together");
  check(options.acl == NodeAcl::open || !options.digest_user.empty(),
        "an acl other than open requires digest_user; without it nobody could use the nodes");
  settings.on_disconnect = options.on_disconnect;
  settings.digest_user = options.digest_user;
  settings.digest_password = options.digest_password;
  settings.acl = options.acl;
  settings.tls = options.tls;
  return settings;
}

}  // namespace simba::zookeeper
