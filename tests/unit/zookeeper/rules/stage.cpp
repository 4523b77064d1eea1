#include "unit/zookeeper/rules/stage.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace simba::zookeeper::rules {

using namespace std::chrono_literals;
using Fault = Outcome::Fault;

namespace {

EnsembleConfig config_for(World& world) {
  EnsembleConfig config;
  config.tick = world.chance(500) ? 200ms : 400ms;
  config.timeout = world.chance(500) ? 1'200ms : 800ms;
  config.sync_limit = world.chance(500) ? 3 : 6;
  config.knows_containers = !world.chance(100);
  if (world.chance(500)) {
    config.followers_lag = world.between(1ms, world.chance(500) ? 30ms : 300ms);
  }
  return config;
}

/// The servers may grant another one.
std::chrono::milliseconds asked_for(World& world, std::chrono::milliseconds granted) {
  if (world.chance(600)) return granted;
  return world.chance(500) ? granted * 2 : granted * 3 / 4;
}

}  // namespace

Stage::Stage(std::uint64_t seed, Mutation mutation)
    : world{seed},
      ensemble{world, config_for(world), mutation},
      network{world, ensemble, mutation},
      asked_timeout_{asked_for(world, ensemble.config().timeout)} {
  mutexes = {"m"};
  if (world.chance(300)) mutexes.emplace_back("n");
  const std::size_t count = 2 + world.below(2);
  for (std::size_t i = 0; i < count; ++i) add_process();
  if (world.chance(400)) {
    curators.push_back(std::make_shared<CuratorLike>(network, "curator", mutexes.front()));
  }
  world.after_each = [this] { check(); };
}

Stage::~Stage() {
  world.after_each = {};
  processes.clear();
  curators.clear();
  world.clear();
}

