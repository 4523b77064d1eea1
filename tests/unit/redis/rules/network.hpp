#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "redis/connection/dialer.hpp"
#include "unit/redis/rules/server.hpp"
#include "unit/rules/network.hpp"
#include "unit/rules/world.hpp"

namespace simba::redis::rules {

using simba::rules::Actor;
using simba::rules::Host;
using simba::rules::World;

class SimConnection;

/// How bad the network is, while it is bad. Each seed has its own.
struct Weather {
  int late_per_thousand = 3;  ///< how much comes later than a lease may last
  int slow_per_thousand = 30;
  std::chrono::nanoseconds messages_lag{0};  ///< of every other connection for messages
  std::chrono::nanoseconds commands_lag{0};
};

/// What lies between the processes and the server. Each connection keeps the order of what it
/// carries, in each direction. What was sent arrives, however late, also after the sender has given
/// up, unless the connection broke.
class Network final : public simba::rules::Network {
 public:
  Network(World& world, Server& server) : world_{world}, server_{server} {}

  /// How all connections are made.
  std::shared_ptr<const ConnectionSettings> settings = std::make_shared<ConnectionSettings>();

  OpenConnection opener(const std::shared_ptr<Host>& host);

  // ---- faults; until `calm`
  void set_rough(const Weather& weather) {
    world_.rough = true;
    weather_ = weather;
  }

  /// Nothing gets through to the host, or from it, or on some of its connections, before that
  /// moment. But nothing is lost.
  void black_hole(const Host& host, LocalTime until);

  /// The same for its commands only: it goes on to hear messages.
  void mute(const Host& host, LocalTime until);

  void break_one(const Host& host) override;
  void crash(Host& host, bool server_hears) override;

  /// Every connection of the server is gone.
  void server_went_down();

  /// Whoever is gone is gone for the server, too.
  void calm();

 private:
  friend class SimConnection;

  std::vector<std::shared_ptr<SimConnection>> alive(const Host* host);
  std::chrono::nanoseconds delay(std::chrono::nanoseconds lag = {});

  World& world_;
  Server& server_;
  Weather weather_{};
  std::vector<std::weak_ptr<SimConnection>> connections_;
  std::vector<std::shared_ptr<Client>> ghosts_;  // of crashed hosts, which the server still serves
};

}  // namespace simba::redis::rules
