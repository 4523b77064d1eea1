#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/location.hpp"

struct _zhandle;  // NOLINT(bugprone-reserved-identifier): the library calls it so

namespace simba::support {

/// What is in a node of ZooKeeper.
struct ZooKeeperNode {
  std::string data{};
  std::int64_t created_zxid = 0;
  std::int64_t created_at = 0;  ///< in milliseconds since 1970
  std::int64_t owner = 0;       ///< the session of an ephemeral node; else not positive
  int version = 0;              ///< of the data
  int children = 0;
};

/// What kind of node to create.
enum class ZooKeeperNodeKind { persistent, ephemeral, ephemeral_sequential };

/// A client of ZooKeeper servers with a session of its own, for a test to look and to do harm.
/// Blocking.
///
/// Every function throws std::runtime_error where the servers do not answer or refuse, but for a
/// node that is not there where it says so.
///
/// Threads: used by one thread at a time.
class ZooKeeperConsole {
 public:
  /// Connects to any server of the location; returns when the session is there.
  explicit ZooKeeperConsole(const Location& location,
                            std::chrono::milliseconds session_timeout = std::chrono::seconds{30});
  ~ZooKeeperConsole();
  ZooKeeperConsole(const ZooKeeperConsole&) = delete;
  ZooKeeperConsole& operator=(const ZooKeeperConsole&) = delete;

  /// The names of the children, in the order of their sequence numbers (the last ten characters)
  /// where they have one; empty, too, where there is no such node.
  std::vector<std::string> children(const std::string& path);

  /// Empty where there is no such node.
  std::optional<ZooKeeperNode> node(const std::string& path);

  bool exists(const std::string& path) { return node(path).has_value(); }

  /// Who is in line for the mutex of the node `path`, the owner first: the data of its children.
  std::vector<std::string> line(const std::string& path);

  /// Creates a node, and its parents where they are missing; returns its path, which has more
  /// digits at its end with `ephemeral_sequential`.
  std::string create(const std::string& path, const std::string& data,
                     ZooKeeperNodeKind kind = ZooKeeperNodeKind::persistent);

  /// Gives a node new data.
  void set(const std::string& path, const std::string& data);

  /// Removes a node without children. False: there is no such node.
  bool remove(const std::string& path);

  /// Waits until what was done before anywhere is seen here.
  void sync();

  /// Of this console.
  std::int64_t session() const;

  /// Ends the session of someone else, as if its time were over: its nodes are gone when this
  /// returns. It hears of it when it speaks next, or, since a server may leave it without an
  /// answer, when it has waited for two thirds of its time-out.
  void end_session(std::int64_t session);

 private:
  struct Close {
    void operator()(_zhandle* handle) const noexcept;
  };

  std::string try_create(const std::string& path, const std::string& data, ZooKeeperNodeKind kind);

  const std::string servers_;
  std::unique_ptr<_zhandle, Close> handle_;
};

/// A client's connection as a server knows it.
struct ZooKeeperConnection {
  std::int64_t session = 0;
  std::int64_t received = 0;  ///< packets of the client, pings too
  std::int64_t sent = 0;
};

/// Those of all servers of a location that have a session. Those of consoles are among them.
std::vector<ZooKeeperConnection> zookeeper_connections(const Location& location);

/// How many packets the servers of a location have received from all clients so far: requests,
/// pings and words of four letters, with those of this call (one a server).
std::int64_t zookeeper_packets(const Location& location);

/// A value of "mntr", e.g. "zk_watch_count"; -1 where the server does not tell.
std::int64_t zookeeper_figure(std::uint16_t port, const std::string& name);

}  // namespace simba::support
