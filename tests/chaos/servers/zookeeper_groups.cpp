#include <stdexcept>

#include <fmt/format.h>

#include "chaos/servers/node_links.hpp"
#include "chaos/servers/servers.hpp"
#include "simba/config/make_factory.hpp"
#include "support/jvm/curator_contender.hpp"
#include "support/patience.hpp"
#include "support/zookeeper/zookeeper_servers.hpp"

namespace simba::chaos {

namespace {

using namespace std::chrono_literals;

/// The session takes the place of the lease.
std::string zookeeper_url(const support::Location& location) {
  const auto times = lease_times();
  return fmt::format("zookeeper://{}/?session-timeout={}ms&tick-time={}ms&clock-drift-ppm={}",
                     support::connect_string(location), times.lease().count(), times.tick.count(),
                     times.drift_ppm);
}

/// Of all stores only this one may be left out of a build with tests. Throws Error of kind
/// `unsupported` where it was.
void check_built() { make_factory("zookeeper://nowhere.invalid"); }

/// The real thing: Curator's LeaderLatch, as the JVM library uses it.
std::vector<std::string> curator_command(const JvmContender& contender,
                                         const support::Location& location) {
  if (const auto why = support::CuratorContender::missing(); !why.empty()) {
    throw std::runtime_error{why};
  }
  auto words = support::curator_program("JvmOnZooKeeper");
  const auto common = jvm_words(contender);
  words.insert(words.end(), common.begin(), common.end());
  words.push_back(support::connect_string(location));
  return words;
}

class ZooKeeperAlone final : public Servers {
 public:
  std::string url() const override { return zookeeper_url(server_.location()); }
  std::vector<std::uint16_t> ports() const override { return {server_.port()}; }
  std::vector<std::string> jvm_command(const JvmContender& contender) const override {
    return curator_command(contender, server_.location());
  }
  support::Server& with_role(std::string_view /*role*/) override { return server_; }

 private:
  support::ZooKeeperServer server_;
};

/// Where a node of an ensemble waits for others to follow it. Throws std::runtime_error where it
/// does not tell.
std::uint16_t quorum_port(std::uint16_t client_port) {
  constexpr std::string_view key = "\nquorumPort=";
  const auto answer = support::four_letter_word(client_port, "conf");
  const auto begin = answer.find(key);
  if (begin == std::string::npos) {
    throw std::runtime_error{"a node of the ensemble does not tell its port"};
  }
  return static_cast<std::uint16_t>(std::stoi(answer.substr(begin + key.size())));
}

/// Nodes follow each other by proxies. They elect a leader without.
class ZooKeeperGroup final : public Servers {
 public:
  explicit ZooKeeperGroup(const Stage& stage)
      : links_{stage.open_folder, size}, servers_{{}, [&](std::size_t node) {
                                                    links_.join_by_environment(node);
                                                  }} {
    for (std::size_t node = 0; node < size; ++node) {
      links_.lead(node, quorum_port(servers_.node(node).port()));
    }
    // They are connected without proxies still.
    for (std::size_t i = 0; i < size; ++i) {
      servers_.node(i).restart();
      await_order();
    }
  }

  std::string url() const override { return zookeeper_url(servers_.location()); }
  std::vector<std::uint16_t> ports() const override { return servers_.location().ports; }
  std::vector<std::string> jvm_command(const JvmContender& contender) const override {
    return curator_command(contender, servers_.location());
  }

  support::Server& with_role(std::string_view role) override {
    const auto leader = servers_.leader();
    return servers_.node(role == "leader" ? leader : follower_of(leader));
  }

  std::vector<support::FaultProxy*> ways_to(std::string_view role) override {
    const auto leader = servers_.leader();
    return role == "leader" ? links_.of(leader) : links_.between(follower_of(leader), leader);
  }

  void await_order() override {
    if (!support::within(order_limit, [&] { return servers_.all_serve(); })) {
      throw std::runtime_error{"the ensemble does not come together again"};
    }
  }

 private:
  static constexpr std::size_t size = support::ZooKeeperEnsemble::size;

  static std::size_t follower_of(std::size_t leader) { return (leader + 1) % size; }

  NodeLinks links_;
  support::ZooKeeperEnsemble servers_;
};

}  // namespace

std::unique_ptr<Servers> open_zookeeper(const Stage& /*stage*/) {
  check_built();
  return std::make_unique<ZooKeeperAlone>();
}

std::unique_ptr<Servers> open_zookeeper_ensemble(const Stage& stage) {
  check_built();
  return std::make_unique<ZooKeeperGroup>(stage);
}

}  // namespace simba::chaos
