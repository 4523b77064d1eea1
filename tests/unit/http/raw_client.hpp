#pragma once

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "support/patience.hpp"

namespace simba::http {

/// Sends whatever a test wants to a server on 127.0.0.1, and reads what comes back.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port, int receive_buffer = 0)
      : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    if (receive_buffer > 0) {
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ =
        ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  RawClient(std::uint16_t port, std::string_view bytes) : RawClient{port} { send(bytes); }
  ~RawClient() { leave(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool is_connected() const noexcept { return is_connected_; }
  int descriptor() const noexcept { return socket_; }

  /// False where the server no longer takes it.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  /// What has come once `text` is among it, or the server has closed, or it took too long.
  std::string until(std::string_view text) {
    return read([&] { return received_.find(text) != std::string::npos; });
  }

  /// All that comes before the server closes. "(still open)" ends it where it does not.
  std::string until_closed() {
    std::string all = read([] { return false; });
    if (!is_closed_) all += "(still open)";
    return all;
  }

  /// Whether the server closes, whatever it sends before.
  bool is_closed_by_server() {
    read([] { return false; });
    return is_closed_;
  }

  void leave() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

 private:
  template <typename Done>
  std::string read(Done done) {
    const auto end = std::chrono::steady_clock::now() + support::scaled(std::chrono::seconds{20});
    while (!done() && !is_closed_ && std::chrono::steady_clock::now() < end) {
      pollfd file{socket_, POLLIN, 0};
      if (::poll(&file, 1, 100) <= 0) continue;
      std::array<char, 65'536> bytes{};
      const auto got = ::recv(socket_, bytes.data(), bytes.size(), 0);
      if (got > 0) {
        received_.append(bytes.data(), static_cast<std::size_t>(got));
      } else {
        is_closed_ = true;
      }
    }
    return std::exchange(received_, {});
  }

  int socket_;
  bool is_connected_ = false;
  bool is_closed_ = false;
  std::string received_;
};

}  // namespace simba::http
