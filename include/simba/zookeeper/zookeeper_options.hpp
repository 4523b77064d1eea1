#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "simba/core/runtime.hpp"
#include "simba/core/secret.hpp"
#include "simba/core/tls_options.hpp"
#include "simba/engine/contention_options.hpp"

namespace simba::zookeeper {

/// The ACL of the nodes that Simba creates.
enum class NodeAcl {
  unset,                ///< `creator` if a digest user is set, otherwise `open`
  open,                 ///< everyone may do everything, as with the JVM library
  creator,              ///< only clients with the same credentials; requires a digest user
  creator_others_read,  ///< like `creator`, and everyone may read
};

/// What an owner does when the connection is lost.
enum class OnDisconnect {
  keep_while_session_lasts,  ///< stays owner, at risk, until the session could have ended
  step_down,                 ///< stops being owner immediately, as Curator does
};

/// How to connect to ZooKeeper, and how to contend there. An aggregate: set what you need;
/// everything else has a default.
struct ZooKeeperOptions {
  /// `host:port,host:port/chroot`. The chroot is optional, and created if it is missing.
  std::string connect_string = "127.0.0.1:2181";

  /// The parent of the nodes of all mutexes.
  std::string base_path = "/simba";

  /// The servers end a session that they have not heard from for this long, and free all its
  /// mutexes. The servers may choose a shorter or longer time. It takes the place of the lease.
  /// Derived: `ttl` + `transition` of `contention`; if it is set, these two are derived from it.
  std::optional<std::chrono::milliseconds> session_timeout{};

  /// How long requests wait for the first connection before they fail; connecting is still retried
  /// after that. At most three quarters of the request timeout.
  std::chrono::milliseconds connection_timeout{5'000};

  /// `tickTime` of the servers, at most two thirds of the session timeout. The servers exchange
  /// which sessions are alive twice per tick, so an owner counts its session from a sign of life
  /// more than half a tick ago. Derived: ZooKeeper's default of 2 s, or half of the session timeout
  /// if that is less.
  std::optional<std::chrono::milliseconds> tick_time{};

  OnDisconnect on_disconnect = OnDisconnect::keep_while_session_lasts;

  std::string digest_user{};  ///< for the scheme "digest"; empty: not authenticated
  Secret digest_password{};
  NodeAcl acl = NodeAcl::unset;

  /// Only if the ZooKeeper library that Simba was built with supports it; that of Debian 12 does
  /// not.
  TlsOptions tls{};

  ContentionOptions contention{};

  std::shared_ptr<const Runtime> runtime{};  ///< empty: a new one, by `make_runtime()`
};

}  // namespace simba::zookeeper
