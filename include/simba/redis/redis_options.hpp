#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simba/core/credentials.hpp"
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
std::ostream& operator<<(std::ostream& out, const Endpoint& endpoint);

/// How the servers are organized.
enum class Topology {
  single,    ///< one server
  sentinel,  ///< a master and its replicas, watched by the sentinels in `endpoints`
  cluster,   ///< a Redis Cluster, some of whose nodes are in `endpoints`
};

/// How to connect to Redis, and how to contend there. An aggregate: set what you need; everything
/// else has a default.
struct RedisOptions {
  Topology topology = Topology::single;
  std::vector<Endpoint> endpoints{Endpoint{}};

  std::string user{};  ///< of the server's ACL; empty: the default user
  Secret password{};

  /// Not empty: called for each new connection to a server, but not to a sentinel, on a thread of
  /// `Runtime::callbacks`.
  CredentialsSource credentials{};

  int database = 0;                   ///< must be 0 on a cluster
  std::string client_name = "simba";  ///< shown by CLIENT LIST; empty: none
  TlsOptions tls{};

  std::string master_name = "mymaster";  ///< the name that the sentinels use
  std::string sentinel_user{};           ///< of the sentinels' own ACL
  Secret sentinel_password{};

  /// The hosts that sentinels and cluster nodes may refer to: what they name is sent the password.
  /// Compared as they are given, names and addresses alike; `*` stands for any characters, as in
  /// "10.0.3.*". Empty: any host. Those in `endpoints` are always permitted.
  std::vector<std::string> permitted_hosts{};

  /// An acquisition or renewal counts only if this many replicas have confirmed it (WAIT) within
  /// `wait_timeout`. This makes losing it in a failover less likely, not impossible.
  int wait_replicas = 0;
  std::chrono::milliseconds wait_timeout{500};

  /// How long after its last lease a mutex keeps its newest fencing token. Tokens follow the
  /// server's clock, so they grow after that, too, unless that clock was set back by more than
  /// this.
  std::chrono::milliseconds token_retention = std::chrono::hours{24};

  /// Covers name resolution, connecting and login. Limited to the lease if that is shorter.
  std::chrono::milliseconds connect_timeout{2'000};

  /// A command that is not answered within this time counts as failed, and its connection as
  /// broken. Derived: the request timeout of `contention`.
  std::optional<std::chrono::milliseconds> command_timeout{};

  /// Includes `ttl` and `transition`.
  ContentionOptions contention{};

  std::shared_ptr<const Runtime> runtime{};  ///< empty: a new one, by `make_runtime()`
};

}  // namespace simba::redis
