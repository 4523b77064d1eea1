#pragma once

#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "simba/redis/redis_options.hpp"
#include "support/patience.hpp"

namespace simba::redis {

/// The server's end of one connection: the test says each byte. For one thread.
class FakePeer {
 public:
  explicit FakePeer(int descriptor) : descriptor_{descriptor} {}
  ~FakePeer() { hang_up(); }
  FakePeer(FakePeer&& other) noexcept : descriptor_{std::exchange(other.descriptor_, -1)} {}
  FakePeer(const FakePeer&) = delete;
  FakePeer& operator=(const FakePeer&) = delete;
  FakePeer& operator=(FakePeer&&) = delete;

  void says(std::string_view bytes) const {
    while (!bytes.empty()) {
      const auto written = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (written < 0) throw std::system_error{errno, std::generic_category(), "send"};
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  /// The next `size` bytes that the client sent, or fewer where it closes before.
  std::string hears(std::size_t size) const {
    std::string heard(size, '\0');
    std::size_t got = 0;
    while (got < size) {
      wait_readable(descriptor_);
      const auto read = ::recv(descriptor_, heard.data() + got, size - got, 0);
      if (read <= 0) break;
      got += static_cast<std::size_t>(read);
    }
    heard.resize(got);
    return heard;
  }

  /// Whether exactly `bytes` come next.
  bool hears(std::string_view bytes) const { return hears(bytes.size()) == bytes; }

  /// Whether the client closes without a further byte.
  bool sees_the_end() const { return hears(std::size_t{1}).empty(); }

  void hang_up() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }

  /// Waits as long as a test may take.
  static void wait_readable(int descriptor) {
    pollfd wanted{descriptor, POLLIN, 0};
    const auto patience = support::scaled(std::chrono::seconds{20}).count();
    if (::poll(&wanted, 1, static_cast<int>(patience)) != 1) {
      throw std::runtime_error{"nothing came from the client"};
    }
  }

 private:
  int descriptor_;
};

/// Listens on a free port of 127.0.0.1, or on a Unix socket.
class FakeServer {
 public:
  explicit FakeServer(int backlog = 16) : descriptor_{make(AF_INET)} {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listen(address, backlog);
    socklen_t size = sizeof address;
    ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size);
    endpoint_.port = ntohs(address.sin_port);
  }
  explicit FakeServer(const std::string& path) : descriptor_{make(AF_UNIX)} {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    listen(address, 16);
    endpoint_.unix_socket = path;
  }
  ~FakeServer() { stop(); }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  const Endpoint& endpoint() const noexcept { return endpoint_; }

  FakePeer accept() const {
    FakePeer::wait_readable(descriptor_);
    const int accepted = ::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
    if (accepted < 0) throw std::system_error{errno, std::generic_category(), "accept"};
    return FakePeer{accepted};
  }

  /// Connections are refused from now on.
  void stop() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }

 private:
  static int make(int family) { return ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0); }

  template <typename SocketAddress>
  void listen(const SocketAddress& address, int backlog) {
    if (::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(descriptor_, backlog) != 0) {
      throw std::system_error{errno, std::generic_category(), "listen"};
    }
  }

  int descriptor_;
  Endpoint endpoint_{};
};

}  // namespace simba::redis
