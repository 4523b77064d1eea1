#include "unit/redis/rules/play.hpp"

#include "unit/redis/rules/stage.hpp"
#include "unit/rules/director.hpp"

namespace simba::redis::rules {
namespace {

using namespace std::chrono_literals;
using simba::rules::Pace;
using std::chrono::nanoseconds;
using Fault = Outcome::Fault;

constexpr nanoseconds lease = 1s;

/// A directed hand-over costs a few messages of at most a millisecond, and what callbacks take.
constexpr nanoseconds prompt = 20ms;

Pace pace_in(World& world) {
  Pace pace{.trouble_lasts = 20s, .lull = 600ms, .patience = lease + 1s};
  pace.calmness = world.chance(300) ? 8ms : world.chance(500) ? 60ms : 300ms;
  pace.toggles = 200 + static_cast<int>(world.below(700));
  return pace;
}

Weather weather_in(World& world) {
  Weather weather;
  weather.late_per_thousand = static_cast<int>(world.below(8));
  weather.slow_per_thousand = static_cast<int>(world.below(80));
  if (world.chance(500)) {
    weather.messages_lag = world.between(5ms, world.chance(500) ? 100ms : 400ms);
  }
  if (world.chance(200)) weather.commands_lag = world.between(5ms, 100ms);
  return weather;
}

class Director final : public simba::rules::Director {
 public:
  explicit Director(Stage& stage)
      : simba::rules::Director{stage, stage.network, pace_in(stage.world)}, stage_{stage} {
    stage_.network.set_rough(weather_in(world_));
  }

 private:
  void disturb_others() override { world_.chance(800) ? disturb(someone()) : disturb_server(); }
  void calm() override;
  void watch_hand_overs() override;

  void disturb(Process& process);
  void disturb_server();
  void crash_a_waiter();
  void crash_beside(const Process& process);
  void watch_duel();

  Stage& stage_;
  int crashes_ = 0;
};

void Director::disturb(Process& process) {
  const std::string& name = process.host().name;
  const std::size_t what = world_.below(100);
  if (what < 40) {
    world_.note("a connection of " + name + " breaks");
    stage_.network.break_one(process.host());
  } else if (what < 65) {
    world_.note("black hole before " + name);
    stage_.network.black_hole(process.host(), in(20ms, world_.chance(500) ? 300ms : 1'500ms));
  } else if (what < 92) {
    world_.note(name + " is paused");
    process.actor().pause_until(in(10ms, world_.chance(500) ? 300ms : 1'800ms));
  } else if (++crashes_ <= 3) {
    crash(process, world_.chance(500));
  }
}

void Director::disturb_server() {
  const std::size_t what = world_.below(100);
  if (what < 60) {
    world_.note("the server is paused");
    stage_.server.actor().pause_until(in(5ms, world_.chance(700) ? 100ms : 800ms));
  } else if (what < 72) {
    world_.note("someone replays a grant");
    stage_.server.replay_grant();
  } else if (what < 85) {
    world_.note("the server forgets its scripts");
    stage_.server.flush_scripts();
  } else if (what < 90) {
    world_.note("the server is emptied");
    stage_.server.flush_all();
  } else {
    stage_.server.go_down(what < 97 ? Server::Memory::kept : Server::Memory::lost);
    stage_.network.server_went_down();
    world_.at(in(5ms, 700ms), [this] { stage_.server.come_up(); });
  }
}

void Director::calm() {
  stage_.network.calm();
  // A script that must be sent anew may be overtaken, which may cost a lease.
  stage_.server.load_scripts();
}

void Director::watch_hand_overs() {
  stage_.demand_owners(world_.now(), prompt, Fault::slow_hand_over);
  for (int i = 0; i < 60 && !stage_.failed() && stage_.jvm() == nullptr; ++i) {
    toggle_one();
    go_on(world_.between(0ms, world_.chance(500) ? 5ms : 150ms));
    if (i % 20 == 10) crash_a_waiter();
  }
  if (stage_.jvm() != nullptr) watch_duel();
  go_on(50ms);
  stage_.check_observers();
}

/// Who waits and dies is passed over at once.
void Director::crash_a_waiter() {
  Process& process = someone();
  for (const auto& member : process.members()) {
    const auto& id = member.contender->contender_id();
    if (stage_.owner_of(member.contender->mutex()) == id) return;
  }
  crash(process, true);
}

/// Another process waits, dies, and is not replaced. Our line may expire since nobody renews it:
/// the queue of the JVM library does not.
void Director::crash_beside(const Process& process) {
  Process* other = &someone();
  while (other == &process) other = &someone();
  other->start(other->members().front());
  go_on(prompt);
  if (world_.chance(500)) stage_.expire_line();
  crash(*other, true);
  Process& next = *stage_.processes.back();
  for (auto& member : next.members()) next.stop(member);
  go_on(prompt);
}

/// One of ours and a JVM contender pass the mutex to each other, just when the other begins to
/// wait. Nobody else is there: a JVM contender wakes only one, be it one that stops just then. But
/// others of ours have died while they waited, before the one that is left came.
void Director::watch_duel() {
  Process& process = someone();
  auto& ours = process.members().front();
  JvmLike& jvm = *stage_.jvm();
  for (const auto& other : stage_.processes) {
    if (other->crashed()) continue;
    for (auto& member : other->members()) {
      if (&member != &ours && member.running_since != never) other->stop(member);
    }
  }
  go_on(20ms);
  const auto soon = [&] { go_on(world_.between(0ms, 3ms)); };
  for (int i = 0; i < 30 && !stage_.failed(); ++i) {
    if (i % 10 == 5) crash_beside(process);
    if (ours.running_since == never) process.start(ours);
    if (i > 0) soon();
    stage_.tidy();
    if (jvm.running()) jvm.stop();
    go_on(prompt);
    jvm.start();
    soon();
    process.stop(ours);
    go_on(prompt);
  }
}

}  // namespace

Outcome play(std::uint64_t seed, Mutation mutation) {
  Stage stage{seed, mutation};
  stage.gather();
  return Director{stage}.play();
}

}  // namespace simba::redis::rules
