#include "chaos/faults/contender_faults.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "chaos/contenders/crew.hpp"
#include "chaos/faults/clock_line.hpp"
#include "chaos/raw_clock.hpp"
#include "chaos/round_files.hpp"
#include "support/patience.hpp"

namespace simba::chaos {

namespace {

using namespace std::chrono_literals;
using support::FaultProxy;

/// Mostly the owner of one of the mutexes, or who runs a slot.
int choose(const Crew& crew, ChaosRandom& random) {
  if (random() % 4 != 0) {
    const auto which = random() % 6;
    const auto owner = which < 4 ? crew.owner(which == 3 ? 1 : 0) : crew.runner(which - 4);
    if (owner) {
      return *owner;
    }
  }
  return static_cast<int>(random() % static_cast<std::uint64_t>(crew.size()));
}

Running on(const Crew& crew, int lane, std::function<void()> end = {}) {
  return {.lane = lane, .what = crew.name(lane), .end = std::move(end)};
}

/// A fault on all ways of one contender until it is mended.
FaultKind on_ways(std::string name, std::chrono::milliseconds shortest,
                  std::chrono::milliseconds longest,
                  std::function<void(FaultProxy&, ChaosRandom&)> harm) {
  return {.name = std::move(name),
          .shortest = shortest,
          .longest = longest,
          .begin = [harm = std::move(harm)](const Scene& scene, ChaosRandom& random) {
            auto& crew = scene.crew;
            const int lane = choose(crew, random);
            for (auto* const way : crew.ways(lane)) {
              harm(*way, random);
            }
            return on(crew, lane, [&crew, lane] {
              for (auto* const way : crew.ways(lane)) {
                way->mend();
              }
            });
          }};
}

void add_process_faults(std::vector<FaultKind>& kinds, std::chrono::milliseconds lease) {
  kinds.push_back({.name = "contender killed",
                   .shortest = 0ms,
                   .longest = lease / 2,
                   .begin =
                       [](const Scene& scene, ChaosRandom& random) {
                         auto& crew = scene.crew;
                         const int lane = choose(crew, random);
                         crew.kill(lane);
                         return on(crew, lane, [&crew, lane] { crew.start(lane); });
                       },
                   .basic = true,
                   .count_from = CountFrom::begin});
  kinds.push_back({.name = "contender killed while it runs a slot",
                   .shortest = 0ms,
                   .longest = lease / 2,
                   .begin =
                       [](const Scene& scene, ChaosRandom& random) {
                         auto& crew = scene.crew;
                         const auto schedule = random() % schedules.size();
                         std::optional<int> runner;
                         support::within(2s, [&] {
                           runner = crew.runner(schedule);
                           return runner.has_value();
                         });
                         const int lane = runner.value_or(0);
                         crew.kill(lane);
                         return on(crew, lane, [&crew, lane] { crew.start(lane); });
                       },
                   .basic = true,
                   .count_from = CountFrom::begin});
  const auto pause = [](const Scene& scene, ChaosRandom& random) {
    auto& crew = scene.crew;
    const int lane = choose(crew, random);
    crew.pause(lane);
    auto running = on(crew, lane, [&crew, lane] { crew.resume(lane); });
    running.holds_up_all = crew.holds_file_lock(lane);
    running.what += running.holds_up_all ? ", with the lock of a file" : "";
    return running;
  };
  kinds.push_back({.name = "contender paused within its lease",
                   .shortest = lease / 10,
                   .longest = lease / 2,
                   .begin = pause});
  kinds.push_back({.name = "contender paused past its lease",
                   .shortest = lease + 200ms,
                   .longest = lease * 2,
                   .begin = pause,
                   .basic = true});
}

std::uint64_t cuts_on(Crew& crew, int lane) {
  std::uint64_t sum = 0;
  for (auto* const way : crew.ways(lane)) {
    sum += way->counters().cuts;
  }
  return sum;
}

/// Lasts until one was lost; one that another fault keeps from asking loses none.
FaultKind reply_lost(std::chrono::milliseconds lease) {
  return {.name = "reply lost", .begin = [lease](const Scene& scene, ChaosRandom& random) {
            auto& crew = scene.crew;
            const int lane = choose(crew, random);
            const auto before = cuts_on(crew, lane);
            for (auto* const way : crew.ways(lane)) {
              way->cut_next_reply();
            }
            return on(crew, lane, [&crew, lane, before, lease] {
              const auto deadline = support::now() + lease;
              support::eventually(
                  [&] { return cuts_on(crew, lane) > before || support::now() > deadline; });
              for (auto* const way : crew.ways(lane)) {
                way->mend();
              }
            });
          }};
}

void add_network_faults(std::vector<FaultKind>& kinds, std::chrono::milliseconds lease) {
  const auto black_hole = [](FaultProxy& way, ChaosRandom&) { way.black_hole(); };
  kinds.push_back(on_ways("contender cut off within its lease", lease / 10, lease / 2, black_hole));
  kinds.push_back(
      on_ways("contender cut off past its lease", lease + 200ms, lease * 2, black_hole));
  kinds.back().basic = true;
  kinds.push_back(on_ways("connections refused", lease / 10, lease * 2,
                          [](FaultProxy& way, ChaosRandom&) { way.cut(); }));
  kinds.push_back(on_ways("connections reset", 0ms, 0ms,
                          [](FaultProxy& way, ChaosRandom&) { way.reset_all(); }));
  kinds.push_back(reply_lost(lease));
  kinds.push_back(
      on_ways("network slow", lease / 2, lease * 2, [](FaultProxy& way, ChaosRandom& random) {
        way.delay(std::chrono::milliseconds{10 + random() % 240});
      }));
  kinds.push_back({.name = "all contenders cut off past their leases",
                   .shortest = lease + 200ms,
                   .longest = lease * 3 / 2,
                   .begin =
                       [](const Scene& scene, ChaosRandom&) {
                         auto& crew = scene.crew;
                         for (int lane = 0; lane < crew.size(); ++lane) {
                           for (auto* const way : crew.ways(lane)) {
                             way->black_hole();
                           }
                         }
                         return Running{.lane = -1, .what = "all ways", .end = [&crew] {
                                          for (int lane = 0; lane < crew.size(); ++lane) {
                                            for (auto* const way : crew.ways(lane)) {
                                              way->mend();
                                            }
                                          }
                                        }};
                       },
                   .leaves_no_owner = true});
}

/// One on which there is a connection, where there is any.
FaultProxy* choose_used(std::vector<FaultProxy*> ways, ChaosRandom& random) {
  const auto unused = std::partition(ways.begin(), ways.end(),
                                     [](FaultProxy* way) { return way->counters().open != 0; });
  if (unused != ways.begin()) {
    ways.erase(unused, ways.end());
  }
  return ways.at(random() % ways.size());
}

/// The contender must find its way to another one.
FaultKind cut_off_from_one_server(std::chrono::milliseconds lease) {
  return {.name = "contender cut off from one server",
          .shortest = lease / 4,
          .longest = lease * 2,
          .begin = [](const Scene& scene, ChaosRandom& random) {
            const int lane = choose(scene.crew, random);
            auto* const way = choose_used(scene.crew.ways(lane), random);
            way->black_hole();
            return on(scene.crew, lane, [way] { way->mend(); });
          }};
}

}  // namespace

std::vector<FaultKind> contender_faults(const ContenderFaultOptions& options) {
  const auto lease = options.lease;
  std::vector<FaultKind> kinds;
  add_process_faults(kinds, lease);
  if (options.network) {
    add_network_faults(kinds, lease);
  }
  if (options.group) {
    kinds.push_back(cut_off_from_one_server(lease));
  }
  kinds.push_back(
      {.name = "contender's wall clock set",
       .shortest = lease / 2,
       .longest = lease,
       .begin =
           [most_forward = std::chrono::nanoseconds{options.most_forward}](const Scene& scene,
                                                                           ChaosRandom& random) {
             auto& crew = scene.crew;
             const int lane = choose(crew, random);
             const auto hours = static_cast<std::int64_t>(1 + random() % 48);
             const auto jump = random() % 2 == 0 ? std::min(hours * (1h / 1ns), most_forward / 1ns)
                                                 : -hours * (1h / 1ns);
             step_wall(crew.clocks(lane), jump);
             return Running{.lane = lane,
                            .what = fmt::format("{}, {:+.3f} h", crew.name(lane),
                                                static_cast<double>(jump) / (1h / 1.0ns)),
                            .end = [&crew, lane, jump] { step_wall(crew.clocks(lane), -jump); }};
           },
       .steps_wall_clock = true});
  if (options.drift_ppm != 0) {
    kinds.push_back(
        {.name = "contender's clock fast or slow",
         .shortest = lease,
         .longest = lease * 2,
         .begin = [ppm = options.drift_ppm](const Scene& scene, ChaosRandom& random) {
           const int lane = choose(scene.crew, random);
           auto& clocks = scene.crew.clocks(lane);
           // Back towards the true time: it must not be far off for long.
           const int rate = clocks.boot.read().at(raw_clock(CLOCK_BOOTTIME)) > 0 ? -ppm : ppm;
           set_steady_rate(clocks, rate);
           return Running{.lane = lane,
                          .what = fmt::format("{}, {:+d} ppm", scene.crew.name(lane), rate),
                          .end = [&clocks] { set_steady_rate(clocks, 0); }};
         }});
  }
  return kinds;
}

}  // namespace simba::chaos
