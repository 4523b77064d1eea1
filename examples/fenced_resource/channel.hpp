#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "simba/core/time.hpp"

/// What workers and the storage say to each other. The storage answers `begin` and `write`.
struct Message {
  enum class Kind {
    acquired,  ///< worker: I have the lock, with this token
    begin,     ///< worker: I am going to write this
    go_on,     ///< storage: I am ready for it
    write,     ///< worker: here it is
    stored,    ///< storage: done
    refused,   ///< storage: this token is too old
  };

  Message(Kind kind_of_it, simba::FencingToken token_of_it, std::string_view text_of_it = {});
  Message() = default;

  Kind kind = Kind::acquired;
  simba::FencingToken token = 0;
  std::array<char, 40> text{};  // ends with a zero
};

/// One end of a connection between two processes.
class Channel {
 public:
  /// Both ends. Throws std::system_error.
  static std::pair<Channel, Channel> make_pair();

  ~Channel();
  Channel(Channel&& other) noexcept : socket_{std::exchange(other.socket_, -1)} {}
  Channel& operator=(Channel&& other) noexcept {
    std::swap(socket_, other.socket_);
    return *this;
  }

  /// Throws std::system_error where the other end is gone.
  void send(const Message& message) const;

  /// Waits for a message; empty: the other end is gone.
  std::optional<Message> receive() const;

  int socket() const noexcept { return socket_; }

 private:
  explicit Channel(int socket) noexcept : socket_{socket} {}

  int socket_;
};
