#include "unit/zookeeper/rules/play.hpp"

#include "unit/rules/director.hpp"
#include "unit/zookeeper/rules/stage.hpp"

namespace simba::zookeeper::rules {
namespace {

using namespace std::chrono_literals;
using simba::rules::Pace;
using std::chrono::nanoseconds;
using Fault = Outcome::Fault;

/// A hand-over costs a few messages of at most a millisecond between five parties, and what
/// callbacks take.
constexpr nanoseconds prompt = 40ms;

Pace pace_in(World& world, const EnsembleConfig& config) {
  Pace pace{.trouble_lasts = 40s, .lull = 900ms};
  pace.calmness = world.chance(300) ? 20ms : world.chance(500) ? 100ms : 400ms;
  pace.toggles = 200 + static_cast<int>(world.below(600));
  pace.patience = config.timeout + 2 * config.tick + 2s;
  return pace;
}

Weather weather_in(World& world) {
  Weather weather;
  weather.late_per_thousand = static_cast<int>(world.below(6));
  weather.slow_per_thousand = static_cast<int>(world.below(80));
  return weather;
}

class Director final : public simba::rules::Director {
 public:
  explicit Director(Stage& stage)
      : simba::rules::Director{stage, stage.network, pace_in(stage.world, stage.ensemble.config())},
        stage_{stage} {
    stage_.network.set_rough(weather_in(world_));
  }

 private:
  void disturb_others() override;
  void calm() override;
  void watch_hand_overs() override;

  void disturb(Process& process);
  void disturb_servers();
  void disturb_nodes();

  Stage& stage_;
  int crashes_ = 0;
};

void Director::disturb_others() {
  const std::size_t what = world_.below(100);
  if (what < 70) {
    disturb(someone());
  } else if (what < 90) {
    disturb_servers();
  } else {
    disturb_nodes();
  }
}

void Director::disturb(Process& process) {
  const std::string& name = process.host().name;
  const std::size_t what = world_.below(100);
  if (what < 30) {
    world_.note("the connection of " + name + " breaks");
    stage_.network.break_one(process.host());
  } else if (what < 45) {
    world_.note("replies to " + name + " get lost");
    stage_.network.lose_replies(process.host());
  } else if (what < 70) {
    world_.note("black hole before " + name);
    const LocalTime until = in(20ms, world_.chance(500) ? 500ms : 3'000ms);
    world_.chance(500) ? stage_.network.black_hole(process.host(), until)
                       : stage_.network.isolate(process.host(), until);
  } else if (what < 94) {
    world_.note(name + " is paused");
    process.actor().pause_until(in(10ms, world_.chance(500) ? 300ms : 2'500ms));
  } else if (++crashes_ <= 3) {
    crash(process, world_.chance(500));
  }
}

void Director::disturb_servers() {
  Ensemble& ensemble = stage_.ensemble;
  const std::size_t number = world_.below(Ensemble::size);
  const std::size_t what = world_.below(100);
  if (what < 15) {
    // Both stand in the same place.
    Process& process = someone();
    world_.note(process.host().name + " is isolated");
    const LocalTime until = in(500ms, 3'000ms);
    stage_.network.isolate(process.host(), until);
    world_.chance(500) ? ensemble.cut_off(number, until) : ensemble.crash(number, until);
  } else if (what < 40) {
    ensemble.cut_off(number, in(50ms, world_.chance(500) ? 500ms : 3'000ms));
  } else if (what < 70) {
    ensemble.pause(number, in(5ms, world_.chance(600) ? 100ms : 1'500ms));
  } else {
    ensemble.crash(number, in(50ms, 2'000ms));
  }
}

void Director::disturb_nodes() {
  if (world_.chance(600)) {
    stage_.ensemble.remove_empty_containers();
    return;
  }
  const auto line = stage_.line_at(stage_.mutexes[world_.below(stage_.mutexes.size())]);
  if (line.empty()) return;
  const Latch& latch = line[world_.chance(500) ? 0 : world_.below(line.size())];
  world_.chance(700) ? stage_.remove_by_hand(latch) : stage_.end_session_by_hand(latch.session);
}

void Director::calm() {
  stage_.network.calm();
  stage_.ensemble.calm();
}

void Director::watch_hand_overs() {
  stage_.check_everyone_waits();
  stage_.demand_owners(world_.now(), prompt, Fault::slow_hand_over);
  for (int i = 0; i < 60 && !stage_.failed(); ++i) {
    toggle_one();
    go_on(world_.between(0ms, world_.chance(500) ? 10ms : 150ms));
    if (i % 20 == 10) stage_.ensemble.remove_empty_containers();
  }
  go_on(world_.between(400ms, 3s));
  stage_.check_observers();
}

}  // namespace

Outcome play(std::uint64_t seed, Mutation mutation) {
  Stage stage{seed, mutation};
  stage.gather();
  return Director{stage}.play();
}

}  // namespace simba::zookeeper::rules
