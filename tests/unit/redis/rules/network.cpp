#include "unit/redis/rules/network.hpp"

#include <utility>

#include "unit/redis/rules/sim_connection.hpp"

namespace simba::redis::rules {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

OpenConnection Network::opener(const std::shared_ptr<Host>& host) {
  return [this, host](const Endpoint& /*endpoint*/, std::shared_ptr<const ConnectionSettings> how,
                      Connection::Use use, Connection::Events events) {
    auto connection =
        std::make_shared<SimConnection>(*this, host, std::move(how), use, std::move(events));
    connections_.push_back(connection);
    connection->begin();
    return connection;
  };
}

nanoseconds Network::delay(nanoseconds lag) {
  if (world_.rough) {
    if (world_.chance(weather_.late_per_thousand)) return world_.between(50ms, 1'500ms);
    if (world_.chance(weather_.slow_per_thousand)) return world_.between(2ms, 50ms);
    if (lag > 0ns) return world_.between(50us, lag);
  }
  return world_.between(50us, 1ms);
}

std::vector<std::shared_ptr<SimConnection>> Network::alive(const Host* host) {
  std::erase_if(connections_, [](const auto& connection) {
    const auto held = connection.lock();
    return !held || held->closed();
  });
  std::vector<std::shared_ptr<SimConnection>> found;
  for (const auto& weak : connections_) {
    auto connection = weak.lock();
    if (host == nullptr || &connection->host() == host) found.push_back(std::move(connection));
  }
  return found;
}

void Network::black_hole(const Host& host, LocalTime until) {
  const auto which = world_.below(3);
  const bool all = world_.chance(500);
  for (const auto& connection : alive(&host)) {
    if (!all && world_.chance(500)) continue;
    connection->hold_until(which != 1, which != 2, until);
  }
}

void Network::mute(const Host& host, LocalTime until) {
  for (const auto& connection : alive(&host)) {
    if (connection->use() == Connection::Use::commands) connection->hold_until(true, true, until);
  }
}

void Network::break_one(const Host& host) {
  const auto candidates = alive(&host);
  if (candidates.empty()) return;
  const auto& connection = candidates[world_.below(candidates.size())];
  if (world_.chance(500)) {
    connection->break_at_server(world_.chance(500) ? 0ns : world_.between(0ns, 100ms));
  } else {
    connection->break_here(world_.chance(500) ? 0ns : world_.between(0ns, 800ms));
  }
}

void Network::crash(Host& host, bool server_hears) {
  for (const auto& connection : alive(&host)) {
    if (server_hears) {
      server_.forget(connection->client());
    } else {
      ghosts_.push_back(connection->client());
    }
  }
  host.cut_off = true;
}

void Network::server_went_down() {
  for (const auto& connection : alive(nullptr)) {
    connection->break_at_server(world_.between(0ns, 5ms));
  }
}

void Network::calm() {
  world_.rough = false;
  for (const auto& ghost : std::exchange(ghosts_, {})) server_.forget(ghost);
}

}  // namespace simba::redis::rules
