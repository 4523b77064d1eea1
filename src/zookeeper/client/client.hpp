#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "simba/core/error.hpp"
#include "simba/core/time.hpp"

namespace simba::zookeeper {

/// How a request ended.
enum class Code {
  ok,
  no_node,
  node_exists,
  bad_version,      ///< the data of the node has another version
  no_auth,          ///< the ACL of the node does not allow it
  unimplemented,    ///< the server is too old for it
  connection_loss,  ///< unknown: it may or may not have been carried out
  session_expired,  ///< not carried out, and all that the session held is gone
  closing,          ///< `close()` came first; unknown
  refused,          ///< anything else that the server does not want to do
};

/// What a server tells of a node.
struct NodeStat {
  std::int64_t created_zxid = 0;  ///< grows with every change of the whole tree
  StoreTime created_at{};
  std::int64_t session = 0;  ///< that an ephemeral node belongs to; 0: not ephemeral
  std::int32_t version = 0;  ///< of its data: how often that was written since its creation
};

enum class NodeKind { ephemeral_sequential, container, persistent };

/// Data to be written. Valid only during the call it is passed to.
struct NodeWrite {
  std::string path;
  std::string data;
  std::optional<std::int32_t> replaces{};  ///< the version that is there now; empty: no node is
  std::string provided{};                  ///< the path of a node that must exist; empty: none must
};

/// Whether the next change is told by a `NodeEvent`.
enum class Watching { no, yes };

/// We are connected: for the first time, or again within the same session.
struct Connected {
  std::int64_t session = 0;
  std::chrono::milliseconds timeout{0};  ///< of the session, as the servers have set it
};
/// The connection is lost; the client looks for another by itself.
struct Disconnected {};
/// The session is over. Nothing more comes of this client; to be closed.
struct Expired {};
/// No session can be had, e.g. the credentials are refused or no host name can be found. Nothing
/// more comes of this client; to be closed.
struct Failed {
  Error error;
};
/// Something happened to a node that was watched. A watch tells once. Where a node has been watched
/// with `get` it tells of its removal and of new data; with `children` of its removal and of
/// children that come or go; with `exists` of its creation, too.
struct NodeEvent {
  enum class Kind { created, removed, changed, children };
  Kind kind = Kind::changed;
  std::string path;
};

using ClientEvent = std::variant<Connected, Disconnected, Expired, Failed, NodeEvent>;
using EventHandler = std::function<void(const ClientEvent&)>;

using DoneHandler = std::function<void(Code)>;
/// `path`: of the node created, with its sequence number.
using CreateHandler = std::function<void(Code, const std::string& path, const NodeStat&)>;
using ChildrenHandler = std::function<void(Code, const std::vector<std::string>& names)>;
using DataHandler = std::function<void(Code, const std::string& data, const NodeStat&)>;
using StatHandler = std::function<void(Code, const NodeStat&)>;
/// Whether everyone may do more with the node than read it.
using AccessHandler = std::function<void(Code, bool open_to_all)>;

/// One session with ZooKeeper: the port over its C library, so that everything above it can be
/// played through without servers.
///
/// Each handler is called exactly once, inside the call or later, on any thread, in the order of
/// the requests; answers and events come one at a time. A request that is answered
/// `connection_loss` is answered before the `Connected` that follows. Watches outlive a lost
/// connection: what happened meanwhile is told after the `Connected`.
///
/// Threads: every function may be called from any thread. No request blocks.
class Client {
 public:
  virtual ~Client() = default;

  virtual void create(const std::string& path, const std::string& data, NodeKind kind,
                      CreateHandler handler) = 0;
  virtual void remove(const std::string& path, DoneHandler handler) = 0;
  /// One atomic operation. `no_node`: the node that must exist does not, nor the one to be written
  /// or its parent; `node_exists`, `bad_version`: what is there is not what was to be replaced.
  virtual void write(const NodeWrite& write, DoneHandler handler) = 0;
  virtual void children(const std::string& path, Watching watching, ChildrenHandler handler) = 0;
  /// Leaves no watch behind where there is no such node.
  virtual void get(const std::string& path, Watching watching, DataHandler handler) = 0;
  /// Also watches a node that is not there.
  virtual void exists(const std::string& path, Watching watching, StatHandler handler) = 0;
  /// Reads its ACL.
  virtual void access(const std::string& path, AccessHandler handler) = 0;
  /// A way to the leader of the servers and back.
  virtual void sync(DoneHandler handler) = 0;

  /// Ends the session; what is under way is answered `closing` at the latest. Returns at once. No
  /// event comes after it but one that is under way. Further calls do nothing.
  virtual void close() = 0;
};

/// Opens sessions.
class Connector {
 public:
  virtual ~Connector() = default;

  /// Returns at once; `on_event` is told how it goes, never inside this call.
  virtual std::shared_ptr<Client> connect(EventHandler on_event) = 0;

  /// Waits until all clients that were closed are gone, their sessions ended and their threads
  /// joined; in bounded time. To be called on none of their threads.
  virtual void wait_until_closed() = 0;
};

}  // namespace simba::zookeeper