void Stage::add_process(const Process* like) {
  const std::string name = like != nullptr ? like->host().name : "p" + std::to_string(++made_);
  const int drift = static_cast<int>(world.below(801)) - 400;
  const auto on_disconnect =
      world.chance(150) ? OnDisconnect::step_down : OnDisconnect::keep_while_session_lasts;
  auto process = std::make_unique<Process>(network, name, drift, on_disconnect, asked_timeout_);
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

void Stage::demand_owners(LocalTime from, std::chrono::nanoseconds limit, Fault fault) {
  demanded_from_ = from;
  demanded_within_ = limit;
  demanded_fault_ = fault;
}

std::vector<Latch> Stage::line_at(const std::string& mutex) const {
  std::vector<Latch> line;
  const std::string folder = folder_of(mutex);
  for (const std::string& name : ensemble.truth().children(folder)) {
    const std::string path = folder + "/" + name;
    const Tree::Node& node = *ensemble.truth().find(path);
    line.push_back({.sequence = sequence_of(name),
                    .path = path,
                    .id = node.data,
                    .token = static_cast<FencingToken>(node.stat.created_zxid),
                    .session = node.stat.session});
  }
  std::sort(line.begin(), line.end(),
            [](const Latch& a, const Latch& b) { return a.sequence < b.sequence; });
  return line;
}

// Its owner may be disconnected, and be the owner for as long as its session could last.
void Stage::excuse(FencingToken token) {
  excused_[token] = world.now() + ensemble.config().timeout + 2 * ensemble.config().tick;
}

bool Stage::is_excused(FencingToken token) const {
  const auto found = excused_.find(token);
  return found != excused_.end() && world.now() < found->second;
}

void Stage::remove_by_hand(const Latch& latch) {
  world.note("by hand: " + latch.path + " is removed");
  excuse(latch.token);
  ensemble.remove_by_hand(latch.path);
}

void Stage::end_session_by_hand(std::int64_t session) {
  world.note(fmt::format("by hand: session {:x} is ended", session));
  for (const std::string& mutex : mutexes) {
    for (const Latch& latch : line_at(mutex)) {
      if (latch.session == session) excuse(latch.token);
    }
  }
  ensemble.end_session_by_hand(session);
}

// ---- at every moment ----------------------------------------------------------------------------

void Stage::check() {
  ++outcome.steps;
  if (failed()) return;
  for (const std::string& mutex : mutexes) check(mutex, watched_[mutex]);
}

void Stage::check(const std::string& mutex, Watched& watched) {
  if (watched.zxid != ensemble.truth().zxid()) {
    watched.zxid = ensemble.truth().zxid();
    watched.line = line_at(mutex);
  }
  Names owners;
  LocalTime waited_since = never;
  for (const auto& process : processes) {
    if (process->crashed()) continue;
    for (Process::Member& member : process->members()) {
      if (member.contender->mutex() != mutex) continue;
      look_at(member, watched, owners);
      if (!member.stays_out) waited_since = std::min(waited_since, member.running_since);
    }
  }
  for (const auto& curator : curators) {
    if (curator->mutex() != mutex) continue;
    // One that sleeps or has not been told yet does not count; nor does it hear that it has lost
    // its place.
    if (ensemble.truth().find(curator->path()) != nullptr) {
      if (curator->leads()) owners.push_back(curator->id());
      waited_since = std::min(waited_since, curator->waiting_since());
    }
    // Nobody ends its session for it where the servers have not heard that it wants that.
    const std::string first = watched.line.empty() ? "" : watched.line.front().id;
    const bool ghost =
        first.starts_with(curator->host().name) && (first != curator->id() || !curator->running());
    if (ghost) watched.owned_at = world.now();
  }
  if (!owners.empty()) watched.owned_at = world.now();
  if (owners.size() > 1) {
    fail(Fault::two_owners, fmt::format("two owners of {}: {}", mutex, fmt::join(owners, ", ")));
  }
  if (waited_since == never || world.now() < demanded_from_) return;
  const LocalTime since = std::max({watched.owned_at, waited_since, demanded_from_});
  if (world.now() - since > demanded_within_) {
    Names names;
    for (const Latch& latch : watched.line) names.push_back(latch.id);
    fail(demanded_fault_, fmt::format("nobody has owned {} for {} ms; in line: {}", mutex,
                                      (world.now() - since) / 1ms, fmt::join(names, ", ")));
  }
}

void Stage::look_at(Process::Member& member, Watched& watched, Names& owners) {
  const bool owns = member.service->is_owner();
  const FencingToken token = owns ? member.service->fencing_token() : 0;
  const std::string& id = member.contender->contender_id();
  if (owns && token != member.token) {
    world.note(fmt::format("{} owns under {}", id, token));
    ++outcome.ownerships;
    if (token <= watched.last_token && !is_excused(token)) {
      fail(Fault::old_token, fmt::format("{} owns under {}, which is not greater than {}", id,
                                         token, watched.last_token));
    }
    watched.last_token = std::max(watched.last_token, token);
  } else if (!owns && member.owned) {
    world.note(id + " owns no longer");
  }
  member.owned = owns;
  member.token = token;
  if (!owns) return;
  if (is_excused(token)) return;
  owners.push_back(id);
  if (watched.line.empty() || watched.line.front().token != token) {
    fail(Fault::unfounded,
         fmt::format("{} owns under {}, but its node is not the first", id, token));
  }
}

// ---- after the trouble --------------------------------------------------------------------------

void Stage::check_observers() {
  const auto line = line_at(mutexes.front());
  const std::string owner = line.empty() ? "" : line.front().id;
  for (const auto& process : processes) {
    if (process->crashed() || process->observer() == nullptr) continue;
    const std::string seen = process->observer()->after_owner().owner_id();
    if (seen == owner) continue;
    fail(Fault::wrong_view,
         fmt::format("{} sees [{}], the owner is [{}]", process->host().name, seen, owner));
  }
}

void Stage::check_everyone_waits() {
  for (const auto& process : processes) {
    if (process->crashed()) continue;
    for (const Process::Member& member : process->members()) {
      if (member.running_since == never || member.stays_out) continue;
      const std::string& id = member.contender->contender_id();
      const auto line = line_at(member.contender->mutex());
      const auto nodes = std::count_if(line.begin(), line.end(),
                                       [&](const Latch& latch) { return latch.id == id; });
      if (nodes != 1) fail(Fault::left_out, fmt::format("{} has {} nodes", id, nodes));
    }
  }
}

void Stage::check_callbacks() {
  using Call = testkit::RecordingContender::Call;
  for (const auto& process : processes) {
    for (const auto& member : process->members()) {
      const std::string& id = member.contender->contender_id();
      bool held = false;
      FencingToken last = 0;
      for (const Call& call : member.contender->calls()) {
        if (call.kind != Call::Kind::acquired && call.kind != Call::Kind::released) continue;
        const bool acquired = call.kind == Call::Kind::acquired;
        if (acquired == held) {
          fail(Fault::callbacks, id + (held ? ": acquired twice" : ": released twice"));
        }
        if (acquired && call.token <= last) {
          fail(Fault::old_token, fmt::format("{} was told of {} after {}", id, call.token, last));
        }
        if (acquired) last = call.token;
        held = acquired;
      }
      if (held && !process->crashed()) fail(Fault::callbacks, id + " was not told of its end");
    }
  }
}

void Stage::check_nothing_is_left() {
  std::set<std::string> stopped;
  for (const auto& process : processes) {
    for (const auto& member : process->members()) stopped.insert(member.contender->contender_id());
  }
  for (const std::string& mutex : mutexes) {
    for (const Latch& latch : line_at(mutex)) {
      if (stopped.contains(latch.id)) {
        fail(Fault::left_behind, fmt::format("{} of {} is left", latch.path, latch.id));
      }
    }
  }
}

}  // namespace simba::zookeeper::rules
