#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simba/core/runtime.hpp"
#include "simba/core/secret.hpp"
#include "simba/core/tls_options.hpp"
#include "simba/engine/contention_options.hpp"

namespace simba::redis {

/// Where a server listens: a host name or address with its port, or the path of a Unix socket.
struct Endpoint {
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  std::string unix_socket{};  ///< not empty: used instead of host and port

  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

/// As it appears in messages: "10.0.0.5:6379", "[::1]:6379" or "/run/redis.sock".
std::string to_string(const Endpoint& endpoint);

/// How the servers belong together.
enum class Topology {
  single,    ///< one server
  sentinel,  ///< a master and its replicas, watched by sentinels: these are what `endpoints` names
  cluster,   ///< a Redis Cluster, of which `endpoints` names some nodes
};

/// How to reach Redis, and how to contend there. An aggregate: set what you need, the rest has
/// defaults.
struct RedisOptions {
  Topology topology = Topology::single;
  std::vector<Endpoint> endpoints{Endpoint{}};

  std::string user{};  ///< of the server's ACL; empty: the default user
  Secret password{};
  int database = 0;                   ///< a cluster knows only 0
  std::string client_name = "simba";  ///< shown by CLIENT LIST; empty: none
  TlsOptions tls{};

  std::string master_name = "mymaster";  ///< as the sentinels call it
  std::string sentinel_user{};           ///< of the sentinels' own ACL
  Secret sentinel_password{};

  /// An acquisition or renewal counts only when this many replicas have confirmed it (WAIT) within
  /// `wait_timeout`. It makes a loss at a fail-over less likely, not impossible.
  int wait_replicas = 0;
  std::chrono::milliseconds wait_timeout{500};

  /// From the name of the host to the log-in. Where the lease is shorter it takes no longer than
  /// that.
  std::chrono::milliseconds connect_timeout{2'000};

  /// A command without an answer counts as failed, and its connection as broken, after this time.
  /// Derived: the request time-out of `contention`.
  std::optional<std::chrono::milliseconds> command_timeout{};

  /// Among them `ttl` and `transition`.
  engine::ContentionOptions contention{};

  std::shared_ptr<const Runtime> runtime{};  ///< empty: a new one, by `make_runtime()`
};

}  // namespace simba::redis
