#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "redis/connection/connection.hpp"
#include "redis/routing/cluster_map.hpp"
#include "redis/routing/command_link.hpp"
#include "redis/routing/master_finder.hpp"
#include "redis/session.hpp"
#include "simba/core/runtime.hpp"
#include "simba/redis/redis_options.hpp"

namespace simba::redis {

/// Commands to the servers of a store, one after another and blocking, for tools. Connects when it
/// has to.
///
/// The answer of a server is a Reply, even if it is an error. Throws Error if no answer arrives,
/// after the connect and the command timeout at most.
///
/// Threads: used by one thread at a time.
class ServerConsole {
 public:
  /// Throws InvalidArgumentError if an option is out of bounds.
  ServerConsole(const RedisOptions& options, std::shared_ptr<const Runtime> runtime);
  ~ServerConsole();
  ServerConsole(const ServerConsole&) = delete;
  ServerConsole& operator=(const ServerConsole&) = delete;

  const RedisOptions& options() const noexcept { return options_; }

  /// Those that hold mutexes, as the sentinels or the cluster say now.
  std::vector<Endpoint> masters();

  /// The map of the cluster as `masters()` has found it.
  const ClusterMap& map() const noexcept { return map_; }

  Reply ask(const Endpoint& server, std::initializer_list<std::string_view> words);

  /// The same of a server that need not be a master.
  Reply ask_replica(const Endpoint& server, std::initializer_list<std::string_view> words);

  /// Encoded commands that are answered with `replies` replies.
  std::vector<Reply> ask(const Endpoint& server, const std::string& commands, std::size_t replies);

  /// The same, wherever the keys of the mutex are. Where a cluster refers it elsewhere all of the
  /// commands are sent again.
  std::vector<Reply> ask_about(const std::string& mutex, const std::string& commands,
                               std::size_t replies);

  /// Closes the connection to a server; the next command opens another.
  void leave(const Endpoint& server);

  /// One command to a sentinel.
  Reply ask_sentinel(const Endpoint& sentinel, std::initializer_list<std::string_view> words);

 private:
  using Settings = std::shared_ptr<const ConnectionSettings>;

  std::vector<Reply> send(const Endpoint& server, const Settings& settings,
                          const std::string& commands, std::size_t replies);
  Endpoint find_master();
  void read_map();
  Endpoint server_of(const std::string& mutex);

  // constant after construction
  const RedisOptions options_;
  const Settings settings_;
  const Settings replica_settings_;
  const Settings sentinel_settings_;
  const std::shared_ptr<const Runtime> runtime_;
  const SessionIo io_;

  std::shared_ptr<MasterFinder> finder_{};  // with sentinels; used on the connections' thread only
  std::map<Endpoint, std::shared_ptr<CommandLink>> links_{};
  ClusterMap map_{};
};

/// For messages: "Redis at 127.0.0.1:6379".
std::string place_of(const Endpoint& server);

}  // namespace simba::redis
