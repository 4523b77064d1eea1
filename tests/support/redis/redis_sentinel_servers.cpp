#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "support/redis/redis_console.hpp"
#include "support/redis/redis_servers.hpp"

namespace simba::support {

namespace {

constexpr std::chrono::seconds sentinel_limit{60};
constexpr const char* master_name = "mymaster";

/// The value of a field in an answer that gives names and values in turn.
std::string field(const RedisAnswer& fields, std::string_view name) {
  for (std::size_t i = 0; i + 1 < fields.items.size(); i += 2) {
    if (fields.items[i].text == name) {
      return fields.items[i + 1].text;
    }
  }
  return {};
}

/// Whether this sentinel could carry out a fail-over now.
bool is_ready(RedisConsole& sentinel) {
  const auto master = sentinel.ask({"SENTINEL", "MASTER", master_name});
  const auto replicas = sentinel.ask({"SENTINEL", "REPLICAS", master_name});
  return field(master, "flags") == "master" &&
         field(master, "num-other-sentinels") ==
             std::to_string(RedisSentinelServers::sentinels - 1) &&
         replicas.items.size() == 1 && field(replicas.items[0], "flags") == "slave" &&
         field(replicas.items[0], "master-link-status") == "ok";
}

}  // namespace

RedisSentinelServers::RedisSentinelServers(const std::vector<std::string>& arguments, Tls tls) {
  for (int i = 0; i < 2; ++i) {
    nodes_.push_back(std::make_unique<Server>(
        node_of_group("redis", tls, arguments, nodes_.empty() ? nullptr : nodes_.front().get())));
  }
  const auto master = std::to_string(nodes_[0]->port());
  const auto password = nodes_[0]->location().password;
  RedisConsole replica{nodes_[1]->location()};
  replica.ask({"REPLICAOF", "127.0.0.1", master});
  replica.ask({"CONFIG", "REWRITE"});
  for (std::size_t i = 0; i < sentinels; ++i) {
    sentinels_.push_back(std::make_unique<Server>(
        node_of_group("redis-sentinel-node", tls, {}, nodes_.front().get())));
    RedisConsole sentinel{sentinels_.back()->location()};
    sentinel.ask({"SENTINEL", "MONITOR", master_name, "127.0.0.1", master, "2"});
    sentinel.ask({"SENTINEL", "SET", master_name, "auth-user", "admin", "auth-pass", password,
                  "down-after-milliseconds", "1000", "failover-timeout", "3000"});
  }
  const auto deadline = std::chrono::steady_clock::now() + sentinel_limit;
  while (!is_ready()) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error{"test sentinels: they do not come together"};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
}

bool RedisSentinelServers::is_ready() {
  RedisConsole replica{nodes_[1]->location()};
  return info_value(replica.value({"INFO", "replication"}), "master_link_status") == "up" &&
         std::all_of(sentinels_.begin(), sentinels_.end(), [](const auto& server) {
           RedisConsole sentinel{server->location()};
           return support::is_ready(sentinel);
         });
}

Location RedisSentinelServers::location() const {
  auto location = sentinels_.front()->location();
  location.socket.clear();
  location.certificates = nodes_.front()->location().certificates;
  location.master_name = master_name;
  for (const auto& sentinel : sentinels_) {
    location.ports.push_back(sentinel->port());
  }
  return location;
}

std::uint16_t RedisSentinelServers::master_port(std::size_t sentinel) {
  const auto answer = RedisConsole{this->sentinel(sentinel).location()}.ask(
      {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master_name});
  return answer.items.size() == 2 ? static_cast<std::uint16_t>(std::stoi(answer.items[1].text)) : 0;
}

std::string RedisSentinelServers::flags_of_master(std::size_t sentinel) {
  return fact_of_master(sentinel, "flags");
}

std::uint64_t RedisSentinelServers::failovers() {
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < sentinels; ++i) {
    try {
      most = std::max<std::uint64_t>(most, std::stoull(fact_of_master(i, "config-epoch")));
    } catch (const std::exception&) {  // it is down: the others know
    }
  }
  return most;
}

std::string RedisSentinelServers::fact_of_master(std::size_t sentinel, const std::string& name) {
  const auto facts = RedisConsole{this->sentinel(sentinel).location()}
                         .ask({"SENTINEL", "MASTER", master_name})
                         .texts();
  const auto found = std::find(facts.begin(), facts.end(), name);
  return found == facts.end() || found + 1 == facts.end() ? "" : *(found + 1);
}

std::size_t RedisSentinelServers::master(std::size_t sentinel) {
  const auto port = master_port(sentinel);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i]->port() == port) {
      return i;
    }
  }
  throw std::runtime_error{fmt::format("the sentinels know no master ({})", port)};
}

}  // namespace simba::support
