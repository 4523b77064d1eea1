#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zookeeper/client/client.hpp"

namespace simba::zookeeper {

/// What came of a request. Of the values only those that belong to it.
struct NodeAnswer {
  Code code = Code::ok;
  std::string text{};                ///< data, or the path of the node that was created
  std::vector<std::string> names{};  ///< of children
  NodeStat stat{};
  bool open_to_all = false;
};

/// Requests to ZooKeeper, blocking, for tools. Begins a session when the first comes.
///
/// Throws Error of kind `unavailable` if there is no session in time, `timeout` where no answer
/// comes, and what the session failed with.
///
/// Threads: used by one thread at a time.
class ClientConsole {
 public:
  /// `patience`: how long each step is waited for.
  ClientConsole(std::shared_ptr<Connector> connector, std::string place,
                std::chrono::milliseconds patience);
  ~ClientConsole();
  ClientConsole(const ClientConsole&) = delete;
  ClientConsole& operator=(const ClientConsole&) = delete;

  /// The session, begun if need be.
  Connected connect();

  NodeAnswer create(const std::string& path, NodeKind kind);
  NodeAnswer remove(const std::string& path);
  NodeAnswer exists(const std::string& path);

  /// All at once, since each would take a way to the server and back. In the order of the paths.
  std::vector<NodeAnswer> children(const std::vector<std::string>& paths);
  std::vector<NodeAnswer> get(const std::vector<std::string>& paths);
  std::vector<NodeAnswer> access(const std::vector<std::string>& paths);

  /// Sees all that was done anywhere before.
  void sync();

 private:
  struct Shared;
  class Answers;

  void close();

  // constant after construction
  const std::shared_ptr<Connector> connector_;
  const std::string place_;
  const std::chrono::milliseconds patience_;

  std::shared_ptr<Shared> session_{};
  std::shared_ptr<Client> client_{};
};

}  // namespace simba::zookeeper
