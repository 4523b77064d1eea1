#include "support/supervisor/product.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstdlib>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <fmt/format.h>

namespace simba::support {

namespace fs = std::filesystem;

fs::path root_of(std::initializer_list<std::string_view> names) {
  const char* const root = std::getenv("SIMBA_TEST_SERVERS");
  const fs::path path{root != nullptr ? root : ""};
  const bool meant = std::find(names.begin(), names.end(), path.filename().string()) != names.end();
  return meant ? fs::absolute(path) : fs::path{};
}

std::optional<Cover> Product::cover() const {
  if (root_.empty()) {
    return std::nullopt;
  }
  return Cover{outside(covered()), covered()};
}

fs::path Product::first_of(const std::vector<fs::path>& paths, std::string_view package) const {
  for (const auto& path : paths) {
    if (fs::exists(outside(path))) {
      return path;
    }
  }
  const auto missing = outside(paths.front()).string();
  throw std::runtime_error{
      root_.empty() ? fmt::format("there is no {}: apt-get install {}", missing, package)
                    : fmt::format("there is no {}: scripts/fetch-server.sh brings it", missing)};
}

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
  if (name == "mysql97") {
    return make_mysql97();
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
  if (name == "prometheus") {
    return make_prometheus();
  }
  throw std::invalid_argument{
      fmt::format("no server '{}' (known: postgresql, mariadb, mysql, mysql97, redis, "
                  "redis-cluster-node, redis-sentinel-node, zookeeper, zookeeper-node, prometheus)",
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
