#include "unit/zookeeper/rules/stage.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace simba::zookeeper::rules {

using namespace std::chrono_literals;
using simba::rules::Outcome;
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
    : simba::rules::Stage{seed},
      ensemble{world, config_for(world), mutation},
      network{world, ensemble, mutation},
      asked_timeout_{asked_for(world, ensemble.config().timeout)} {}

std::unique_ptr<Process> Stage::make_process(const std::string& name, int drift_ppm) {
  const auto on_disconnect =
      world.chance(150) ? OnDisconnect::step_down : OnDisconnect::keep_while_session_lasts;
  return std::make_unique<ZooKeeperProcess>(network, name, drift_ppm, on_disconnect,
                                            asked_timeout_);
}

std::shared_ptr<simba::rules::Stranger> Stage::make_stranger(const std::string& mutex) {
  auto curator = std::make_shared<CuratorLike>(network, "curator", mutex);
  curator_ = curator.get();
  return curator;
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

std::string Stage::owner_of(const std::string& mutex) {
  const auto line = line_at(mutex);
  return line.empty() ? "" : line.front().id;
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

void Stage::check_mutex(const std::string& mutex) {
  Watched& watched = watched_[mutex];
  if (watched.zxid != ensemble.truth().zxid()) {
    watched.zxid = ensemble.truth().zxid();
    watched.line = line_at(mutex);
  }
  Names owners;
  LocalTime waited_since = never;
  for_each_living([&](Process::Member& member) {
    if (member.contender->mutex() != mutex) return;
    check_member(member, watched, owners);
    if (!member.stays_out) waited_since = std::min(waited_since, member.running_since);
  });
  if (curator_ != nullptr && curator_->mutex() == mutex) {
    // One that sleeps or has not been told yet does not count; nor does it hear that it has lost
    // its place.
    if (ensemble.truth().find(curator_->path()) != nullptr) {
      if (curator_->leads()) owners.push_back(curator_->id());
      waited_since = std::min(waited_since, curator_->waiting_since());
    }
    // Nobody ends its session for it where the servers have not heard that it wants that.
    const std::string first = watched.line.empty() ? "" : watched.line.front().id;
    const bool ghost = first.starts_with(curator_->host().name) &&
                       (first != curator_->id() || !curator_->running());
    if (ghost) watched.owned_at = world.now();
  }
  if (!owners.empty()) watched.owned_at = world.now();
  if (owners.size() > 1) {
    fail(Fault::two_owners, fmt::format("two owners of {}: {}", mutex, fmt::join(owners, ", ")));
  }
  if (const auto span = unowned_too_long(watched.owned_at, waited_since)) {
    Names names;
    for (const Latch& latch : watched.line) names.push_back(latch.id);
    fail(demanded_fault(), fmt::format("nobody has owned {} for {} ms; in line: {}", mutex,
                                       *span / 1ms, fmt::join(names, ", ")));
  }
}

void Stage::check_member(Process::Member& member, Watched& watched, Names& owners) {
  const bool begins = look_at(member);
  if (!member.owned) return;
  const bool excused = is_excused(member.token);
  if (begins) {
    if (!excused) check_is_newer(member, watched.last_token);
    watched.last_token = std::max(watched.last_token, member.token);
  }
  if (excused) return;
  const std::string& id = member.contender->contender_id();
  owners.push_back(id);
  if (watched.line.empty() || watched.line.front().token != member.token) {
    fail(Fault::unfounded,
         fmt::format("{} owns under {}, but its node is not the first", id, member.token));
  }
}

// ---- after the trouble --------------------------------------------------------------------------

void Stage::check_everyone_waits() {
  for_each_living([&](const Process::Member& member) {
    if (member.running_since == never || member.stays_out) return;
    const std::string& id = member.contender->contender_id();
    const auto line = line_at(member.contender->mutex());
    const auto nodes =
        std::count_if(line.begin(), line.end(), [&](const Latch& latch) { return latch.id == id; });
    if (nodes != 1) fail(Fault::left_out, fmt::format("{} has {} nodes", id, nodes));
  });
}

void Stage::check_end() {
  check_callbacks(Tokens::always_grow);
  check_nothing_is_left();
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
