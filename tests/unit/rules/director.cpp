#include "unit/rules/director.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace simba::rules {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using Fault = Outcome::Fault;

Outcome Director::play() {
  make_trouble();
  make_peace();
  watch_hand_overs();
  end();
  return stage_.outcome;
}

Process& Director::someone() {
  std::vector<Process*> all;
  for (const auto& process : stage_.processes) {
    if (!process->crashed()) all.push_back(process.get());
  }
  return *all[world_.below(all.size())];
}

void Director::go_on(nanoseconds span) {
  world_.run_until(world_.now() + span);
  stage_.check();
}

LocalTime Director::in(nanoseconds least, nanoseconds most) {
  return std::min(world_.now() + world_.between(least, most), trouble_ends_);
}

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
  if (stage_.stranger && world_.chance(200)) {
    Stranger& stranger = *stage_.stranger;
    if (stranger.host().actor->paused()) return;
    if (!stranger.running()) {
      stranger.start();
    } else if (stranger.may_stop()) {
      stranger.stop();
    }
  } else {
    toggle(someone());
  }
}

void Director::make_trouble() {
  trouble_ends_ = world_.now() + pace_.trouble_lasts;
  for (const auto& process : stage_.processes) {
    for (auto& member : process->members()) process->start(member);
  }
  if (stage_.stranger) stage_.stranger->start();
  while (world_.now() < trouble_ends_ && !stage_.failed()) {
    go_on(world_.between(0ms, world_.chance(900) ? pace_.calmness : pace_.lull));
    world_.chance(pace_.toggles) ? toggle_one() : disturb();
  }
}

void Director::disturb() {
  if (stage_.stranger && world_.chance(100)) {
    Host& host = stage_.stranger->host();
    world_.chance(500) ? network_.break_one(host) : host.actor->pause_until(in(50ms, 1'500ms));
    return;
  }
  disturb_others();
}

void Director::crash(Process& process, bool server_hears) {
  world_.note(process.host().name + " crashes");
  process.actor().freeze();
  network_.crash(process.host(), server_hears);
  stage_.add_process(world_.chance(500) ? &process : nullptr);
  Process& next = *stage_.processes.back();
  for (auto& member : next.members()) next.start(member);
}

/// From now on someone must own every mutex soon.
void Director::make_peace() {
  world_.run_until(trouble_ends_ + 5ms);
  world_.note("peace");
  calm();
  for (const auto& process : stage_.processes) {
    if (process->crashed()) continue;
    for (auto& member : process->members()) {
      if (member.running_since == never) process->start(member);
    }
  }
  stage_.demand_owners(world_.now(), pace_.patience, Fault::nobody_owns);
  go_on(pace_.patience + 500ms);
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
  if (stage_.stranger && stage_.stranger->running()) stage_.stranger->stop();
  go_on(3s);
  stage_.check_end();
}

}  // namespace simba::rules
