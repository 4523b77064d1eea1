#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "unit/rules/network.hpp"
#include "unit/zookeeper/rules/ensemble.hpp"

namespace simba::zookeeper::rules {

using simba::rules::Host;

/// How bad the network is, while it is bad. Each seed has its own.
struct Weather {
  int late_per_thousand = 3;  ///< how much comes later than a session may last
  int slow_per_thousand = 30;
};

class Network;

/// One connection. It keeps the order of what it carries, in each direction. What was sent arrives,
/// however late, also after the sender has given up, unless the connection broke.
class Line : public std::enable_shared_from_this<Line> {
 public:
  struct Events {
    std::function<void(const Say&)> on_say{};
    std::function<void()> on_broken{};
  };

  Line(Network& network, std::shared_ptr<Host> host, std::size_t server, Events events);

  void send(Ask ask);
  /// This end is closed. What was sent before still arrives, as a rule.
  void close();

  // ---- faults
  const Host& host() const noexcept { return *host_; }
  std::size_t server() const noexcept { return server_; }
  bool closed() const noexcept { return closed_; }
  void hold_until(bool up, bool down, LocalTime until);
  /// The server's end goes now, this end after `later`; what is on its way is lost.
  void break_at_server(std::chrono::nanoseconds later);
  /// This end goes now; the server still gets what is on its way, and hears of it `later`.
  void break_here(std::chrono::nanoseconds later);

 private:
  friend class Network;
  enum Direction : std::size_t { up, down };

  void begin();
  LocalTime arrival(Direction direction);
  void broken();

  Network& network_;
  const std::shared_ptr<Host> host_;
  const std::size_t server_;
  Events events_;
  const VisitorPtr visitor_ = std::make_shared<Visitor>();
  bool closed_ = false;
  std::array<LocalTime, 2> last_{LocalTime::min(), LocalTime::min()};
  std::array<LocalTime, 2> held_{LocalTime::min(), LocalTime::min()};
};

/// What lies between the processes and the servers.
class Network final : public simba::rules::Network {
 public:
  Network(World& world, Ensemble& ensemble, Mutation mutation)
      : world_{world}, ensemble_{ensemble}, mutation_{mutation} {}

  World& world() const noexcept { return world_; }
  Ensemble& ensemble() const noexcept { return ensemble_; }
  Mutation mutation() const noexcept { return mutation_; }

  std::shared_ptr<Line> open(const std::shared_ptr<Host>& host, std::size_t server,
                             Line::Events events);

  // ---- faults; until `calm`
  void set_rough(const Weather& weather) {
    world_.rough = true;
    weather_ = weather;
  }
  void calm() { world_.rough = false; }

  /// Nothing gets through to the host, or from it, before that moment. But nothing is lost.
  void black_hole(const Host& host, LocalTime until);
  /// The same for all its connections, also those that it will make.
  void isolate(const Host& host, LocalTime until) { isolated_until_[&host] = until; }
  /// The same for all that is said to the host, which it loses then: carried out, never answered.
  void lose_replies(const Host& host);
  void break_one(const Host& host) override;
  void crash(Host& host, bool server_hears) override;

 private:
  friend class Line;

  std::vector<std::shared_ptr<Line>> alive(const Host& host);
  std::chrono::nanoseconds delay();
  LocalTime isolated_until(const Host& host) const;

  World& world_;
  Ensemble& ensemble_;
  const Mutation mutation_;
  Weather weather_{};
  std::vector<std::weak_ptr<Line>> lines_;
  std::map<const Host*, LocalTime> isolated_until_;
};

}  // namespace simba::zookeeper::rules
