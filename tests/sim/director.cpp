#include "sim/director.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace simba::sim {

using namespace std::chrono_literals;

namespace {

/// More than ever happens, also when a process wakes up late.
constexpr std::size_t most_at_once = 20'000;

/// Processes that are gone are kept to the end.
constexpr std::size_t most_crashes = 12;

}  // namespace

Director::Director(Stage& stage)
    : stage_{stage}, world_{stage.world}, checker_{stage.checker}, network_{stage.network} {
  const std::size_t climate = world_.below(10);  // 0-3 mild, 4-7 rough, 8-9 wild
  const bool rough = climate >= 4;
  const bool wild = climate >= 8;
  trouble_lasts_ = wild    ? world_.between(5min, 7min)
                   : rough ? world_.between(5min, 12min)
                           : world_.between(10min, 20min);
  restless_ = chance(200);
  calmness_ = wild ? 2s : rough ? 10s : 60s;
  toggles_ = 200 + static_cast<int>(world_.below(500));
  violence_ = wild ? 200 : 60;
  const auto upto = [&](int mild, int bad, int worst) {
    const int most = wild ? worst : rough ? bad : mild;
    return chance(600) ? static_cast<int>(world_.below(static_cast<std::size_t>(most) + 1)) : 0;
  };
  weather_.lost = upto(5, 30, 150);
  weather_.lost_replies = upto(5, 30, 100);
  weather_.lost_notices = upto(20, 100, 400);
  weather_.doubled = upto(5, 30, 100);
  weather_.late = upto(5, 30, 100);
  weather_.usual_most = chance(500) ? 2ms : 30ms;
  weather_.late_most = chance(500) ? 500ms : 6s;
  if (chance(200)) {
    weather_.stray_releases = 300;
    weather_.late_most = 6s + 0ns;
  }
  weather_.naps = upto(5, 10, 20);
  weather_.longest_nap = nanoseconds{stage_.plan.lease()} * 3 / 2;
  Mood& mood = stage_.mood;
  mood.slow_callbacks = upto(60, 120, 250);
  mood.slow_most = chance(800) ? 2s : nanoseconds{stage_.plan.drain_limit} * 3 / 2;
  mood.pause_before_act = upto(40, 60, 100);
  mood.pause_most = chance(500) ? 500ms : nanoseconds{stage_.plan.lease()} * 3 / 2;
  mood.stop_in_callback = upto(60, 100, 150);
  mood.withhold = upto(30, 60, 100);
  mood.failures = static_cast<int>(world_.below(400));
  mood.long_runs = static_cast<int>(world_.below(300));
  mood.work_most = chance(700) ? 500ms : 8s;
  mood.rest_most = wild ? 3s : rough ? 15s : 60s;
}

/// As `go_on`, but also after a rule was broken. Says whether time has passed.
bool Director::pass(nanoseconds span) {
  const LocalTime until = world_.now() + span;
  while (step(until)) {
  }
  return world_.now() >= until;
}

void Director::go_on(nanoseconds span) {
  const LocalTime until = world_.now() + span;
  while (!checker_.failed() && step(until)) {
  }
}

bool Director::step(LocalTime until) {
  if (!world_.step(until)) return false;
  ++events_;
  if (world_.now() > moment_ + 1ms) {
    moment_ = world_.now();
    at_once_ = 0;
  }
  if (++at_once_ == most_at_once / 2) {
    by_then_.clear();
    for (const auto& process : stage_.processes) by_then_.push_back(process->host().events());
  }
  if (at_once_ <= most_at_once) return true;
  checker_.fail(Rule::standstill,
                fmt::format("{} events within a millisecond, {}", at_once_, busiest()));
  return false;
}

std::string Director::busiest() const {
  const Process* most = nullptr;
  std::size_t events = 0;
  for (std::size_t i = 0; i < by_then_.size(); ++i) {
    const std::size_t of_it = stage_.processes[i]->host().events() - by_then_[i];
    if (of_it <= events) continue;
    events = of_it;
    most = stage_.processes[i].get();
  }
  if (most == nullptr) return "none of a process";
  std::string who;
  for (const auto& user : most->users) {
    who +=
        fmt::format("{}{} on m{}", who.empty() ? "" : ", ", user->party().id, user->party().mutex);
  }
  return fmt::format("most of them in {} with {}", most->host().name(), who);
}

