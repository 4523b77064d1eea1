#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "chaos/round_files.hpp"
#include "chaos/servers/node_links.hpp"
#include "chaos/servers/servers.hpp"
#include "support/patience.hpp"
#include "support/processes/child_process.hpp"
#include "support/redis/redis_console.hpp"
#include "support/redis/redis_servers.hpp"

namespace simba::chaos {

namespace {

using namespace std::chrono_literals;
using support::RedisConsole;

std::vector<std::string> durable() { return {"--appendonly", "yes", "--appendfsync", "always"}; }

std::string host_list(const support::Location& location) {
  std::vector<std::string> hosts;
  for (const auto port : location.ports) {
    hosts.push_back(fmt::format("127.0.0.1:{}", port));
  }
  return fmt::format("{}", fmt::join(hosts, ","));
}

void await(const char* what, const std::function<bool()>& condition) {
  const bool happened = support::within(order_limit, [&] {
    try {
      return condition();
    } catch (const std::runtime_error&) {  // someone does not answer
      return false;
    }
  });
  if (!happened) {
    throw std::runtime_error{what};
  }
}

/// Debian's Python, which alone has Debian's module for Redis.
constexpr const char* python = "/usr/bin/python3";

/// Leads all connections of servers to the ports of `to` by proxies, in this order.
std::vector<std::unique_ptr<support::FaultProxy>> lead_by_proxies(
    DetourTable& ways, const std::vector<std::uint16_t>& to) {
  std::vector<std::unique_ptr<support::FaultProxy>> proxies;
  for (const auto port : to) {
    proxies.push_back(std::make_unique<support::FaultProxy>("127.0.0.1", port));
    if (!ways.add(port, proxies.back()->port())) {
      throw std::runtime_error{"too many servers for the table of detours"};
    }
  }
  return proxies;
}

class Sentinels final : public Servers {
 public:
  explicit Sentinels(const Stage& stage)
      : proxies_{lead_by_proxies(*stage.ways, {servers_.node(0).port(), servers_.node(1).port()})} {
    // The replica and the sentinels are connected without proxies still.
    for (std::size_t i = 0; i < proxies_.size(); ++i) {
      RedisConsole{servers_.node(i).location()}.ask({"CLIENT", "KILL", "USER", "admin"});
    }
    await_order();
  }

  std::string url() const override {
    const auto location = servers_.location();
    return fmt::format(
        "redis+sentinel://{0}:{1}@{2}/{3}?sentinel-user={0}&sentinel-password={1}&wait-replicas=1&"
        "wait-timeout={4}ms&connect-timeout=1s&{5}",
        location.user, location.password, host_list(location), location.master_name,
        lease_times().lease().count() / 10, contention_parameters(lease_times()));
  }

  std::vector<std::uint16_t> ports() const override { return ports_; }

  std::vector<std::string> jvm_command(const JvmContender& contender) const override {
    const auto location = servers_.location();
    return jvm_redis_command(contender, location.ports, location.master_name, location.password);
  }

  support::Server& with_role(std::string_view role) override {
    if (role == "sentinel") {
      return servers_.sentinel(0);
    }
    const auto master = servers_.master();
    return servers_.node(role == "master" ? master : 1 - master);
  }

  std::uint64_t moves() override { return servers_.failovers(); }

  std::vector<support::FaultProxy*> ways_to(std::string_view role) override {
    const auto master = servers_.master();
    return {proxies_.at(role == "master" ? master : 1 - master).get()};
  }

  void await_order() override {
    await("the servers and their sentinels do not come together again", [&] {
      const auto master = servers_.master(0);
      for (std::size_t i = 0; i < support::RedisSentinelServers::sentinels; ++i) {
        if (servers_.master(i) != master || servers_.flags_of_master(i) != "master") {
          return false;  // it is down for that one, or a failover has begun
        }
      }
      RedisConsole replica{servers_.node(1 - master).location()};
      const auto info = replica.value({"INFO", "replication"});
      return support::info_value(info, "role") == "slave" &&
             support::info_value(info, "master_link_status") == "up" &&
             support::info_value(info, "master_port") ==
                 std::to_string(servers_.node(master).port());
    });
  }

 private:
  support::RedisSentinelServers servers_{durable()};
  const std::vector<std::unique_ptr<support::FaultProxy>> proxies_;
  const std::vector<std::uint16_t> ports_ = [this] {
    std::vector<std::uint16_t> ports;
    for (std::size_t i = 0; i < 2; ++i) {
      ports.push_back(servers_.node(i).port());
    }
    for (std::size_t i = 0; i < support::RedisSentinelServers::sentinels; ++i) {
      ports.push_back(servers_.sentinel(i).port());
    }
    return ports;
  }();
};

class Cluster final : public Servers {
 public:
  explicit Cluster(const Stage& stage)
      : links_{stage.open_folder, size}, servers_{durable(), [&](std::size_t node) {
                                                    links_.join_by_environment(node);
                                                  }} {
    for (std::size_t node = 0; node < size; ++node) {
      links_.lead(node, support::cluster_bus_port(servers_.node(node).port()));
    }
    // They are connected without proxies still. A node that starts again connects anew, and so do
    // the others to it.
    for (std::size_t i = 0; i < size; ++i) {
      servers_.node(i).restart();
    }
    await_order();
  }

  std::string url() const override {
    const auto location = servers_.location();
    return fmt::format("redis+cluster://{}:{}@{}?connect-timeout=1s&{}", location.user,
                       location.password, host_list(location),
                       contention_parameters(lease_times()));
  }

  std::vector<std::uint16_t> ports() const override { return servers_.location().ports; }

  /// "holder": the one with the first mutex; else another one.
  support::Server& with_role(std::string_view role) override {
    return servers_.node(index_of(role));
  }

  std::vector<support::FaultProxy*> ways_to(std::string_view role) override {
    return links_.of(index_of(role));
  }

  void await_order() override {
    await("the cluster does not come together again", [&] { return servers_.is_ok(); });
  }

  /// The slot of the first mutex moves to the next node.
  void act() override { servers_.move_slot(key_, index_of("other")); }

 private:
  static constexpr std::size_t size = support::RedisClusterServers::size;

  std::size_t index_of(std::string_view role) {
    const auto holder = servers_.node_of(key_);
    return role == "holder" ? holder : (holder + 1) % size;
  }

  /// In the same slot as all keys of the mutex.
  const std::string key_ = fmt::format("{{{}}}", mutexes[0]);
  NodeLinks links_;
  support::RedisClusterServers servers_;
};

}  // namespace

std::vector<std::string> jvm_redis_command(const JvmContender& contender,
                                           const std::vector<std::uint16_t>& ports,
                                           const std::string& master_name,
                                           const std::string& password) {
  static const int missing = support::ChildProcess{{python, "-I", "-c", "import redis"}, {}}.wait();
  if (missing != 0) {
    throw std::runtime_error{"it needs python3-redis"};
  }
  std::vector<std::string> words{python, "-IB", SIMBA_CHAOS_JVM_ON_REDIS};
  const auto common = jvm_words(contender);
  words.insert(words.end(), common.begin(), common.end());
  words.insert(words.end(), {password, fmt::format("{}", fmt::join(ports, ",")), master_name});
  return words;
}

std::unique_ptr<Servers> open_redis_sentinel(const Stage& stage) {
  return std::make_unique<Sentinels>(stage);
}

std::unique_ptr<Servers> open_redis_cluster(const Stage& stage) {
  return std::make_unique<Cluster>(stage);
}

}  // namespace simba::chaos
