#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simba/core/secret.hpp"
#include "simba/zookeeper/zookeeper_options.hpp"

namespace simba::zookeeper {

/// One of the servers of a connect string.
struct Server {
  std::string host{};  ///< without brackets
  std::string port{};  ///< 2181 where none is given
};

/// Reads `host:port,[::1]:port,host`. Throws InvalidArgumentError naming what is wrong.
std::vector<Server> servers_in(std::string_view hosts);

/// Options, checked and complete. Constant.
struct Settings {
  std::string hosts;  ///< `host:port,host:port`, without the chroot
  std::string root;   ///< chroot and base path, e.g. "/prod/simba"; empty for the root of the tree
  std::chrono::milliseconds session_timeout{0};  ///< that is asked for
  std::chrono::milliseconds connection_timeout{0};
  /// As given; else it follows from the session timeout that the servers set.
  std::optional<std::chrono::milliseconds> tick_time{};
  OnDisconnect on_disconnect = OnDisconnect::keep_while_session_lasts;
  std::string digest_user;
  Secret digest_password;
  NodeAcl acl = NodeAcl::open;  ///< never `unset`
  TlsOptions tls;
};

/// ZooKeeper's own default.
inline constexpr std::chrono::milliseconds usual_tick{2'000};

/// `tickTime` of the servers as far as it is known, with a session timeout that they have set.
inline std::chrono::milliseconds tick_of(const Settings& settings,
                                         std::chrono::milliseconds session_timeout) {
  return settings.tick_time.value_or(std::min(usual_tick, session_timeout / 2));
}

/// Throws InvalidArgumentError naming the value and its bound.
Settings checked_settings(const ZooKeeperOptions& options);

}  // namespace simba::zookeeper
