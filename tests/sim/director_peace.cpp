// Peace and the end. Trouble is in director.cpp.

#include <algorithm>
#include <string>
#include <utility>

#include "sim/director.hpp"

namespace simba::sim {

using namespace std::chrono_literals;

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
  go_on(2 * nanoseconds{stage_.plan.lease()} + checker_.stop_bound() + 15s);
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