void Director::on(User& user, const std::function<void(User&)>& what, nanoseconds delay) {
  user.party().host->spawn(delay, [&user, what] {
    if (!user.party().host->ending) what(user);
  });
}

void Director::start_all() {
  for (std::size_t place = 0; place < stage_.places(); ++place) {
    Process& process = stage_.at(place);
    for (const auto& user : process.users) {
      if (!user->running())
        on(
            *user, [](User& u) { u.start(); }, world_.between(0ms, 100ms));
    }
    for (const auto& observer : process.observers) {
      process.host().spawn(0ns, [&observer = *observer] { observer.start(); });
    }
  }
}

// ---- trouble -------------------------------------------------------------------------------

void Director::make_trouble() {
  network_.weather = weather_;
  start_all();
  const LocalTime ends = world_.now() + trouble_lasts_;
  while (world_.now() < ends && !checker_.failed()) {
    go_on(world_.between(0ms, chance(900) ? calmness_ : 100ms));
    chance(toggles_) ? toggle() : disturb();
  }
}

void Director::toggle() {
  if (stage_.slotted && chance(100)) return steer();
  Process& process = stage_.at(some_place());
  if (!process.observers.empty() && chance(50)) {
    Observer& observer = *process.observers.front();
    process.host().spawn(0ns,
                         [&observer] { observer.running() ? observer.stop() : observer.start(); });
    return;
  }
  User& user = *process.users[world_.below(process.users.size())];
  const std::size_t how = world_.below(100);
  network_.count(Fault::stop_and_start);
  if (!user.running()) {
    on(user, [](User& u) { u.start(); });
  } else if (how < 40) {
    on(user, [](User& u) { u.stop(false); });
  } else if (how < 55) {
    on(user, [](User& u) { u.stop(true); });
  } else if (how < 70) {
    network_.count(Fault::stop_by_two);
    on(user, [](User& u) { u.stop(false); });
    on(
        user, [](User& u) { u.stop(true); }, world_.between(0us, chance(500) ? 100us : 20ms));
  } else if (how < 90) {
    on(user, [](User& u) { u.stop(false); });
    on(
        user, [](User& u) { u.start(); }, world_.between(0us, chance(500) ? 1ms : 2s));
  } else {
    on(user, [](User& u) {
      u.renew();
      u.start();
    });
  }
}

void Director::disturb() {
  const std::size_t place = some_place();
  Host& host = stage_.at(place).host();
  if (chance(violence_)) {
    if (chance(400)) {
      disturb_server();
    } else if (++crashes_ <= most_crashes) {
      crash(place);
    }
    return;
  }
  if (weather_.stray_releases > 0 && chance(300)) {
    make_forget();
    return;
  }
  const nanoseconds lease = stage_.plan.lease();
  const std::size_t what = world_.below(100);
  if (what < 40) {
    pause(host);
  } else if (what < 80) {
    network_.cut(host.number(), world_.between(10ms, chance(500) ? 2s + 0ns : lease * 3 / 2));
  } else if (what < 90) {
    step_wall_clock(host);
  } else {
    disturb_server();
  }
}

void Director::step_wall_clock(Host& host) {
  const nanoseconds most = chance(800) ? 30s : 3'600s;
  const nanoseconds by = world_.between(-most, most);
  if (network_.wall_clock() == WallClock::of_hosts) return network_.jump_wall_clock(host, by);
  network_.jump_wall_clock(by);
}

/// Whoever pauses a schedule resumes it, or somebody else does.
void Director::steer() {
  constexpr std::array all{Steering::pause, Steering::resume, Steering::trigger, Steering::trigger};
  const Steering how = all.at(world_.below(all.size()));
  const std::size_t mutex = stage_.mutexes - 1;
  network_.count(Fault::steering);
  stage_.at(some_place()).steer(mutex, how);
  if (how != Steering::pause) return;
  world_.at(world_.now() + world_.between(100ms, 60s), [this, mutex] {
    if (!ending_) stage_.at(some_place()).steer(mutex, Steering::resume);
  });
}

