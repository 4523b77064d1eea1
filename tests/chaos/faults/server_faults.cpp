#include "chaos/faults/server_faults.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "chaos/faults/clock_line.hpp"
#include "chaos/servers/servers.hpp"

namespace simba::chaos {

namespace {

using namespace std::chrono_literals;
using support::Server;

FaultKind on_server(std::string name, const std::string& role, std::chrono::milliseconds shortest,
                    std::chrono::milliseconds longest, void (Server::*harm)(),
                    void (Server::*heal)()) {
  return {.name = std::move(name),
          .shortest = shortest,
          .longest = longest,
          .begin =
              [role, harm, heal](const Scene& scene, ChaosRandom& /*random*/) {
                auto& server = scene.servers.with_role(role);
                std::invoke(harm, server);
                return Running{.lane = -1,
                               .what = fmt::format("port {}", server.port()),
                               .end = [&server, &servers = scene.servers, heal] {
                                 std::invoke(heal, server);
                                 servers.await_order();
                               }};
              },
          .on_servers = true};
}

FaultKind slewed(std::string name, void (*set)(ClockSkew&, std::int64_t),
                 std::chrono::milliseconds lease, int ppm) {
  return {.name = std::move(name),
          .shortest = lease,
          .longest = lease * 2,
          .begin = [set, ppm](const Scene& scene, ChaosRandom& random) {
            auto& clocks = scene.server_clocks;
            const int rate = random() % 2 == 0 ? -ppm : ppm;
            set(clocks, rate);
            return Running{.lane = -1,
                           .what = fmt::format("{:+d} ppm", rate),
                           .end = [&clocks, set] { set(clocks, 0); }};
          }};
}

void set_wall_rate(ClockSkew& clocks, std::int64_t ppm) {
  set_rate(clocks.wall, CLOCK_REALTIME, ppm);
}

}  // namespace

std::vector<FaultKind> server_faults(const std::string& name, const std::string& role,
                                     std::chrono::milliseconds lease,
                                     std::chrono::milliseconds longest) {
  return {on_server(name + " killed", role, 0ms, longest, &Server::kill, &Server::start),
          on_server(name + " stopped", role, 0ms, longest, &Server::stop, &Server::start),
          on_server(name + " paused within the lease", role, lease / 10, lease / 2, &Server::pause,
                    &Server::resume),
          on_server(name + " paused past the lease", role, lease + 200ms, longest, &Server::pause,
                    &Server::resume)};
}

std::vector<FaultKind> main_server_faults(const std::string& name, const std::string& role,
                                          std::chrono::milliseconds lease,
                                          std::chrono::milliseconds longest) {
  auto kinds = server_faults(name, role, lease, longest);
  kinds.front().basic = true;
  kinds.back().basic = true;
  return kinds;
}

FaultKind cut_off_from_servers(const std::string& name, const std::string& role,
                               std::chrono::milliseconds lease) {
  return {.name = name + " cut off from other servers",
          .shortest = lease / 2,
          .longest = lease * 3,
          .begin =
              [role](const Scene& scene, ChaosRandom& /*random*/) {
                const auto ways = scene.servers.ways_to(role);
                if (std::all_of(ways.begin(), ways.end(),
                                [](auto* way) { return way->counters().open == 0; })) {
                  throw std::runtime_error{"no server uses the ways to the " + role};
                }
                for (auto* const way : ways) {
                  way->black_hole();
                }
                return Running{.lane = -1, .what = "", .end = [ways, &servers = scene.servers] {
                                 for (auto* const way : ways) {
                                   way->mend();
                                 }
                                 servers.await_order();
                               }};
              },
          .on_servers = true,
          .basic = true};
}

FaultKind server_wall_clock_slewed(std::chrono::milliseconds lease, int ppm) {
  return slewed("server's wall clock fast or slow", set_wall_rate, lease, ppm);
}

FaultKind server_steady_clock_slewed(std::chrono::milliseconds lease, int ppm) {
  return slewed("server's steady clock fast or slow", set_steady_rate, lease, ppm);
}

FaultKind server_wall_clock_set_back(std::chrono::milliseconds lease) {
  const auto longest_step = lease * 3 / 4;
  return {.name = "server's wall clock set back",
          .shortest = lease + longest_step,
          .longest = lease + longest_step,
          .begin =
              [longest_step](const Scene& scene, ChaosRandom& random) {
                const auto back = std::chrono::milliseconds{
                    50 + random() % static_cast<std::uint64_t>(longest_step.count() - 50)};
                step_wall(scene.server_clocks, -(back / 1ns));
                return Running{.lane = -1, .what = fmt::format("{} ms", back.count())};
              },
          .steps_wall_clock = true};
}

FaultKind server_wall_clock_set_forward(std::chrono::milliseconds lease) {
  return {.name = "server's wall clock set forward",
          .shortest = lease,
          .longest = lease,
          .begin =
              [lease](const Scene& scene, ChaosRandom& /*random*/) {
                step_wall(scene.server_clocks, lease / 1ns);
                return Running{.lane = -1, .what = fmt::format("{} ms", lease.count())};
              },
          .steps_wall_clock = true};
}

FaultKind server_wall_clock_set(std::chrono::milliseconds lease) {
  return {.name = "server's wall clock set",
          .shortest = lease / 2,
          .longest = lease,
          .begin =
              [](const Scene& scene, ChaosRandom& random) {
                const auto hours = static_cast<std::int64_t>(1 + random() % 48);
                const auto jump = (random() % 2 == 0 ? hours : -hours) * (1h / 1ns);
                step_wall(scene.server_clocks, jump);
                return Running{
                    .lane = -1,
                    .what = fmt::format("{:+d} h", jump / (1h / 1ns)),
                    .end = [&clocks = scene.server_clocks, jump] { step_wall(clocks, -jump); }};
              },
          .steps_wall_clock = true};
}

FaultKind servers_act(std::string name) {
  return {.name = std::move(name),
          .begin =
              [](const Scene& scene, ChaosRandom& /*random*/) {
                scene.servers.act();
                return Running{};
              },
          .on_servers = true};
}

}  // namespace simba::chaos
