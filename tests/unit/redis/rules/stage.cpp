#include "unit/redis/rules/stage.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "redis/mutex_names.hpp"

namespace simba::redis::rules {

using namespace std::chrono_literals;
using Fault = Outcome::Fault;

namespace {

constexpr std::chrono::nanoseconds believed_for = 1s;

}  // namespace

Stage::Stage(std::uint64_t seed, Mutation mutation)
    : world{seed},
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
  mutexes = {"m"};
  if (world.chance(300)) mutexes.emplace_back("n");
  const std::size_t count = 2 + world.below(2);
  for (std::size_t i = 0; i < count; ++i) add_process();
  if (world.chance(400)) {
    jvms.push_back(std::make_shared<JvmLike>(world, server, network, "jvm", mutexes.front()));
  }
  world.after_each = [this] { check(); };
}

Stage::~Stage() {
  world.after_each = {};
  processes.clear();
  jvms.clear();
  world.clear();
}

void Stage::add_process(const Process* like) {
  const std::string name = like != nullptr ? like->host().name : "p" + std::to_string(++made_);
  const int drift = static_cast<int>(world.below(801)) - 400;
  const auto grants =
      world.chance(100) ? Subscriptions::Grants::are_hints : Subscriptions::Grants::count;
  auto process = std::make_unique<Process>(world, network, name, drift, grants, mutation_);
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

// ---- at every moment ----------------------------------------------------------------------------

void Stage::check() {
  ++outcome.steps;
  if (failed()) return;
  if (!server.script_error().empty()) fail(Fault::script_failed, server.script_error());
  for (const std::string& mutex : mutexes) check(mutex, watched_[mutex]);
}

void Stage::check(const std::string& mutex, Watched& watched) {
  std::map<std::uint64_t, Words> owners;  // by the life of the server's memory
  LocalTime waited_since = never;
  for (const auto& process : processes) {
    if (process->crashed()) continue;
    for (Process::Member& member : process->members()) {
      if (member.contender->mutex() != mutex) continue;
      look_at(member, watched, owners);
      if (!member.stays_out) waited_since = std::min(waited_since, member.running_since);
    }
  }
  for (const auto& jvm : jvms) {
    if (jvm->mutex() != mutex) continue;
    if (jvm->is_owner()) owners[jvm->life()].push_back(jvm->id());
    waited_since = std::min(waited_since, jvm->running_since());
  }
  if (!owners.empty()) watched.owned_at = world.now();
  // Who owned it when the memory was lost may believe so for one lease.
  if (server.life_began() + believed_for <= world.now()) {
    Words all;
    for (const auto& [life, names] : std::exchange(owners, {})) {
      if (life != JvmLike::unsure) all.insert(all.end(), names.begin(), names.end());
    }
    owners[server.life()] = std::move(all);
  }
  for (const auto& [life, names] : owners) {
    if (life == JvmLike::unsure || names.size() < 2) continue;
    fail(Fault::two_owners, fmt::format("two owners of {}: {}", mutex, fmt::join(names, ", ")));
  }
  if (waited_since == never || world.now() < demanded_from_) return;
  const LocalTime since = std::max({watched.owned_at, waited_since, demanded_from_});
  if (world.now() - since > demanded_within_) {
    fail(demanded_fault_,
         fmt::format("nobody has owned {} for {} ms", mutex, (world.now() - since) / 1ms));
  }
}

void Stage::look_at(Process::Member& member, Watched& watched,
                    std::map<std::uint64_t, Words>& owners) {
  const bool owns = member.service->is_owner();
  const FencingToken token = owns ? member.service->fencing_token() : 0;
  const std::string& id = member.contender->contender_id();
  if (owns && token != member.token) {
    world.note(fmt::format("{} owns under {}", id, token));
    ++outcome.ownerships;
    FencingToken& last = watched.last_token[server.life_of(token)];
    if (token <= last) {
      fail(Fault::old_token,
           fmt::format("{} owns under {}, which is not greater than {}", id, token, last));
    }
    last = std::max(last, token);
  } else if (!owns && member.owned) {
    world.note(id + " owns no longer");
  }
  member.owned = owns;
  member.token = token;
  if (owns) owners[server.life_of(token)].push_back(id);
}

void Stage::tidy() {
  std::set<std::string> present;
  for (const auto& process : processes) {
    if (process->crashed()) continue;
    for (const auto& member : process->members()) present.insert(member.contender->contender_id());
  }
  for (const auto& jvm : jvms) {
    if (!jvm->is_owner()) present.insert(jvm->id());
  }
  for (const std::string& mutex : mutexes) {
    const std::string queue = lock_name(mutex) + ":contender";
    for (const std::string& name : server.database().members(queue)) {
      if (!present.contains(name)) server.database().execute({"ZREM", queue, name});
    }
  }
}

// ---- at the end ---------------------------------------------------------------------------------

void Stage::check_observers() {
  const auto owner = server.database().text_at(lock_name(mutexes.front())).value_or("");
  for (const auto& process : processes) {
    if (process->crashed() || process->observer() == nullptr) continue;
    const std::string seen = process->observer()->after_owner().owner_id();
    if (seen == owner) continue;
    fail(Fault::wrong_view,
         fmt::format("{} sees [{}], the owner is [{}]", process->host().name, seen, owner));
  }
}

void Stage::check_callbacks() {
  using Call = testkit::RecordingContender::Call;
  for (const auto& process : processes) {
    for (const auto& member : process->members()) {
      bool held = false;
      for (const Call& call : member.contender->calls()) {
        if (call.kind != Call::Kind::acquired && call.kind != Call::Kind::released) continue;
        const bool acquired = call.kind == Call::Kind::acquired;
        if (acquired == held) {
          fail(Fault::callbacks, "callbacks of " + member.contender->contender_id() +
                                     (held ? ": acquired twice" : ": released twice"));
        }
        held = acquired;
      }
      if (held && !process->crashed()) {
        fail(Fault::callbacks, member.contender->contender_id() + " was not told of its end");
      }
    }
  }
}

void Stage::check_nothing_is_left() {
  std::set<std::string> stopped;
  for (const auto& process : processes) {
    if (process->crashed()) continue;
    for (const auto& member : process->members()) stopped.insert(member.contender->contender_id());
  }
  for (const auto& jvm : jvms) stopped.insert(jvm->id());
  Database& database = server.database();
  for (const std::string& mutex : mutexes) {
    const std::string lock = lock_name(mutex);
    if (const auto owner = database.text_at(lock)) {
      fail(Fault::left_behind, fmt::format("{} is left to {}", lock, *owner));
    }
    for (const char* suffix : {":contender", ":line", ":waiters"}) {
      const std::string key = lock + suffix;
      for (const std::string& name : database.members(key)) {
        if (stopped.contains(name)) fail(Fault::left_behind, name + " is left in " + key);
      }
      if (jvms.empty() && database.exists(key) && !database.expires(key)) {
        fail(Fault::left_behind, key + " never expires");
      }
    }
  }
}

}  // namespace simba::redis::rules