void Director::pause(Host& host) {
  const nanoseconds lease = stage_.plan.lease();
  const nanoseconds span = world_.between(1ms, chance(500) ? 1s + 0ns : lease * 5 / 4);
  network_.count(Fault::pause);
  stage_.trace.fault(world_.now(), host.name(), "is paused for {} ms", span / 1ms);
  host.pause(span);
}

void Director::disturb_server() {
  const nanoseconds span = world_.between(5ms, chance(700) ? 500ms : 8s);
  network_.restart_server(span, chance(350));
}

/// Who owns something and is no locker; null: nobody.
User* Director::some_owner() {
  std::vector<User*> all;
  for (std::size_t place = 0; place < stage_.places(); ++place) {
    for (const auto& user : stage_.at(place).users) {
      const Party& party = user->party();
      if (party.owner && party.kind != Party::Kind::locker && party.kind != Party::Kind::client &&
          !party.host->crashed()) {
        all.push_back(user.get());
      }
    }
  }
  return all.empty() ? nullptr : all[world_.below(all.size())];
}

/// An owner releases and acquires anew, and the server forgets both.
void Director::make_forget() {
  User* owner = some_owner();
  if (owner == nullptr) return;
  network_.count(Fault::stop_and_start);
  on(*owner, [](User& u) {
    u.stop(false);
    u.start();
  });
  world_.at(world_.now() + world_.between(20ms, 900ms), [this] {
    if (!ending_) network_.restart_server(world_.between(5ms, 100ms), true);
  });
}

void Director::crash(std::size_t place) {
  Host& host = stage_.at(place).host();
  stage_.trace.fault(world_.now(), host.name(), "crashes");
  network_.count(Fault::crash);
  stage_.slots.crashes();
  host.crash();
  checker_.crashed(host);
  network_.lose(host.number(),
                world_.between(0ms, std::min<nanoseconds>(dead_noticed, stage_.plan.lease())));
  const bool same_ids = chance(500) || stage_.namesakes;
  if (same_ids) network_.count(Fault::restart_same_id);
  const nanoseconds later = chance(500) ? world_.between(1ms, 50ms) : world_.between(50ms, 20s);
  ++returning_;
  world_.at(world_.now() + later, [this, place, same_ids, &host] {
    --returning_;
    if (ending_ || &stage_.at(place).host() != &host) return;
    Process& process = stage_.settle(place, same_ids);
    for (const auto& user : process.users) on(*user, [](User& u) { u.start(); });
    for (const auto& observer : process.observers) {
      process.host().spawn(0ns, [&observer = *observer] { observer.start(); });
    }
  });
}

/// From now on nothing goes wrong any more, but for one crash. It begins when the last fault is
/// over: who was paused is awake, who has crashed is back, late messages have come, slow callbacks
/// have ended.
void Director::make_peace() {
  stage_.trace.event(world_.now(), "-", "the faults end");
  network_.calm();
  stage_.mood = Mood{};
  std::vector<const Party*> slow = checker_.busy();
  const auto in_trouble = [&] {
    std::erase_if(slow, [](const Party* party) { return !party->in_callback; });
    return !slow.empty() || returning_ > 0 || network_.down() || any_host_in_trouble() ||
           network_.late_until() > world_.now();
  };
  while (in_trouble() && !checker_.failed()) go_on(20ms);
  start_all();
  go_on(200ms);
  stage_.trace.event(world_.now(), "-", "peace; an owner of each mutex within {} ms",
                     checker_.owner_bound() / 1ms);
  checker_.peace_begins();
  if (restless_) network_.weather.usual_most = 40ms;
  const LocalTime began = world_.now();
  const LocalTime crash_at = began + world_.between(0s, checker_.owner_bound() + 40s);
  bool to_crash = true;
  const nanoseconds lasts = 2 * checker_.owner_bound() + (restless_ ? 300s : 60s);
  while (world_.now() < began + lasts && !checker_.failed()) {
    go_on(500ms);
    checker_.check_owners();
    stage_.slots.check();
    if (restless_) {
      toggle();
      toggle();
    } else if (chance(60)) {
      toggle();
    }
    if (world_.now() >= crash_at && std::exchange(to_crash, false)) crash_an_owner();
  }
  start_all();
}

