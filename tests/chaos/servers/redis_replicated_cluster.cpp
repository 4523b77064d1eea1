#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "chaos/round_files.hpp"
#include "chaos/servers/node_links.hpp"
#include "chaos/servers/servers.hpp"
#include "support/patience.hpp"
#include "support/redis/redis_console.hpp"
#include "support/redis/redis_servers.hpp"

namespace simba::chaos {

namespace {

using namespace std::chrono_literals;
using support::info_value;
using support::RedisConsole;
using support::Server;

/// A node as it sees itself.
struct Self {
  std::string id{};
  bool master = false;
  std::string follows{};                     ///< the id of its master
  std::vector<std::pair<int, int>> slots{};  ///< each first and last
};

/// The line of CLUSTER NODES that a node has about itself: id, address, flags, master, three
/// numbers, state of the link, slots.
Self parse_self(const std::string& nodes) {
  std::istringstream lines{nodes};
  for (std::string line; std::getline(lines, line);) {
    if (line.find("myself") == std::string::npos) {
      continue;
    }
    std::istringstream words{line};
    std::string flags;
    std::string skipped;
    Self self;
    words >> self.id >> skipped >> flags >> self.follows;
    self.master = flags.find("master") != std::string::npos;
    for (int i = 0; i < 4; ++i) {
      words >> skipped;
    }
    for (std::string range; words >> range;) {
      if (range.starts_with('[')) {
        continue;  // a slot that moves
      }
      const auto dash = range.find('-');
      const int first = std::stoi(range);
      self.slots.emplace_back(
          first, dash == std::string::npos ? first : std::stoi(range.substr(dash + 1)));
    }
    return self;
  }
  throw std::runtime_error{"a node of the cluster does not know itself"};
}

/// Three masters, each with a replica that takes over when it has been gone for two seconds. Nodes
/// reach each other by proxies.
class ReplicatedCluster final : public Servers {
 public:
  explicit ReplicatedCluster(const Stage& stage)
      : links_{stage.open_folder, 2 * support::RedisClusterServers::size},
        masters_{settings(), [&](std::size_t node) { links_.join_by_environment(node); }} {
    for (std::size_t i = 0; i < masters_.size; ++i) {
      nodes_.push_back(&masters_.node(i));
    }
    for (std::size_t i = 0; i < masters_.size; ++i) {
      links_.join_by_environment(nodes_.size());
      replicas_.push_back(std::make_unique<Server>(
          support::ServerOptions{"redis-cluster-node", support::Tls::off, settings()}));
      nodes_.push_back(replicas_.back().get());
      join(*replicas_.back(), masters_.node(i));
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      links_.lead(i, nodes_[i]->port());
      links_.lead(i, support::cluster_bus_port(nodes_[i]->port()));
    }
    // They are connected without proxies still.
    for (auto* const node : nodes_) {
      await_order();
      node->restart();
    }
    await_order();
  }

  std::string url() const override {
    std::vector<std::string> hosts;
    for (const auto port : ports()) {
      hosts.push_back(fmt::format("127.0.0.1:{}", port));
    }
    const auto& location = nodes_.front()->location();
    return fmt::format(
        "redis+cluster://{}:{}@{}?wait-replicas=1&wait-timeout={}ms&connect-timeout=1s&{}",
        location.user, location.password, fmt::join(hosts, ","), lease_times().lease().count() / 10,
        contention_parameters(lease_times()));
  }

  std::vector<std::uint16_t> ports() const override {
    std::vector<std::uint16_t> result;
    for (const auto* const node : nodes_) {
      result.push_back(node->port());
    }
    return result;
  }

  std::vector<std::string> jvm_command(const JvmContender& contender) const override {
    return jvm_redis_command(contender, ports(), "", nodes_.front()->location().password);
  }

  /// "holder": the master with the first mutex; else its replica.
  Server& with_role(std::string_view role) override {
    const auto holder = find([&](const Self& self) {
      return self.master && std::any_of(self.slots.begin(), self.slots.end(), [&](auto range) {
               return range.first <= slot_ && slot_ <= range.second;
             });
    });
    if (role == "holder") {
      return *holder;
    }
    const auto id = self_of(*holder).id;
    return *find([&](const Self& self) { return self.follows == id; });
  }

  std::vector<support::FaultProxy*> ways_to(std::string_view role) override {
    const auto node = std::find(nodes_.begin(), nodes_.end(), &with_role(role));
    return links_.of(static_cast<std::size_t>(node - nodes_.begin()));
  }

  void await_order() override {
    const bool happened = support::within(order_limit, [&] {
      try {
        return std::all_of(nodes_.begin(), nodes_.end(),
                           [this](Server* node) { return is_in_order(*node); });
      } catch (const std::runtime_error&) {  // one does not answer
        return false;
      }
    });
    if (!happened) {
      throw std::runtime_error{"the cluster with replicas does not come together"};
    }
  }

 private:
  static std::vector<std::string> settings() {
    return {"--appendonly",
            "yes",
            "--appendfsync",
            "always",
            "--cluster-allow-replica-migration",
            "no"};
  }

  static Self self_of(const Server& node) {
    return parse_self(RedisConsole{node.location()}.value({"CLUSTER", "NODES"}));
  }

  bool is_in_order(const Server& node) const {
    RedisConsole console{node.location()};
    const auto cluster = console.value({"CLUSTER", "INFO"});
    const auto replication = console.value({"INFO", "replication"});
    return info_value(cluster, "cluster_state") == "ok" &&
           info_value(cluster, "cluster_known_nodes") == std::to_string(nodes_.size()) &&
           (info_value(replication, "role") == "master"
                ? info_value(replication, "connected_slaves") == "1"
                : info_value(replication, "master_link_status") == "up");
  }

  static void join(const Server& replica, const Server& master) {
    RedisConsole console{replica.location()};
    console.ask({"CLUSTER", "MEET", "127.0.0.1", std::to_string(master.port()),
                 std::to_string(support::cluster_bus_port(master.port()))});
    const auto id = self_of(master).id;
    const bool known = support::eventually([&] {
      try {
        console.ask({"CLUSTER", "REPLICATE", id});
        return true;
      } catch (const std::runtime_error&) {  // it does not know the master yet
        return false;
      }
    });
    if (!known) {
      throw std::runtime_error{"a node of the cluster does not become a replica"};
    }
  }

  /// The node that fits. Throws std::runtime_error where none does within the limit.
  Server* find(const std::function<bool(const Self&)>& condition) {
    Server* found = nullptr;
    support::within(order_limit, [&] {
      for (auto* const node : nodes_) {
        try {
          if (condition(self_of(*node))) {
            found = node;
            return true;
          }
        } catch (const std::runtime_error&) {  // it does not answer
        }
      }
      return false;
    });
    if (found == nullptr) {
      throw std::runtime_error{"no node of the cluster plays that part"};
    }
    return found;
  }

  NodeLinks links_;
  support::RedisClusterServers masters_;
  std::vector<std::unique_ptr<Server>> replicas_;
  std::vector<Server*> nodes_;
  const int slot_ = std::stoi(RedisConsole{masters_.node(0).location()}.value(
      {"CLUSTER", "KEYSLOT", fmt::format("{{{}}}", mutexes[0])}));
};

}  // namespace

std::unique_ptr<Servers> open_redis_cluster_replicas(const Stage& stage) {
  return std::make_unique<ReplicatedCluster>(stage);
}

}  // namespace simba::chaos
