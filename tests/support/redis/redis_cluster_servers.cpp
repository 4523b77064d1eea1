#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "support/redis/redis_console.hpp"
#include "support/redis/redis_servers.hpp"

namespace simba::support {

namespace {

constexpr int all_slots = 16'384;
constexpr std::chrono::seconds cluster_limit{60};

int first_slot(std::size_t index) {
  return static_cast<int>(index) * all_slots / static_cast<int>(RedisClusterServers::size);
}

/// Whether a node says that it holds the slot of a key itself.
bool holds(const Location& location, const std::string& key) {
  try {
    RedisConsole console{location};
    const int slot = std::stoi(console.value({"CLUSTER", "KEYSLOT", key}));
    // Each: first slot, last slot, { address, port, ... } of the master, replicas.
    const auto ranges = console.ask({"CLUSTER", "SLOTS"}).items;
    return std::any_of(ranges.begin(), ranges.end(), [&](const RedisAnswer& range) {
      return std::stoi(range.items.at(0).text) <= slot &&
             slot <= std::stoi(range.items.at(1).text) &&
             range.items.at(2).items.at(1).text == std::to_string(location.port);
    });
  } catch (const std::runtime_error&) {  // it does not answer
    return false;
  }
}

void wait_for(const char* what, const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + cluster_limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error{fmt::format("test cluster: {}", what)};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
}

}  // namespace

std::uint16_t cluster_bus_port(std::uint16_t port) {
  // Below those that servers get, and where the system takes none for outgoing connections.
  return static_cast<std::uint16_t>(port - 12'000);
}

ServerOptions node_of_group(std::string product, Tls tls, std::vector<std::string> arguments,
                            const Server* first) {
  if (tls != Tls::off) {
    arguments.insert(arguments.end(), {"--tls-replication", "yes", "--tls-cluster", "yes"});
    if (first != nullptr) {
      const auto folder = first->location().certificates;
      arguments.insert(arguments.end(),
                       {"--tls-cert-file", folder + "/server.crt", "--tls-key-file",
                        folder + "/server.key", "--tls-ca-cert-file", folder + "/ca.crt"});
    }
  }
  return {.product = std::move(product), .tls = tls, .arguments = std::move(arguments)};
}

RedisClusterServers::RedisClusterServers(const std::vector<std::string>& arguments,
                                         const std::function<void(std::size_t)>& before_node,
                                         Tls tls) {
  for (std::size_t i = 0; i < size; ++i) {
    if (before_node) {
      before_node(i);
    }
    nodes_.push_back(std::make_unique<Server>(node_of_group(
        "redis-cluster-node", tls, arguments, nodes_.empty() ? nullptr : nodes_.front().get())));
    RedisConsole console{nodes_.back()->location()};
    console.ask({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    console.ask({"CLUSTER", "ADDSLOTSRANGE", std::to_string(first_slot(i)),
                 std::to_string(first_slot(i + 1) - 1)});
    if (i != 0) {
      const auto first = nodes_.front()->port();
      console.ask({"CLUSTER", "MEET", "127.0.0.1", std::to_string(first),
                   std::to_string(cluster_bus_port(first))});
    }
  }
  wait_for("the nodes do not come together", [&] { return is_ok(); });
}

Location RedisClusterServers::location() const {
  auto location = nodes_.front()->location();
  location.socket.clear();
  for (const auto& node : nodes_) {
    location.ports.push_back(node->port());
  }
  return location;
}

bool RedisClusterServers::is_ok() {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) {
    try {
      const auto info = RedisConsole{node->location()}.value({"CLUSTER", "INFO"});
      return info_value(info, "cluster_state") == "ok" &&
             info_value(info, "cluster_known_nodes") == std::to_string(size);
    } catch (const std::runtime_error&) {  // it does not answer
      return false;
    }
  });
}

std::size_t RedisClusterServers::node_of(const std::string& key) {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(),
                                  [&](const auto& node) { return holds(node->location(), key); });
  if (found == nodes_.end()) {
    throw std::runtime_error{fmt::format("test cluster: no node holds the slot of {}", key)};
  }
  return static_cast<std::size_t>(found - nodes_.begin());
}

void RedisClusterServers::move_slot(const std::string& key, std::size_t to,
                                    const std::function<void(int)>& between) {
  const auto from = node_of(key);
  if (from == to) {
    return;
  }
  RedisConsole source{node(from).location()};
  RedisConsole target{node(to).location()};
  const auto slot = target.value({"CLUSTER", "KEYSLOT", key});
  const auto target_id = target.value({"CLUSTER", "MYID"});
  const auto phase = [&](int number) {
    if (between) {
      between(number);
    }
  };
  target.ask({"CLUSTER", "SETSLOT", slot, "IMPORTING", source.value({"CLUSTER", "MYID"})});
  source.ask({"CLUSTER", "SETSLOT", slot, "MIGRATING", target_id});
  phase(0);
  const auto keys = [&] { return source.ask({"CLUSTER", "GETKEYSINSLOT", slot, "100"}).texts(); };
  for (auto some = keys(); !some.empty(); some = keys()) {
    RedisConsole::Words words{"MIGRATE", "127.0.0.1", std::to_string(node(to).port()), "", "0"};
    words.insert(words.end(), {"5000", "AUTH2", "admin", node(to).location().password, "KEYS"});
    words.insert(words.end(), some.begin(), some.end());
    source.ask(words);
  }
  phase(1);
  // The new holder first: so there is always one.
  target.ask({"CLUSTER", "SETSLOT", slot, "NODE", target_id});
  for (const auto& node : nodes_) {
    RedisConsole{node->location()}.ask({"CLUSTER", "SETSLOT", slot, "NODE", target_id});
  }
}

}  // namespace simba::support
