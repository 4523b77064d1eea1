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

/// Who may do what with the nodes that we create.
enum class NodeAcl {
  open,                 ///< everyone everything, as the JVM library does
  creator,              ///< only those with our credentials; needs a digest user
  creator_others_read,  ///< the same, and everyone may look
};

/// What an owner does when the connection is lost.
enum class OnDisconnect {
  keep_while_session_lasts,  ///< at risk, and owner until the session could have ended
  step_down,                 ///< not owner any more at once, as Curator does
};

/// How to reach ZooKeeper, and how to contend there. An aggregate: set what you need, the rest has
/// defaults.
struct ZooKeeperOptions {
  /// `host:port,host:port/chroot`. The chroot is optional and created where it is missing.
  std::string connect_string = "127.0.0.1:2181";

  /// The node that holds a node for each mutex.
  std::string base_path = "/simba";

  /// A session that the servers have not heard of for this long is over, and with it all that it
  /// holds. The servers may set it to a shorter or longer time. It takes the place of the lease.
  /// Derived: `ttl` + `transition` of `contention`; where it is given, these two follow from it.
  std::optional<std::chrono::milliseconds> session_timeout{};

  /// How long requests wait for the first connection before they fail; it is tried on after that.
  /// At most three quarters of the request time-out.
  std::chrono::milliseconds connection_timeout{5'000};

  /// `tickTime` of the servers, at most two thirds of the session. They tell each other twice in a
  /// tick who is alive, so an owner counts its session from a sign of life that is more than half a
  /// tick old. Derived: ZooKeeper's own default of 2 s, or half of the session time-out where that
  /// is less.
  std::optional<std::chrono::milliseconds> tick_time{};

  OnDisconnect on_disconnect = OnDisconnect::keep_while_session_lasts;

  std::string digest_user{};  ///< of the scheme "digest"; empty: nobody in particular
  Secret digest_password{};
  NodeAcl acl = NodeAcl::open;

  /// Only where the ZooKeeper library that this was built with can do it; Debian 12's cannot.
  TlsOptions tls{};

  engine::ContentionOptions contention{};

  std::shared_ptr<const Runtime> runtime{};  ///< empty: a new one, by `make_runtime()`
};

}  // namespace simba::zookeeper
