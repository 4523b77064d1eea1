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

struct FourLetterAnswer {
  enum class State {
    answered,
    silent,       ///< connected, but no answer came: it may not be allowed to give one
    unreachable,  ///< no connection
  };
  State state = State::unreachable;
  std::string text{};
};

/// A server's answer to one of ZooKeeper's four-letter commands, such as "srvr". Waits for
/// `span` at most, but for a name server.
FourLetterAnswer ask_four_letter_word(const ServerPlace& server, std::string_view word,
                                      std::chrono::milliseconds span);

/// "3.8.0" of "Zookeeper version: 3.8.0-5a02a05…, built on …", as a server answers "srvr"; empty
/// where it is not there.
std::string version_in(std::string_view answer);

/// Whether a version is older than ZooKeeper 3.5.
bool is_too_old(std::string_view version);

}  // namespace simba::zookeeper
