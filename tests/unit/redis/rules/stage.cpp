#include "unit/redis/rules/stage.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "redis/protocol/keys.hpp"

namespace simba::redis::rules {

using namespace std::chrono_literals;
using simba::rules::Outcome;
using Fault = Outcome::Fault;
using Member = Process::Member;

namespace {

constexpr std::chrono::nanoseconds believed_for = 1s;

}  // namespace

Stage::Stage(std::uint64_t seed, Mutation mutation)
    : simba::rules::Stage{seed},
      server{world,
             [mutation](Script script, const std::string& text) {
               return mutated(mutation, script, text);
             }},
      network{world, server},
      mutation_{mutation} {
  ConnectionSettings settings;
  settings.command_timeout = world.chance(500) ? 200ms : world.chance(500) ? 500ms : 1'500ms;
  settings.connect_timeout = 200ms;
  network.settings = std::make_shared<const ConnectionSettings>(std::move(settings));
}

std::unique_ptr<Process> Stage::make_process(const std::string& name, int drift_ppm) {
  const auto grants =
      world.chance(100) ? Subscriptions::Grants::are_hints : Subscriptions::Grants::count;
  return std::make_unique<RedisProcess>(world, network, name, drift_ppm, grants, mutation_);
}

std::shared_ptr<simba::rules::Stranger> Stage::make_stranger(const std::string& mutex) {
  auto jvm = std::make_shared<JvmLike>(world, network, "jvm", mutex);
  jvm_ = jvm.get();
  return jvm;
}

std::string Stage::owner_of(const std::string& mutex) {
  return server.database().text_at(lock_name(mutex)).value_or("");
}

std::set<std::string> Stage::living() const {
  std::set<std::string> ids;
  for_each_living([&](const Member& member) { ids.insert(member.contender->contender_id()); });
  return ids;
}

void Stage::tidy() {
  const std::string queue = lock_name(jvm_->mutex()) + ":contender";
  for (const std::string& name : server.database().members(queue)) {
    const bool waits = name == jvm_->id() && owner_of(jvm_->mutex()) != name;
    if (jvm_->has_been(name) && !waits) server.database().execute({"ZREM", queue, name});
  }
}

void Stage::expire_line() {
  const std::string lock = lock_name(jvm_->mutex());
  server.database().execute({"DEL", lock + ":line", lock + ":waiters"});
}

// ---- at every moment ----------------------------------------------------------------------------

void Stage::check_servers() {
  if (!server.script_error().empty()) fail(Fault::script_failed, server.script_error());
}

void Stage::check_mutex(const std::string& mutex) {
  Watched& watched = watched_[mutex];
  std::map<std::uint64_t, Words> owners;  // by the life of the server's memory
  LocalTime waited_since = never;
  for_each_living([&](Member& member) {
    if (member.contender->mutex() != mutex) return;
    if (look_at(member)) {
      FencingToken& last = watched.last_token[server.life_of(member.token)];
      check_is_newer(member, last);
      last = std::max(last, member.token);
    }
    if (member.owned) {
      owners[server.life_of(member.token)].push_back(member.contender->contender_id());
    }
    if (!member.stays_out) waited_since = std::min(waited_since, member.running_since);
  });
  if (!owners.empty()) watched.owned_at = world.now();
  if (jvm_ != nullptr && jvm_->mutex() == mutex) {
    // It may believe to own what it has lost. What the server has given it nobody of ours may own,
    // whether it knows of that or not.
    const std::string owner = owner_of(mutex);
    if (jvm_->has_been(owner)) owners[server.life()].push_back(owner);
    if (jvm_->is_owner() && owner == jvm_->id()) watched.owned_at = world.now();
    waited_since = std::min(waited_since, jvm_->running_since());
  }
  // Who owned it when the memory was lost may believe so for one lease.
  if (server.life_began() + believed_for <= world.now()) {
    Words all;
    for (const auto& [life, names] : std::exchange(owners, {})) {
      all.insert(all.end(), names.begin(), names.end());
    }
    owners[server.life()] = std::move(all);
  }
  for (const auto& [life, names] : owners) {
    if (names.size() < 2) continue;
    fail(Fault::two_owners, fmt::format("two owners of {}: {}", mutex, fmt::join(names, ", ")));
  }
  if (const auto span = unowned_too_long(watched.owned_at, waited_since)) {
    fail(demanded_fault(), fmt::format("nobody has owned {} for {} ms", mutex, *span / 1ms));
  }
}

// ---- at the end ---------------------------------------------------------------------------------

void Stage::check_end() {
  check_callbacks(Tokens::may_start_again);  // with the server's memory
  check_nothing_is_left();
}

void Stage::check_nothing_is_left() {
  std::set<std::string> stopped = living();
  if (jvm_ != nullptr) stopped.insert(jvm_->id());
  Database& database = server.database();
  for (const std::string& mutex : mutexes) {
    const std::string lock = lock_name(mutex);
    if (const auto owner = database.text_at(lock)) {
      fail(Fault::left_behind, fmt::format("{} is left to {}", lock, *owner));
    }
    for (const char* suffix : {":contender", ":line", ":waiters"}) {
      const std::string key = lock + suffix;
      for (const std::string& name : database.members(key)) {
        // Who of the JVM library's is in our line was seen in its queue, and may have left that.
        if (jvm_ != nullptr && name == jvm_->id() && key.ends_with(":line")) continue;
        if (stopped.contains(name)) fail(Fault::left_behind, name + " is left in " + key);
      }
      if (jvm_ == nullptr && database.exists(key) && !database.expires(key)) {
        fail(Fault::left_behind, key + " never expires");
      }
    }
  }
}

}  // namespace simba::redis::rules
