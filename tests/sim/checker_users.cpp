// What the checker hears of users, and what it demands in peace. The rest is in checker.cpp.

#include <algorithm>

#include "sim/checker.hpp"

namespace simba::sim {

using namespace std::chrono_literals;

// ---- users ---------------------------------------------------------------------------------

void Checker::contends(Party& party) {
  party.stopped = false;
  party.withheld_until = LocalTime::min();
  ++party.starts;
  party.contends_since = scene_.world.now() + plan_.initial_delay;
}

void Checker::started(Party& party) {
  contends(party);
  party.barred = false;
  scene_.trace.event(scene_.world.now(), party.host->name(), "{} starts", party.id);
}

void Checker::stop_begins(Party& party) {
  party.stop_began = scene_.world.now();
  party.owned_at_stop = party.service != nullptr && party.service->is_owner();
  party.let_go = true;
  party.asked_by_then = party.contends_since <= scene_.world.now() || party.owned_at_stop;
  party.contends_since = never;
  scene_.trace.event(scene_.world.now(), party.host->name(), "{} stops", party.id);
}

void Checker::stop_returned(Party& party) {
  if ((party.inside || party.in_callback) && drain_is_over(party)) party.excused_turn = true;
  has_stopped(party);
  party.stop_began = never;
  scene_.trace.event(scene_.world.now(), party.host->name(), "{} has stopped", party.id);
  check_has_left(party);
}

void Checker::has_stopped(Party& party) {
  party.stopped = true;
  const LocalTime began = std::min(party.stop_began, scene_.world.now());
  party.stopped_in_trouble =
      calm_since(party.host->number()) >= began - plan_.request_timeout - plan_.retry_max;
}

// Who has stopped is not in the queue of the server as soon as a request is over, where no message
// was in trouble: a grant to it would help nobody. (Whoever wakes up finds its connection broken;
// what it had sent there may come after the release. Who has not asked leaves what one that crashed
// had asked for under the same id.)
void Checker::check_has_left(const Party& party) {
  if (!party.asked_by_then) return;
  if (party.stopped_in_trouble || party.host->has_just_woken(plan_.request_timeout)) return;
  const LocalTime stopped = scene_.world.now();
  const auto check = [this, &party, stopped, paused = party.host->paused_in_all(),
                      starts = party.starts] {
    if (!unwanted(party) || party.host->paused_in_all() != paused || party.starts != starts) return;
    if (calm_since(party.host->number()) >= stopped) return;
    if (!queues(party.mutex, party.id, party.host->number())) return;
    fail(Rule::leak, fmt::format("{} has stopped, but waits for m{} in the queue of the server",
                                 words(party), party.mutex));
  };
  scene_.world.at(scene_.world.now() + plan_.request_timeout + unhurried, check);
}

void Checker::acquired_begins(Party& party) {
  scene_.trace.event(scene_.world.now(), party.host->name(), "{} on_acquired", party.id);
  if (party.stopped) {
    fail(Rule::callback_after_stop, "on_acquired of " + words(party) + " begins after stop()");
  }
  if ((party.inside || party.in_callback) && !party.excused_turn) {
    fail(Rule::callback_order, "on_acquired of " + words(party) + " comes twice, or too early");
  }
  party.excused_turn = false;
  party.overdue = false;
  party.inside = true;
  party.in_callback = true;
}

void Checker::released_begins(Party& party) {
  scene_.trace.event(scene_.world.now(), party.host->name(), "{} on_released", party.id);
  if (party.stopped) {
    fail(Rule::callback_after_stop, "on_released of " + words(party) + " begins after stop()");
  }
  if ((!party.inside || party.in_callback) && !party.excused_turn) {
    fail(Rule::callback_order, "on_released of " + words(party) + " comes without on_acquired");
  }
  party.in_callback = true;
}

void Checker::callback_ends(Party& party, bool released) {
  party.in_callback = false;
  if (!released) return;
  party.inside = false;
  if (!party.stopped && party.stop_began == never) party.contends_since = scene_.world.now();
  scene_.trace.event(scene_.world.now(), party.host->name(), "{} on_released returns", party.id);
}

void Checker::withholds(Party& party, LocalTime lease_until) {
  if (party.stop_began == never) return;
  party.withheld_until = lease_until;
  scene_.trace.event(scene_.world.now(), party.host->name(), "{} lets its lease run out", party.id);
}

void Checker::hook_begins(Party& party) {
  if (party.stopped) {
    fail(Rule::callback_after_stop, "on_slot of " + words(party) + " begins after stop()");
  }
  if (party.in_callback && !party.excused_turn) {
    fail(Rule::callback_order, "on_slot of " + words(party) + " begins while its work runs");
  }
  party.in_callback = true;
}

bool Checker::work_begins(Party& party) {
  if (party.stopped) {
    fail(Rule::callback_after_stop, "work of " + words(party) + " begins after stop()");
  }
  if (party.service == nullptr) return false;
  const FencingToken token = party.service->fencing_token();
  Mutex& mutex = mutexes_[party.mutex];
  scene_.trace.event(scene_.world.now(), party.host->name(), "{} work begins (token {})", party.id,
                     token);
  if (party.inside && !party.excused_turn) {
    fail(Rule::callback_order, "work of " + words(party) + " begins while it runs");
  }
  if (token < mutex.top_work && !excused(party)) {
    fail(Rule::work_order, fmt::format("work of {} begins though work with token {} has begun",
                                       words(party), mutex.top_work));
  }
  if (!party.service->is_owner()) {
    fail(Rule::work_order, "work of " + words(party) + " begins though it does not lead");
  }
  mutex.top_work = std::max(mutex.top_work, token);
  party.excused_turn = false;
  party.overdue = false;
  party.inside = true;
  party.in_callback = true;
  return true;
}

void Checker::work_ends(Party& party) {
  party.inside = false;
  party.in_callback = false;
  if (party.contends_since != never) party.contends_since = scene_.world.now();
  scene_.trace.event(scene_.world.now(), party.host->name(), "{} work ends", party.id);
}

// What it held is given back at once, not left to run out. By then a release that was still under
// way when stop() returned has arrived, too.
void Checker::gone(const Party& party) {
  const nanoseconds lease = plan_.lease();
  const nanoseconds wait = std::min(plan_.request_timeout + unhurried, lease / 2);
  const nanoseconds paused = party.host->paused_in_all();
  scene_.world.at(scene_.world.now() + wait, [this, &party, paused] {
    if (party.excused_turn || party.host->crashed() || party.host->paused_in_all() != paused ||
        withheld(party)) {
      return;
    }
    if (!names(record_of(party.mutex), party)) return;
    fail(Rule::leak,
         fmt::format("the server names {} as owner of m{} after it has stopped for good",
                     words(party), party.mutex));
  });
}

bool Checker::names(const Record& record, const Party& party) const {
  return record.owner == party.id && server_true(record.transition_at) > scene_.world.now();
}

void Checker::took(const Party& party, Rule rule, std::string_view what, nanoseconds took,
                   nanoseconds bound) {
  if (took <= bound + bound / 1'000 + 50ms || party.host->crashed()) return;
  fail(rule, fmt::format("{} of {} took {} ms, at most {} ms are allowed", what, words(party),
                         took / 1ms, bound / 1ms));
}

// ---- peace ---------------------------------------------------------------------------------

std::vector<const Party*> Checker::busy() const {
  std::vector<const Party*> all;
  for (const Party& party : parties_) {
    if (!party.host->crashed() && party.in_callback) all.push_back(&party);
  }
  return all;
}

void Checker::peace_begins() { peace_since_ = scene_.world.now(); }

bool Checker::owned(const Mutex& mutex) const {
  return std::any_of(mutex.parties.begin(), mutex.parties.end(), [](const Party* party) {
    return party->owner && !party->host->crashed() && party->service != nullptr &&
           party->service->is_owner();
  });
}

/// For how long one has contended and nobody has owned it, in peace.
nanoseconds Checker::gap(const Mutex& mutex) const {
  LocalTime since = never;
  for (const Party* party : mutex.parties) {
    if (!party->host->crashed()) since = std::min(since, party->contends_since);
  }
  if (since == never || peace_since_ == never) return 0ns;
  return std::max(0ns, scene_.world.now() - std::max({since, mutex.unowned_since, peace_since_}));
}

void Checker::check_owners() {
  for (const Mutex& mutex : mutexes_) check_gap(mutex);
}

void Checker::check_gap(const Mutex& mutex) {
  if (owned(mutex)) return;
  const nanoseconds without = gap(mutex);
  worst_gap_ = std::max(worst_gap_, without);
  if (without <= owner_bound_) return;
  fail(Rule::no_owner, fmt::format("nobody owns m{} for {} ms although one contends; the bound "
                                   "is {} ms",
                                   &mutex - mutexes_.data(), without / 1ms, owner_bound_ / 1ms));
}

}  // namespace simba::sim
