#include <algorithm>
#include <arpa/inet.h>
#include <cstdint>
#include <iostream>
#include <memory>
#include <netinet/in.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "process/zookeeper/contenders.hpp"
#include "support/free_ports.hpp"
#include "support/safety.hpp"

namespace simba::zookeeper::test {
namespace {

using support::eventually;
using support::FaultProxy;
using support::now;
using support::scaled;
using support::within;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// Whether someone listens there.
bool listens(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto address = loopback(port);
  // NOLINTNEXTLINE(*-reinterpret-cast): the interface of sockets
  const auto* const there = reinterpret_cast<const sockaddr*>(&address);
  const bool answered = ::connect(socket, there, sizeof address) == 0;
  ::close(socket);
  return answered;
}

/// Three servers each of which reaches each other one, as its leader, by a proxy of its own. They
/// elect the leader without proxies. For longer than a session lasts they believe in each other.
class DividedEnsemble {
 public:
  static constexpr std::size_t size = 3;

  DividedEnsemble() {
    const auto& ports = ports_;
    ports_.release();
    for (std::size_t from = 0; from < size; ++from) {
      auto words = with_long_tick();
      words.insert(words.end(), {"initLimit=10", "syncLimit=20"});
      for (std::size_t to = 0; to < size; ++to) {
        proxies_.push_back(std::make_unique<FaultProxy>("127.0.0.1", ports[2 * to]));
        proxies_.back()->cut();
        words.push_back(fmt::format("server.{}=127.0.0.1:{}:{}", to + 1,
                                    from == to ? ports[2 * to] : proxies_.back()->port(),
                                    ports[2 * to + 1]));
      }
      words.push_back(fmt::format("myid={}", from + 1));
      nodes_.push_back(std::make_unique<support::Server>(
          support::ServerOptions{"zookeeper-node", support::Tls::off, std::move(words)}));
    }
  }

  /// Waits until all serve. A follower gives up a leader that accepts it and then does not answer,
  /// so a way is open only where someone listens at its end: who leads.
  bool comes_together() {
    return eventually([&] {
      for (std::size_t to = 0; to < size; ++to) {
        const bool leads = listens(ports_[2 * to]);
        for (std::size_t from = 0; from < size; ++from) {
          if (leads) way(from, to).mend();
          if (!leads) way(from, to).cut();
        }
      }
      return all_serve();
    });
  }

  bool all_serve() const {
    std::size_t serving = 0;
    for (const auto& node : nodes_) {
      const auto mode = support::zookeeper_mode(node->port());
      if (mode == "leader" || mode == "follower") ++serving;
    }
    return serving == size;
  }

  std::size_t leader() const {
    for (std::size_t i = 0; i < size; ++i) {
      if (support::zookeeper_mode(nodes_[i]->port()) == "leader") return i;
    }
    throw std::runtime_error{"no server leads"};
  }

  /// What the servers say, for messages of failed tests.
  std::string log() const {
    std::string all;
    for (const auto& node : nodes_) all += node->log();
    return all;
  }

  std::uint16_t port(std::size_t index) const { return nodes_.at(index)->port(); }

  /// The way by which one follows the other.
  FaultProxy& way(std::size_t from, std::size_t to) { return *proxies_.at(from * size + to); }

 private:
  support::FreePorts ports_{2 * size};
  std::vector<std::unique_ptr<FaultProxy>> proxies_;
  std::vector<std::unique_ptr<support::Server>> nodes_;
};

std::unique_ptr<MutexServiceFactory> factory_of(std::uint16_t port) {
  auto options = options_of(port);
  options.runtime = make_runtime({.log = std::make_shared<testkit::CapturingLogger>()});
  return make_zookeeper_factory(options);
}

// The follower goes on answering its client, as the connection is fine; but the leader ends the
// session. Who counted from these answers would own together with the next one.
TEST(ZooKeeperPartition, AnOwnerAtAFollowerThatIsCutOffStepsDownBeforeAnotherOwns) {
  DividedEnsemble ensemble;
  ASSERT_TRUE(ensemble.comes_together()) << ensemble.log();
  const auto leader = ensemble.leader();
  const auto cut_off = (leader + 1) % DividedEnsemble::size;
  const auto other = (leader + 2) % DividedEnsemble::size;
  for (const auto of_waiter : {leader, other}) {
    const auto one = factory_of(ensemble.port(cut_off));
    const auto two = factory_of(ensemble.port(of_waiter));
    const Contending owner{*one, "m"};
    ASSERT_TRUE(owner.owns());
    const Contending waiter{*two, "m"};
    ASSERT_TRUE(eventually([&] { return !waiter.contender.owners().empty(); }));

    ensemble.way(cut_off, leader).black_hole();
    const auto begin = now();
    bool both = false;
    LocalTime stepped_down = LocalTime::max();
    EXPECT_TRUE(within(session_end + 2s, [&] {
      const bool waiter_owns = waiter.service->is_owner();
      const bool owner_owns = owner.service->is_owner();
      if (!owner_owns) stepped_down = std::min(stepped_down, now());
      both = both || (waiter_owns && owner_owns);
      return waiter_owns;
    }));
    EXPECT_FALSE(both) << support::safety_violation << "two owners";
    EXPECT_EQ(owner.count<AtRisk>(), 1U);
    EXPECT_EQ(support::zookeeper_mode(ensemble.port(cut_off)), "follower")
        << "the server knows: the test does not show what it should";
    std::cout << "stepped down " << (now() - stepped_down) / 1ms << " ms before the other owned, "
              << (now() - begin) / 1ms << " ms after the cut\n";
    EXPECT_TRUE(ensemble.comes_together()) << ensemble.log();
    waiter.service->stop();
    EXPECT_TRUE(owner.owns(2));
  }
}

}  // namespace
}  // namespace simba::zookeeper::test
