#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/server.hpp"

namespace simba::support {

/// Redis of Debian, without anything on disk. The user "simba" has a password and the rights that
/// Simba needs; "admin", with the same password, may do everything (see RedisConsole); the default
/// user is off. `arguments` are for the server, e.g. {"--appendonly", "yes"}.
///
/// With TLS only over TCP; the Unix socket, `Location::socket`, is plain.
class RedisServer final : public Server {
 public:
  explicit RedisServer(Tls tls = Tls::off, std::vector<std::string> arguments = {})
      : Server{{"redis", tls, std::move(arguments)}} {}
};

/// The options of the next node of a group. With TLS it uses that towards the others, too, and the
/// certificates of the first node; null: it is the first.
ServerOptions node_of_group(std::string product, Tls tls, std::vector<std::string> arguments,
                            const Server* first);

/// Three masters as a Redis Cluster, each with a third of the slots and without replicas; users as
/// in RedisServer. A node is held to have failed after two seconds.
///
/// The constructor returns when every node says that the cluster is in order.
class RedisClusterServers {
 public:
  static constexpr std::size_t size = 3;

  /// `before_node` runs before each node is launched, with its index: what it puts into the
  /// environment reaches that node.
  explicit RedisClusterServers(const std::vector<std::string>& arguments = {},
                               const std::function<void(std::size_t)>& before_node = {},
                               Tls tls = Tls::off);

  /// All nodes.
  Location location() const;

  Server& node(std::size_t index) { return *nodes_.at(index); }

  /// The index of the node that holds the slot of this key. Throws std::runtime_error where none
  /// that answers does.
  std::size_t node_of(const std::string& key);

  /// Whether every node answers and says that the cluster is in order.
  bool is_ok();

  /// Moves the slot of a key, with all that is in it, to the node with this index, and returns when
  /// all nodes know it. `between` runs while the slot is on its way: before (0) and after (1) its
  /// keys have moved.
  void move_slot(const std::string& key, std::size_t to,
                 const std::function<void(int)>& between = {});

 private:
  std::vector<std::unique_ptr<Server>> nodes_;
};

/// A master with one replica and three sentinels, which call it "mymaster" and take over when it
/// has not answered for a second; users as in RedisServer, also on the sentinels.
///
/// A node that was master and comes back becomes a replica by itself, when the sentinels have
/// noticed: that takes some ten seconds.
///
/// The constructor returns when the replica has all data and the sentinels know each other, so that
/// a fail-over works from then on.
class RedisSentinelServers {
 public:
  static constexpr std::size_t sentinels = 3;

  explicit RedisSentinelServers(const std::vector<std::string>& arguments = {}, Tls tls = Tls::off);

  /// The sentinels.
  Location location() const;

  /// 0: the master at first; 1: its replica at first.
  Server& node(std::size_t index) { return *nodes_.at(index); }
  Server& sentinel(std::size_t index) { return *sentinels_.at(index); }

  /// The port of the master by the word of one sentinel; 0 where it knows none.
  std::uint16_t master_port(std::size_t sentinel = 0);

  /// The index of the node that is master by the word of a sentinel.
  std::size_t master(std::size_t sentinel = 0);

  /// What a sentinel thinks of it: "master", and more where it is down or a fail-over goes on.
  std::string flags_of_master(std::size_t sentinel);

  /// How often a replica has become the master, as far as any of the sentinels knows.
  std::uint64_t failovers();

 private:
  std::string fact_of_master(std::size_t sentinel, const std::string& name);
  bool is_ready();

  std::vector<std::unique_ptr<Server>> nodes_;
  std::vector<std::unique_ptr<Server>> sentinels_;
};

/// Where a node of a cluster talks to the others.
std::uint16_t cluster_bus_port(std::uint16_t port);

}  // namespace simba::support
