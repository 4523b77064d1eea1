#include "unit/rules/stage.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace simba::rules {

using std::chrono::nanoseconds;
using Fault = Outcome::Fault;

void Stage::gather() {
  mutexes = {"m"};
  if (world.chance(300)) mutexes.emplace_back("n");
  const std::size_t count = 2 + world.below(2);
  for (std::size_t i = 0; i < count; ++i) add_process();
  if (world.chance(400)) stranger = make_stranger(mutexes.front());
  world.after_each = [this] { check(); };
}

void Stage::clear() {
  world.after_each = {};
  processes.clear();
  stranger.reset();
  world.clear();
}

void Stage::add_process(const Process* like) {
  const std::string name = like != nullptr ? like->host().name : "p" + std::to_string(++made_);
  const int drift = static_cast<int>(world.below(801)) - 400;
  auto process = make_process(name, drift);
  for (const std::string& mutex : mutexes) {
    process->add(mutex, name + "." + mutex, AfterLoss::contend_again);
    if (!world.chance(250)) continue;
    process->add(mutex, name + ".2" + mutex,
                 world.chance(500) ? AfterLoss::contend_again : AfterLoss::stay_out);
  }
  if (world.chance(500)) process->observe(mutexes.front());
  processes.push_back(std::move(process));
}

void Stage::fail(Fault fault, std::string what) {
  if (failed()) return;
  world.note(what);
  outcome.fault = fault;
  outcome.what = std::move(what);
  outcome.story = world.story();
}

void Stage::demand_owners(LocalTime from, nanoseconds limit, Fault fault) {
  demanded_from_ = from;
  demanded_within_ = limit;
  demanded_fault_ = fault;
}

// ---- at every moment ----------------------------------------------------------------------------

void Stage::check() {
  ++outcome.steps;
  if (failed()) return;
  check_servers();
  for (const std::string& mutex : mutexes) check_mutex(mutex);
}

bool Stage::look_at(Process::Member& member) {
  const bool owns = member.service->is_owner();
  const FencingToken token = owns ? member.service->fencing_token() : 0;
  const bool begins = owns && token != member.token;
  const std::string& id = member.contender->contender_id();
  if (begins) {
    world.note(fmt::format("{} owns under {}", id, token));
    ++outcome.ownerships;
  } else if (!owns && member.owned) {
    world.note(id + " owns no longer");
  }
  member.owned = owns;
  member.token = token;
  return begins;
}

void Stage::check_is_newer(const Process::Member& member, FencingToken last) {
  if (member.token > last) return;
  fail(Fault::old_token, fmt::format("{} owns under {}, which is not greater than {}",
                                     member.contender->contender_id(), member.token, last));
}

std::optional<nanoseconds> Stage::unowned_too_long(LocalTime owned_at,
                                                   LocalTime waited_since) const {
  if (waited_since == never || world.now() < demanded_from_) return std::nullopt;
  const nanoseconds span = world.now() - std::max({owned_at, waited_since, demanded_from_});
  return span > demanded_within_ ? std::optional{span} : std::nullopt;
}

// ---- after the trouble --------------------------------------------------------------------------

void Stage::check_observers() {
  const std::string owner = owner_of(mutexes.front());
  for (const auto& process : processes) {
    if (process->crashed() || process->observer() == nullptr) continue;
    const std::string seen = process->observer()->after_owner().owner_id();
    if (seen == owner) continue;
    fail(Fault::wrong_view,
         fmt::format("{} sees [{}], the owner is [{}]", process->host().name, seen, owner));
  }
}

void Stage::check_callbacks(Tokens tokens) {
  for (const auto& process : processes) {
    for (const auto& member : process->members()) check_callbacks(*process, member, tokens);
  }
}

void Stage::check_callbacks(const Process& process, const Process::Member& member, Tokens tokens) {
  using Call = testkit::RecordingContender::Call;
  const std::string& id = member.contender->contender_id();
  bool held = false;
  FencingToken last = 0;
  for (const Call& call : member.contender->calls()) {
    if (call.kind != Call::Kind::acquired && call.kind != Call::Kind::released) continue;
    const bool acquired = call.kind == Call::Kind::acquired;
    if (acquired == held) {
      fail(Fault::callbacks, id + (held ? ": acquired twice" : ": released twice"));
    }
    if (acquired && call.token <= last && tokens == Tokens::always_grow) {
      fail(Fault::old_token, fmt::format("{} was told of {} after {}", id, call.token, last));
    }
    if (acquired) last = call.token;
    held = acquired;
  }
  if (held && !process.crashed()) fail(Fault::callbacks, id + " was not told of its end");
}

}  // namespace simba::rules
