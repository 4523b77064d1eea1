#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "zookeeper/settings.hpp"

namespace simba::zookeeper {

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
FourLetterAnswer ask_four_letter_word(const Server& server, std::string_view word,
                                      std::chrono::milliseconds span);

/// "3.8.0" of "Zookeeper version: 3.8.0-5a02a05…, built on …", as a server answers "srvr"; empty
/// where it is not there.
std::string version_in(std::string_view answer);

/// 2 s of "tickTime=2000", as a server answers "conf"; empty where it is not there.
std::optional<std::chrono::milliseconds> tick_in(std::string_view answer);

/// Whether a version is older than ZooKeeper 3.5.
bool is_too_old(std::string_view version);

}  // namespace simba::zookeeper
