#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/server.hpp"

namespace simba::support {

/// `tickTime` of the test servers: they look this often for sessions that are over, so it is short
/// beside the sessions of tests.
inline constexpr std::chrono::milliseconds zookeeper_tick{100};

/// ZooKeeper of Debian, alone. It lets everyone in and grants sessions from 200 ms to a minute.
/// `arguments` that begin with '-' are for the Java machine, e.g.
/// {"-Dzookeeper.extendedTypesEnabled=true"}; others are lines of its configuration, e.g.
/// {"maxClientCnxns=5"}, which overrule those of every test server.
class ZooKeeperServer final : public Server {
 public:
  explicit ZooKeeperServer(std::vector<std::string> arguments = {})
      : Server{{"zookeeper", Tls::off, std::move(arguments)}} {}
};

/// Three servers that form an ensemble; each as in ZooKeeperServer.
///
/// The constructor returns when all of them serve. A node that is started again returns when it
/// runs, which is before it serves: see `all_serve`.
///
/// With {"-Dreadonlymode.enabled=true"} a node that has lost the others still answers clients that
/// are content with reading.
class ZooKeeperEnsemble {
 public:
  static constexpr std::size_t size = 3;

  /// `before_node` runs before each node is launched, with its index: what it puts into the
  /// environment reaches that node.
  explicit ZooKeeperEnsemble(const std::vector<std::string>& arguments = {},
                             const std::function<void(std::size_t)>& before_node = {});

  /// All nodes.
  Location location() const;

  Server& node(std::size_t index) { return *nodes_.at(index); }

  /// The index of the node that leads. Throws std::runtime_error where none says so within a
  /// minute.
  std::size_t leader() const;

  /// Whether each node is leader or follower.
  bool all_serve() const;

  /// Whether there is a leader, so that the ensemble serves, maybe not by all nodes.
  bool has_leader() const;

 private:
  void launch(const std::vector<std::string>& arguments,
              const std::function<void(std::size_t)>& before_node);

  std::vector<std::unique_ptr<Server>> nodes_;
};

/// What a server of 127.0.0.1 answers to one of ZooKeeper's words of four letters, such as "srvr";
/// empty where it does not answer within a second.
std::string four_letter_word(std::uint16_t port, std::string_view word);

/// "standalone", "leader", "follower" or "read-only"; empty where the server does not serve.
std::string zookeeper_mode(std::uint16_t port);

/// Where a ZooKeeper client connects to: all servers of a location.
std::string connect_string(const Location& location);

/// The Java machine that servers and contenders of the JVM run on. Throws std::runtime_error, with
/// what to do, where it is not there.
std::string java_program();

}  // namespace simba::support
