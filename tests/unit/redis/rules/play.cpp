#include "unit/redis/rules/play.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "redis/mutex_names.hpp"
#include "unit/redis/rules/stage.hpp"

namespace simba::redis::rules {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using Fault = Outcome::Fault;

constexpr nanoseconds trouble_lasts = 20s;
constexpr nanoseconds lease = 1s;

/// A directed hand-over costs a few messages of at most a millisecond, and what callbacks take.
constexpr nanoseconds prompt = 20ms;

class Director {
 public:
  explicit Director(Stage& stage) : stage_{stage}, world_{stage.world} {
    calmness_ = world_.chance(300) ? 8ms : world_.chance(500) ? 60ms : 300ms;
    toggles_ = 200 + static_cast<int>(world_.below(700));
    weather_.late_per_thousand = static_cast<int>(world_.below(8));
    weather_.slow_per_thousand = static_cast<int>(world_.below(80));
    if (world_.chance(500)) {
      weather_.messages_lag = world_.between(5ms, world_.chance(500) ? 100ms : 400ms);
    }
    if (world_.chance(200)) weather_.commands_lag = world_.between(5ms, 100ms);
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
  void crash_a_waiter();
  void watch_duel();
  void disturb();
  void disturb(Process& process);
  void disturb_server();
  void crash(Process& process, bool server_hears);
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
    if (!process.actor().paused()) process.start(member);
  }
}

void Director::toggle_one() {
  if (!stage_.jvms.empty() && world_.chance(200)) {
    const auto& jvm = stage_.jvms.front();
    if (jvm->host().actor->paused()) return;
    jvm->running() ? jvm->stop() : jvm->start();
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
  for (const auto& jvm : stage_.jvms) jvm->start();
  while (world_.now() < trouble_ends_ && !stage_.failed()) {
    go_on(world_.between(0ms, world_.chance(900) ? calmness_ : 600ms));
    world_.chance(toggles_) ? toggle_one() : disturb();
  }
}

void Director::disturb() {
  if (!stage_.jvms.empty() && world_.chance(100)) {
    Host& host = stage_.jvms.front()->host();
    world_.chance(500) ? stage_.network.break_one(host)
                       : host.actor->pause_until(in(50ms, 1'500ms));
    return;
  }
  world_.chance(800) ? disturb(*someone()) : disturb_server();
}

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

void Director::crash(Process& process, bool server_hears) {
  world_.note(process.host().name + " crashes");
  process.actor().freeze();
  stage_.network.crash(process.host(), server_hears);
  stage_.add_process(world_.chance(500) ? &process : nullptr);
  for (auto& member : stage_.processes.back()->members()) {
    stage_.processes.back()->start(member);
  }
}

void Director::disturb_server() {
  const std::size_t what = world_.below(100);
  if (what < 60) {
    world_.note("the server is paused");
    stage_.server.actor().pause_until(in(5ms, world_.chance(700) ? 100ms : 800ms));
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

/// From now on nothing goes wrong any more: someone must own every mutex soon.
void Director::make_peace() {
  world_.run_until(trouble_ends_ + 5ms);
  world_.note("peace");
  stage_.network.calm();
  for (const auto& process : stage_.processes) {
    if (process->crashed()) continue;
    for (auto& member : process->members()) {
      if (member.running_since == never) process->start(member);
    }
  }
  // A script that must be sent anew may be overtaken, which may cost a lease.
  stage_.server.load_scripts();
  stage_.demand_owners(world_.now(), lease + 1s, Fault::nobody_owns);
  go_on(lease + 1'500ms);
}

void Director::watch_hand_overs() {
  stage_.demand_owners(world_.now(), prompt, Fault::slow_hand_over);
  for (int i = 0; i < 60 && !stage_.failed() && stage_.jvms.empty(); ++i) {
    toggle_one();
    go_on(world_.between(0ms, world_.chance(500) ? 5ms : 150ms));
    if (i % 20 == 10) crash_a_waiter();
  }
  if (!stage_.jvms.empty()) watch_duel();
  go_on(50ms);
  stage_.check_observers();
}

/// Who waits and dies is passed over at once.
void Director::crash_a_waiter() {
  Process& process = *someone();
  for (const auto& member : process.members()) {
    const auto& id = member.contender->contender_id();
    if (stage_.server.database().text_at(lock_name(member.contender->mutex())) == id) return;
  }
  crash(process, true);
}

/// One of ours and a JVM contender pass the mutex to each other, just when the other begins to
/// wait. Nobody else is there: a JVM contender wakes only one, be it one that stops just then.
void Director::watch_duel() {
  Process& process = *someone();
  auto& ours = process.members().front();
  JvmLike& jvm = *stage_.jvms.front();
  for (const auto& other : stage_.processes) {
    if (other->crashed()) continue;
    for (auto& member : other->members()) {
      if (&member != &ours && member.running_since != never) other->stop(member);
    }
  }
  go_on(20ms);
  const auto soon = [&] { go_on(world_.between(0ms, 3ms)); };
  for (int i = 0; i < 30 && !stage_.failed(); ++i) {
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
  for (const auto& jvm : stage_.jvms) {
    if (jvm->running()) jvm->stop();
  }
  go_on(3 * lease);
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

}  // namespace simba::redis::rules
