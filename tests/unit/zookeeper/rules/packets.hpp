#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "zookeeper/client/client.hpp"

namespace simba::zookeeper::rules {

/// Which nodes one is to be told of, as the server keeps them and the client remembers them.
struct Watches {
  std::set<std::string> data{};
  std::set<std::string> absent{};  ///< nodes that are not there
  std::set<std::string> children{};

  /// Says whether someone is to be told, who then is not to be told again.
  bool take(const NodeEvent& event);
};

/// What a client sends.
struct Ask {
  enum class Kind {
    connect,
    ping,
    set_watches,
    create,
    remove,
    write,
    children,
    get,
    exists,
    sync,
    close_session
  };
  Kind kind = Kind::ping;
  std::string path{};
  std::string data{};
  NodeKind node_kind = NodeKind::persistent;
  Watching watching = Watching::no;
  std::int64_t session = 0;                ///< of `connect`; 0: a new one
  std::int64_t zxid = 0;                   ///< the newest that the client has seen
  Watches watches{};                       ///< of `set_watches`
  std::optional<std::int32_t> replaces{};  ///< of `write`
  std::string provided{};                  ///< of `write`
};

/// What a server sends.
struct Say {
  enum class Kind { welcome, expired, pong, answer, event };
  Kind kind = Kind::pong;
  std::int64_t zxid = 0;  ///< the newest of the server
  Code code = Code::ok;
  std::string path{};
  std::string data{};
  NodeStat stat{};
  std::vector<std::string> names{};
  NodeEvent event{};
  std::int64_t session = 0;
  std::chrono::milliseconds timeout{0};
};

}  // namespace simba::zookeeper::rules
