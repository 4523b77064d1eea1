#include "unit/zookeeper/rules/play.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "unit/zookeeper/rules/stage.hpp"

namespace simba::zookeeper::rules {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using Fault = Outcome::Fault;

constexpr nanoseconds trouble_lasts = 40s;

/// A hand-over costs a few messages of at most a millisecond between five parties, and what
/// callbacks take.
constexpr nanoseconds prompt = 40ms;

class Director {
 public:
  explicit Director(Stage& stage) : stage_{stage}, world_{stage.world} {
    calmness_ = world_.chance(300) ? 20ms : world_.chance(500) ? 100ms : 400ms;
    toggles_ = 200 + static_cast<int>(world_.below(600));
    weather_.late_per_thousand = static_cast<int>(world_.below(6));
    weather_.slow_per_thousand = static_cast<int>(world_.below(80));
  }

  void make_trouble();
  void make_peace();
  void watch_hand_overs();
  void end();

 private:
  Process* someone() {
    std::vector<Process*> all;
    for (const auto& process : stage_.processes) {
      if (!process->crashed()) all.push_back(process.get());
    }
    return all[world_.below(all.size())];
  }

  void toggle(Process& process);
  void toggle_one();
  void disturb();
  void disturb(Process& process);
  void disturb_servers();
  void disturb_nodes();
  void crash(Process& process);
  void go_on(nanoseconds span) {
    world_.run_until(world_.now() + span);
    stage_.check();
  }
  LocalTime in(nanoseconds least, nanoseconds most) {
    return std::min(world_.now() + world_.between(least, most), trouble_ends_);
  }

  Stage& stage_;
  World& world_;
  nanoseconds calmness_{0};  // between two events, at most
  int toggles_ = 0;          // of a thousand events: someone starts or stops
  Weather weather_{};
  LocalTime trouble_ends_ = never;
  int crashes_ = 0;
};

void Director::toggle(Process& process) {
  if (process.actor().paused()) return;
  auto& member = process.members()[world_.below(process.members().size())];
  if (member.running_since == never) {
    process.start(member);
  } else {
    process.stop(member);
    if (!world_.chance(300)) return;  // else it comes back at once
    go_on(world_.between(0ms, 3ms));
    if (!process.actor().paused() && member.running_since == never) process.start(member);
  }
}

void Director::toggle_one() {
  if (!stage_.curators.empty() && world_.chance(200)) {
    const auto& curator = stage_.curators.front();
    if (curator->host().actor->paused()) return;
    // One that is closed before it is connected may leave a session behind.
    if (!world_.rough && curator->running() && curator->waiting_since() == never) return;
    curator->running() ? curator->stop() : curator->start();
  } else {
    toggle(*someone());
  }
}

void Director::make_trouble() {
  trouble_ends_ = world_.now() + trouble_lasts;
  stage_.network.set_rough(weather_);
  for (const auto& process : stage_.processes) {
    for (auto& member : process->members()) process->start(member);
  }
  for (const auto& curator : stage_.curators) curator->start();
  while (world_.now() < trouble_ends_ && !stage_.failed()) {
    go_on(world_.between(0ms, world_.chance(900) ? calmness_ : 900ms));
    world_.chance(toggles_) ? toggle_one() : disturb();
  }
}

void Director::disturb() {
  if (!stage_.curators.empty() && world_.chance(100)) {
    Host& host = stage_.curators.front()->host();
    world_.chance(500) ? stage_.network.break_one(host)
                       : host.actor->pause_until(in(50ms, 1'500ms));
    return;
  }
  const std::size_t what = world_.below(100);
  if (what < 70) {
    disturb(*someone());
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
    crash(process);
  }
}

void Director::crash(Process& process) {
  world_.note(process.host().name + " crashes");
  process.actor().freeze();
  stage_.network.crash(process.host(), world_.chance(500));
  stage_.add_process(world_.chance(500) ? &process : nullptr);
  for (auto& member : stage_.processes.back()->members()) {
    stage_.processes.back()->start(member);
  }
}

void Director::disturb_servers() {
  Ensemble& ensemble = stage_.ensemble;
  const std::size_t number = world_.below(Ensemble::size);
  const std::size_t what = world_.below(100);
  if (what < 15) {
    // Both stand in the same place.
    Process& process = *someone();
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

/// From now on nothing goes wrong any more: someone must own every mutex soon.
void Director::make_peace() {
  world_.run_until(trouble_ends_ + 5ms);
  world_.note("peace");
  stage_.network.calm();
  stage_.ensemble.calm();
  for (const auto& process : stage_.processes) {
    if (process->crashed()) continue;
    for (auto& member : process->members()) {
      if (member.running_since == never) process->start(member);
    }
  }
  const EnsembleConfig& config = stage_.ensemble.config();
  const nanoseconds limit = config.timeout + 2 * config.tick + 2s;
  stage_.demand_owners(world_.now(), limit, Fault::nobody_owns);
  go_on(limit + 500ms);
  stage_.check_everyone_waits();
}

void Director::watch_hand_overs() {
  stage_.demand_owners(world_.now(), prompt, Fault::slow_hand_over);
  for (int i = 0; i < 60 && !stage_.failed(); ++i) {
    toggle_one();
    go_on(world_.between(0ms, world_.chance(500) ? 10ms : 150ms));
    if (i % 20 == 10) stage_.ensemble.remove_empty_containers();
  }
  go_on(world_.between(400ms, 3s));
  stage_.check_observers();
}

void Director::end() {
  stage_.demand_owners(never, 0ns, Fault::nobody_owns);
  for (const auto& process : stage_.processes) {
    if (process->crashed()) process->actor().thaw();
  }
  for (const auto& process : stage_.processes) {
    for (auto& member : process->members()) {
      if (member.running_since != never) process->stop(member);
    }
  }
  for (const auto& curator : stage_.curators) {
    if (curator->running()) curator->stop();
  }
  go_on(3s);
  stage_.check_callbacks();
  stage_.check_nothing_is_left();
}

}  // namespace

Outcome play(std::uint64_t seed, Mutation mutation) {
  Stage stage{seed, mutation};
  Director director{stage};
  director.make_trouble();
  director.make_peace();
  director.watch_hand_overs();
  director.end();
  return stage.outcome;
}

}  // namespace simba::zookeeper::rules
