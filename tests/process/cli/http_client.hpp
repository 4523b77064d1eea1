#pragma once

#include <arpa/inet.h>
#include <array>
#include <cstdint>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

namespace simba::support {

/// A connection over which something was sent, to 127.0.0.1 or another address of this host.
class OpenConnection {
 public:
  OpenConnection(std::uint16_t port, std::string_view bytes, std::uint32_t host = INADDR_LOOPBACK)
      : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(host);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
  }
  ~OpenConnection() { ::close(socket_); }
  OpenConnection(const OpenConnection&) = delete;
  OpenConnection& operator=(const OpenConnection&) = delete;

  /// What comes until the other closes, or nothing comes for a second.
  std::string read() const {
    std::string all;
    pollfd file{socket_, POLLIN, 0};
    std::array<char, 4096> buffer{};
    while (::poll(&file, 1, 1'000) > 0) {
      const auto size = ::recv(socket_, buffer.data(), buffer.size(), 0);
      if (size <= 0) break;
      all.append(buffer.data(), static_cast<std::size_t>(size));
    }
    return all;
  }

 private:
  int socket_;
};

/// The answer of a server to what is sent, as it is; empty: there is none.
inline std::string answer_to(std::uint16_t port, std::string_view bytes,
                             std::uint32_t host = INADDR_LOOPBACK) {
  return OpenConnection{port, bytes, host}.read();
}

/// The status of the answer to `METHOD PATH`; 0: there is none.
inline int status_of(std::uint16_t port, std::string_view request,
                     std::uint32_t host = INADDR_LOOPBACK) {
  const std::string answer = answer_to(port, std::string{request} + " HTTP/1.0\r\n\r\n", host);
  constexpr std::string_view start = "HTTP/1.0 ";
  return answer.starts_with(start) ? std::stoi(answer.substr(start.size(), 3)) : 0;
}

}  // namespace simba::support