bool Director::any_host_in_trouble() const {
  for (std::size_t place = 0; place < stage_.places(); ++place) {
    const Host& host = stage_.at(place).host();
    if (!host.crashed() && (host.drowsy() || network_.calm_since(host.number()) > world_.now())) {
      return true;
    }
  }
  return false;
}

/// What is owned in that process must be taken over within the bound.
void Director::crash_an_owner() {
  const User* owner = some_owner();
  std::size_t place = some_place();
  for (std::size_t i = 0; owner != nullptr && i < stage_.places(); ++i) {
    if (&stage_.at(i).host() == owner->party().host) place = i;
  }
  crash(place);
}

/// Nobody does anything but contend.
void Director::be_quiet() {
  stage_.mood.quiet = true;
  if (stage_.slotted) stage_.at(some_place()).steer(stage_.mutexes - 1, Steering::resume);
  const LocalTime until =
      world_.now() + 2 * nanoseconds{stage_.plan.lease()} + checker_.stop_bound() + 15s;
  while (world_.now() < until && !checker_.failed()) {
    go_on(std::min<nanoseconds>(500ms, until - world_.now()));
    stage_.slots.check();
  }
  checker_.check_owners();
  check_views();
}

void Director::check_views() {
  for (std::size_t place = 0; place < stage_.places(); ++place) {
    for (const auto& observer : stage_.at(place).observers) {
      if (!observer->running() || checker_.failed()) continue;
      const Record& record = network_.server().record(observer->number());
      const bool held = !record.owner.empty() && record.transition_at > network_.server_now();
      const std::string truth = held ? record.owner : "";
      if (observer->sees() == truth) continue;
      checker_.fail(
          Rule::wrong_view,
          fmt::format("an observer in {} sees [{}] own m{}; the server says [{}]",
                      stage_.at(place).host().name(), observer->sees(), observer->number(), truth));
    }
  }
}

bool Director::end() {
  stage_.trace.event(world_.now(), "-", "all stop");
  const bool checked = !checker_.failed();
  ending_ = true;
  network_.calm();
  for (const auto& process : stage_.processes) {
    if (process->host().crashed()) process->host().revive();
    process->end();
  }
  const auto alive = [](const auto& process) { return process->host().alive() > 0; };
  const auto& all = stage_.processes;
  const LocalTime limit = world_.now() + 5 * checker_.stop_bound() + 120s;
  while (std::any_of(all.begin(), all.end(), alive) && world_.now() < limit) {
    if (!pass(1s)) break;
  }
  pass(nanoseconds{stage_.plan.lease()} + longest_patience + 1s);
  const bool ended = std::none_of(all.begin(), all.end(), alive);
  if (checked) check_nothing_is_left();
  return ended;
}

void Director::check_nothing_is_left() {
  for (const auto& process : stage_.processes) {
    const std::string left = process->left();
    if (!left.empty()) {
      checker_.fail(Rule::leak, fmt::format("{} leaves behind: {}", process->host().name(), left));
    }
  }
  const Server& server = network_.server();
  for (std::size_t i = 0; i < stage_.mutexes; ++i) {
    const Record& record = server.record(i);
    if (record.owner.empty() || record.transition_at <= network_.server_now()) continue;
    checker_.fail(Rule::leak, fmt::format("the server names {} as owner of m{} after all have "
                                          "stopped",
                                          record.owner, i));
  }
  if (server.waiters() > 0) checker_.fail(Rule::leak, "a waiter is left in the server");
  if (const std::string watch = server.any_watch(); !watch.empty()) {
    checker_.fail(Rule::leak, fmt::format("a watch is left in the server: {}", watch));
  }
}

}  // namespace simba::sim
