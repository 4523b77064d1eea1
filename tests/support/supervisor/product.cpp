#include "support/supervisor/product.hpp"

#include <arpa/inet.h>
#include <array>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <fmt/format.h>

namespace simba::support {

std::unique_ptr<Product> make_product(std::string_view name) {
  if (name == "postgresql") {
    return make_postgresql();
  }
  if (name == "mariadb") {
    return make_mariadb();
  }
  if (name == "mysql") {
    return make_mysql();
  }
  if (name == "redis") {
    return make_redis();
  }
  if (name == "redis-cluster-node") {
    return make_redis_cluster_node();
  }
  if (name == "redis-sentinel-node") {
    return make_redis_sentinel();
  }
  if (name == "zookeeper") {
    return make_zookeeper();
  }
  if (name == "zookeeper-node") {
    return make_zookeeper_node();
  }
  throw std::invalid_argument{
      fmt::format("no server '{}' (known: postgresql, mariadb, mysql, redis, redis-cluster-node, "
                  "redis-sentinel-node, zookeeper, zookeeper-node)",
                  name)};
}

std::string ask(std::uint16_t port, std::string_view request) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{.tv_sec = 1, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::array<char, 512> buffer{};
  ssize_t count = 0;
  // NOLINTNEXTLINE(*-reinterpret-cast): the interface of sockets
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::send(socket, request.data(), request.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(request.size())) {
    count = ::recv(socket, buffer.data(), buffer.size(), 0);
  }
  ::close(socket);
  return count > 0 ? std::string{buffer.data(), static_cast<std::size_t>(count)} : std::string{};
}

}  // namespace simba::support
