#include "sim/stage.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "simba/schedule/schedule_records.hpp"

namespace simba::sim {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

/// Such that a host and the server together stay within the allowance.
constexpr int most_drift = 248;

int drift_of(World& world) {
  const auto any = static_cast<int>(world.below(2 * most_drift + 1)) - most_drift;
  const std::size_t kind = world.below(4);
  return kind == 0 ? -most_drift : kind == 1 ? most_drift : any;
}

ContentionOptions options_of(World& world) {
  struct Lease {
    milliseconds ttl;
    milliseconds transition;
  };
  constexpr std::array<Lease, 8> leases{{{600ms, 400ms},
                                         {2'000ms, 1'000ms},
                                         {5'000ms, 3'000ms},
                                         {10'000ms, 6'000ms},
                                         {10'000ms, 6'000ms},
                                         {10'000ms, 6'000ms},
                                         {20'000ms, 10'000ms},
                                         {40'000ms, 20'000ms}}};
  const Lease lease = leases.at(world.below(leases.size()));
  ContentionOptions options;
  options.ttl = lease.ttl;
  options.transition = lease.transition;
  if (world.chance(350)) options.margin = 0ms;
  if (lease.ttl < 3s) options.jitter = {-20ms, 100ms};
  if (world.chance(500)) options.drain_limit = milliseconds{1'000 + world.below(10'000)};
  if (world.chance(200)) options.release_wait = 0ms;
  if (world.chance(200)) options.renew_grid = 0ms;
  if (world.chance(200)) options.initial_delay = milliseconds{100 + world.below(3'000)};
  return options;
}

SlotOptions slot_options_of(World& world) {
  SlotOptions options;
  if (world.chance(500)) options.promise = SlotPromise::at_least_once;
  options.max_attempts = 1 + static_cast<int>(world.below(6));
  constexpr std::array<milliseconds, 4> pauses{0ms, 100ms, 1'000ms, 10'000ms};
  options.retry_pause = pauses.at(world.below(pauses.size()));
  options.missed =
      std::array{MissedSlots::skip, MissedSlots::latest, MissedSlots::all}.at(world.below(3));
  options.max_missed = 1 + static_cast<int>(world.below(20));
  options.while_busy =
      std::array{BusySlots::skip, BusySlots::queue_one, BusySlots::cancel_running}.at(
          world.below(3));
  if (world.chance(300)) options.start_within = milliseconds{100 + world.below(30'000)};
  if (world.chance(300)) options.jitter = milliseconds{1 + world.below(2'000)};
  if (world.chance(200)) options.backfill = milliseconds{1 + world.below(120'000)};
  options.history = 1 + static_cast<int>(world.below(5));
  return options;
}

ScheduleConfig shared_schedule_of(World& world) {
  SlotOptions options = slot_options_of(world);
  const std::size_t kind = world.below(10);
  if (kind < 2) return ScheduleConfig::shared(Cron{"* * * * *"}, options);
  if (kind < 3) return ScheduleConfig::shared(Cron{"*/2 * * * *"}, options);
  const milliseconds first{world.chance(500) ? 0 : world.below(20'000)};
  const milliseconds period{kind < 6 ? 500 + world.below(10'000) : 10'000 + world.below(50'000)};
  options.jitter = std::min<std::chrono::nanoseconds>(options.jitter, period - 1ms);
  return ScheduleConfig::shared_rate(first, period, options);
}

Offer offer_of(World& world) {
  const std::size_t kind = world.below(10);
  return kind < 6 ? Offer::grants : kind < 9 ? Offer::hints : Offer::nothing;
}

Server server_of(World& world, std::size_t mutexes, std::uint64_t seed) {
  return Server{mutexes, offer_of(world), seed / 10 % 2 == 1};
}

const char* words(Offer offer) {
  return offer == Offer::grants  ? "tells waiters of a free mutex and grants it to the first"
         : offer == Offer::hints ? "tells waiters of a free mutex and of renewals"
                                 : "tells nobody of anything";
}

const char* words(Party::Kind kind) {
  return kind == Party::Kind::candidate ? "candidate"
         : kind == Party::Kind::locker  ? "locker"
         : kind == Party::Kind::client  ? "client"
                                        : "scheduler";
}

}  // namespace

// ---- Process -------------------------------------------------------------------------------

Process::Process(std::unique_ptr<Host> host, Network& network, Checker& checker, SlotRules& slots,
                 const Mood& mood, std::vector<Resource>& resources,
                 const ContentionOptions& options, nanoseconds patience)
    : host_{std::move(host)},
      network_{network},
      checker_{checker},
      slots_{slots},
      mood_{mood},
      resources_{resources},
      store_{std::make_shared<SimStore>(*host_, network, checker, patience)},
      factory_{std::make_unique<engine::LeaseServiceFactory>(store_, host_->runtime(), options)} {
  host_->on_error = [this](std::string_view message) { checker_.logged(*host_, message); };
  host_->after_event = [&checker](Host& ran) { checker.look(ran); };
}

void Process::add(const Member& member) {
  const Surroundings around{*host_, network_, checker_, slots_, mood_, resources_, *factory_};
  Party& party = checker_.add(*host_, member.kind, member.mutex, member.id);
  switch (member.kind) {
    case Party::Kind::candidate:
      users.push_back(std::make_unique<Candidate>(around, party));
      break;
    case Party::Kind::locker:
      users.push_back(std::make_unique<LockUser>(around, party));
      break;
    case Party::Kind::client:
      users.push_back(std::make_unique<ClientUser>(around, party));
      break;
    case Party::Kind::scheduler:
      if (member.schedule.strategy == ScheduleConfig::Strategy::slots) {
        users.push_back(std::make_unique<SlotUser>(around, party, member.schedule));
      } else {
        users.push_back(std::make_unique<WorkUser>(around, party, member.schedule));
      }
      break;
  }
}

void Process::observe(std::size_t mutex) {
  const Surroundings around{*host_, network_, checker_, slots_, mood_, resources_, *factory_};
  observers.push_back(std::make_unique<Observer>(around, mutex));
}

void Process::steer(std::size_t mutex, Steering how) {
  if (host_->ending || host_->crashed()) return;
  host_->spawn(0ns, [this, mutex, how] {
    if (host_->ending) return;
    constexpr std::array words{"pauses", "resumes", "asks for a run of"};
    host_->scene().trace.event(host_->world().now(), host_->name(), "someone {} m{}",
                               words.at(static_cast<std::size_t>(how)), mutex);
    const ScheduleRecords records{factory_->records(), host_->runtime(), 3s};
    try {
      if (how == Steering::pause) records.pause(mutex_name(mutex));
      if (how == Steering::resume) records.resume(mutex_name(mutex));
      if (how == Steering::trigger) records.trigger(mutex_name(mutex));
    } catch (const Error& error) {
      host_->scene().trace.event(host_->world().now(), host_->name(), "in vain: {}", error.what());
    }
  });
}

void Process::end() {
  host_->ending = true;
  to_end_ = users.size() + observers.size();
  if (to_end_ == 0) let_go();
  const auto ended = [this] {
    if (--to_end_ == 0) let_go();
  };
  for (const auto& user : users) {
    host_->spawn(host_->world().between(0ms, 50ms), [this, &user = *user, ended] {
      user.end();
      checker_.gone(user.party());
      ended();
    });
  }
  for (const auto& observer : observers) {
    host_->spawn(host_->world().between(0ms, 50ms), [&observer = *observer, ended] {
      observer.end();
      ended();
    });
  }
}

void Process::let_go() {
  factory_.reset();
  weak_store_ = std::exchange(store_, nullptr);
  weak_runtime_ = host_->give_up_runtime();
}

std::string Process::left() const {
  if (to_end_ > 0) return fmt::format("{} users have not ended", to_end_);
  if (host_->alive() > 0) return fmt::format("{} threads have not ended", host_->alive());
  if (const auto store = weak_store_.lock()) {
    return fmt::format("its store with {} requests and {} watches", store->pending(),
                       store->watches());
  }
  return weak_runtime_.expired() ? "" : "its runtime";
}

// ---- Stage ---------------------------------------------------------------------------------

Stage::Stage(std::uint64_t seed, Threads& threads, bool traced)
    : world{seed * 0x9e3779b97f4a7c15 + 1},
      trace{traced},
      scene{world, threads, trace},
      namesakes{seed % 10 == 9},
      slotted{!namesakes && world.chance(400)},
      mutexes{1 + world.below(3) + (slotted ? 1 : 0)},
      options{options_of(world)},
      plan{options},
      checker{scene, mutexes, plan},
      network{scene, checker, server_of(world, mutexes, seed), drift_of(world),
              world.chance(700) ? WallClock::of_server : WallClock::of_hosts},
      slots{scene, checker, network},
      resources(mutexes) {
  trace_head();
  const bool crowded = world.chance(100);
  const std::size_t count = crowded ? 8 + world.below(5) : 2 + world.below(3);
  for (std::size_t place = 0; place < count; ++place) {
    auto& members = members_.emplace_back();
    const std::size_t size = 1 + world.below(3);
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t kind = world.below(10);
      const nanoseconds period = world.between(500ms, 60s);
      members.push_back({.kind = kind < 5   ? Party::Kind::candidate
                                 : kind < 7 ? Party::Kind::locker
                                 : kind < 8 ? Party::Kind::client
                                            : Party::Kind::scheduler,
                         .mutex = crowded ? 0 : world.below(mutexes - (slotted ? 1 : 0)),
                         .id = fmt::format("{}{}", static_cast<char>('a' + place), i),
                         .schedule = world.chance(500) ? ScheduleConfig::rate(0ms, period)
                                                       : ScheduleConfig::delay(10ms, period)});
    }
    auto& observed = observed_.emplace_back();
    if (world.chance(500)) observed.push_back(world.below(mutexes));
    occupied_.push_back(0);
  }
  if (slotted) share_slots();
  for (std::size_t place = 0; place < count; ++place) settle(place, true);
  if (!namesakes) return;
  checker.expect_namesakes(network.server().sees_life());
  members_.push_back(members_.front());
  observed_.emplace_back();
  occupied_.push_back(0);
  settle(count, true);
}

Stage::~Stage() { world.clear(); }

/// Most processes take part in the schedule. In some runs one of them has another one in mind.
void Stage::share_slots() {
  const std::size_t mutex = mutexes - 1;
  const ScheduleConfig schedule = shared_schedule_of(world);
  const bool agreed = !world.chance(100);
  slots.expect(mutex, schedule, agreed);
  for (std::size_t place = 0; place < members_.size(); ++place) {
    if (place > 1 && world.chance(300)) continue;
    ScheduleConfig own = schedule;
    if (!agreed && place == 0) {
      own = shared_schedule_of(world);
      own.slots.promise = schedule.slots.promise;
      own.slots.max_attempts = schedule.slots.max_attempts;
    }
    const std::string id = fmt::format("{}s", static_cast<char>('a' + place));
    members_[place].push_back(
        {.kind = Party::Kind::scheduler, .mutex = mutex, .id = id, .schedule = own});
  }
  trace.event(world.now(), "-", "m{} has the slots of {}{}{}", mutex, to_string(schedule),
              agreed ? "" : "; one does not agree",
              network.wall_clock() == WallClock::of_server ? "" : "; by the clocks of hosts");
}

Process& Stage::settle(std::size_t place, bool same_ids) {
  const std::size_t number = processes.size();
  const std::string name = fmt::format("p{}{}", static_cast<char>('a' + place), number);
  const nanoseconds patience = world.between(500ms, longest_patience);
  Process& process = *processes.emplace_back(
      std::make_unique<Process>(std::make_unique<Host>(scene, number, name, drift_of(world)),
                                network, checker, slots, mood, resources, options, patience));
  if (network.wall_clock() == WallClock::of_hosts) {
    process.host().step_wall_clock(world.between(-500ms, 500ms));
  }
  if (!same_ids) ++renamed_;
  for (Process::Member& member : members_[place]) {
    if (!same_ids) member.id = fmt::format("{}_{}", member.id.substr(0, 2), renamed_);
    process.add(member);
  }
  for (const std::size_t mutex : observed_[place]) process.observe(mutex);
  occupied_[place] = number;
  trace_begin(process, place);
  return process;
}

void Stage::trace_head() {
  trace.event(world.now(), "-",
              "ttl {} ms, transition {} ms, margin {} ms, drain limit {} ms, initial delay {} ms",
              plan.ttl / 1ms, plan.transition / 1ms, plan.margin / 1ms, plan.drain_limit / 1ms,
              plan.initial_delay / 1ms);
  trace.event(world.now(), "server", "has {} mutexes and a clock off by {} ppm; {}{}", mutexes,
              network.drift_ppm(), words(network.server().offer()),
              network.server().sees_life() ? "; sees who is alive" : "");
}

void Stage::trace_begin(const Process& process, std::size_t place) {
  if (!trace.on()) return;
  std::string who;
  for (const Process::Member& member : members_[place]) {
    who += fmt::format(", {} {} for m{}", words(member.kind), member.id, member.mutex);
  }
  for (const std::size_t mutex : observed_[place]) who += fmt::format(", observer of m{}", mutex);
  trace.event(world.now(), process.host().name(), "begins; clock off by {} ppm{}",
              process.host().drift_ppm(), who);
}

}  // namespace simba::sim
