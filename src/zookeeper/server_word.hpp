#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace simba::zookeeper {

/// A server as the library of ZooKeeper writes it: "10.0.0.5:2181", "::1:2181".
struct ServerPlace {
  std::string host{};
  std::string port{};
};

/// Those of a list with commas, each with a port.
std::vector<ServerPlace> places_in(std::string_view hosts);

struct WordAnswer {
  enum class State {
    answered,
    silent,       ///< connected, but no answer came: it may not be allowed to give one
    unreachable,  ///< no connection
  };
  State state = State::unreachable;
  std::string text{};
};

/// What a server answers to one of ZooKeeper's words of four letters, such as "srvr". Waits for
/// `span` at most, but for a name server.
WordAnswer ask_word(const ServerPlace& server, std::string_view word,
                    std::chrono::milliseconds span);

}  // namespace simba::zookeeper
