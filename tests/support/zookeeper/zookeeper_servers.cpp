#include "support/zookeeper/zookeeper_servers.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/time.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/free_ports.hpp"

namespace simba::support {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds ensemble_limit{60};

bool wait_until(const auto& condition) {
  for (const auto deadline = Clock::now() + ensemble_limit; !condition();) {
    if (Clock::now() > deadline) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  return true;
}

}  // namespace

std::string four_letter_word(std::uint16_t port, std::string_view word) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket == -1) {
    throw std::system_error{errno, std::generic_category(), "socket"};
  }
  const timeval second{.tv_sec = 1, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  // NOLINTNEXTLINE(*-reinterpret-cast): the interface of sockets
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::send(socket, word.data(), word.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(word.size())) {
    std::array<char, 4'096> buffer{};
    for (ssize_t count = 1; count > 0;) {
      count = ::recv(socket, buffer.data(), buffer.size(), 0);
      answer.append(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    }
  }
  ::close(socket);
  return answer;
}

std::string zookeeper_mode(std::uint16_t port) {
  constexpr std::string_view key = "\nMode: ";
  const auto answer = four_letter_word(port, "srvr");
  const auto begin = answer.find(key);
  if (begin == std::string::npos) {
    return {};
  }
  const auto mode = answer.substr(begin + key.size());
  return mode.substr(0, mode.find('\n'));
}

std::string connect_string(const Location& location) {
  if (location.ports.empty()) {
    return fmt::format("{}:{}", location.host, location.port);
  }
  std::vector<std::string> servers;
  for (const auto port : location.ports) {
    servers.push_back(fmt::format("{}:{}", location.host, port));
  }
  return fmt::format("{}", fmt::join(servers, ","));
}

std::string java_program() {
  constexpr const char* path = "/usr/bin/java";
  if (::access(path, X_OK) != 0) {
    throw std::runtime_error{
        fmt::format("there is no {}: apt-get install default-jre-headless", path)};
  }
  return path;
}

ZooKeeperEnsemble::ZooKeeperEnsemble(const std::vector<std::string>& arguments,
                                     const std::function<void(std::size_t)>& before_node) {
  for (int tries = 1;; ++tries) {
    launch(arguments, before_node);
    if (wait_until([&] { return all_serve(); })) {
      return;
    }
    // Someone else may have taken a port in the meantime.
    std::string logs;
    for (const auto& node : nodes_) {
      logs += node->log();
    }
    nodes_.clear();
    if (tries == 3 || logs.find("in use") == std::string::npos) {
      throw std::runtime_error{
          fmt::format("test ensemble: the nodes do not come together:\n{}", logs)};
    }
  }
}

void ZooKeeperEnsemble::launch(const std::vector<std::string>& arguments,
                               const std::function<void(std::size_t)>& before_node) {
  FreePorts ports{2 * size};
  auto words = arguments;
  for (std::size_t i = 0; i < size; ++i) {
    words.push_back(
        fmt::format("server.{}=127.0.0.1:{}:{}", i + 1, ports[2 * i], ports[2 * i + 1]));
  }
  ports.release();
  for (std::size_t i = 0; i < size; ++i) {
    auto own = words;
    own.push_back(fmt::format("myid={}", i + 1));
    if (before_node) {
      before_node(i);
    }
    nodes_.push_back(
        std::make_unique<Server>(ServerOptions{"zookeeper-node", Tls::off, std::move(own)}));
  }
}

Location ZooKeeperEnsemble::location() const {
  auto location = nodes_.front()->location();
  for (const auto& node : nodes_) {
    location.ports.push_back(node->port());
  }
  return location;
}

bool ZooKeeperEnsemble::all_serve() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) {
    const auto mode = zookeeper_mode(node->port());
    return mode == "leader" || mode == "follower";
  });
}

bool ZooKeeperEnsemble::has_leader() const {
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [](const auto& node) { return zookeeper_mode(node->port()) == "leader"; });
}

std::size_t ZooKeeperEnsemble::leader() const {
  std::size_t found = size;
  wait_until([&] {
    for (found = 0; found < size && zookeeper_mode(nodes_[found]->port()) != "leader"; ++found) {
    }
    return found < size;
  });
  if (found == size) {
    throw std::runtime_error{"test ensemble: no node leads"};
  }
  return found;
}

}  // namespace simba::support
