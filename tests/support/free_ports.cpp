#include "support/free_ports.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <netinet/in.h>
#include <random>
#include <stdexcept>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace simba::support {

FreePorts::FreePorts(std::size_t count) {
  // Below those of servers, of the nodes of a Redis Cluster among themselves, and those that the
  // system gives to connections.
  std::random_device random;
  std::uniform_int_distribution<std::uint16_t> candidates{4'000, 7'999};
  for (int tries = 0; ports_.size() < count; ++tries) {
    if (tries == 1'000) {
      throw std::runtime_error{"there are no free ports between 4000 and 8000"};
    }
    take(candidates(random));
  }
}

void FreePorts::release() noexcept {
  for (const int socket : sockets_) {
    ::close(socket);
  }
  sockets_.clear();
}

void FreePorts::take(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket == -1) {
    throw std::system_error{errno, std::generic_category(), "socket"};
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // NOLINTNEXTLINE(*-reinterpret-cast): the interface of sockets
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    sockets_.push_back(socket);
    ports_.push_back(port);
  } else {
    ::close(socket);
  }
}

}  // namespace simba::support
