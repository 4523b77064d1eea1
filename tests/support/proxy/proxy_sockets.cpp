#include "support/proxy/proxy_sockets.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <netinet/tcp.h>
#include <stdexcept>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace simba::support {

namespace {

constexpr int backlog = 128;

[[noreturn]] void fail(const char* what) {
  throw std::system_error{errno, std::generic_category(), what};
}

// NOLINTBEGIN(*-reinterpret-cast): the interface of sockets
const sockaddr* generic(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}
sockaddr* generic(Address& address) { return reinterpret_cast<sockaddr*>(&address); }
// NOLINTEND(*-reinterpret-cast)

int make_socket() { return ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

Address resolve(const std::string& host, std::uint16_t port) {
  Address address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
    throw std::invalid_argument{"'" + host + "' is no IPv4 address"};
  }
  return address;
}

int make_event() {
  const int event = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (event == -1) {
    fail("eventfd");
  }
  return event;
}

int listen_on_free_port(std::uint16_t& port) {
  // A socket that was given port 0 would lose its port in `refuse`. So: let the system choose, and
  // take that port by number while the first socket still has it.
  const int chooser = make_socket();
  const int listener = make_socket();
  const int on = 1;
  Address address = resolve("127.0.0.1", 0);
  socklen_t size = sizeof address;
  ::setsockopt(chooser, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(chooser, generic(address), size) != 0 ||
      ::getsockname(chooser, generic(address), &size) != 0 ||
      ::bind(listener, generic(address), size) != 0 || ::listen(listener, backlog) != 0) {
    fail("listen");
  }
  ::close(chooser);
  port = ntohs(address.sin_port);
  return listener;
}

void refuse(int listener) noexcept { ::shutdown(listener, SHUT_RD); }

void allow(int listener) noexcept { ::listen(listener, backlog); }

int accept_one(int listener) noexcept {
  const int socket = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket != -1) {
    send_at_once(socket);
  }
  return socket;
}

int connect_to(const Address& address) noexcept {
  const int socket = make_socket();
  if (socket != -1) {
    send_at_once(socket);
    if (::connect(socket, generic(address), sizeof address) != 0 && errno != EINPROGRESS) {
      ::close(socket);
      return -1;
    }
  }
  return socket;
}

void reset(int socket) noexcept {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::close(socket);
}

}  // namespace simba::support
