#include "sim/checker.hpp"

#include <algorithm>
#include <utility>

namespace simba::sim {

using namespace std::chrono_literals;

namespace {

/// Clocks are read and converted with less error than this.
constexpr nanoseconds rounding = 3us;

}  // namespace

std::string_view name_of(Rule rule) noexcept {
  constexpr std::array names{"none",
                             "two-owners",
                             "deadline",
                             "token-order",
                             "callback-order",
                             "callback-after-stop",
                             "early-release",
                             "silent-loss",
                             "kept-grant",
                             "late-renewal",
                             "no-owner",
                             "leak",
                             "slow-stop",
                             "wrong-view",
                             "late-return",
                             "work-order",
                             "lost-update",
                             "internal-error",
                             "standstill",
                             "early-loss",
                             "overlooked-loss",
                             "unnoticed-namesake",
                             "false-namesake",
                             "taking-turns",
                             "wrong-lease",
                             "false-alarm",
                             "held-too-long",
                             "slot-twice",
                             "slot-dropped",
                             "slot-order",
                             "slot-early",
                             "slot-unowned",
                             "slot-unrecorded"};
  return names.at(static_cast<std::size_t>(rule));
}

Checker::Checker(const Scene& scene, std::size_t mutexes, const ContentionPlan& plan)
    : scene_{scene},
      plan_{plan},
      owner_bound_{simba::worst_cases(plan).take_over + unhurried},
      mutexes_(mutexes) {
  for (Mutex& mutex : mutexes_) mutex.unowned_since = scene.world.now();
}

Party& Checker::add(Host& host, Party::Kind kind, std::size_t mutex, const std::string& id) {
  Party& party = parties_.emplace_back();
  party.kind = kind;
  party.id = id;
  party.mutex = mutex;
  party.host = &host;
  mutexes_[mutex].parties.push_back(&party);
  if (of_host_.size() <= host.number()) of_host_.resize(host.number() + 1);
  of_host_[host.number()].push_back(&party);
  return party;
}

void Checker::fail(Rule rule, std::string what) {
  constexpr std::array beside_namesakes{Rule::unnoticed_namesake, Rule::taking_turns,
                                        Rule::callback_order,     Rule::callback_after_stop,
                                        Rule::internal_error,     Rule::standstill};
  const bool judged =
      !namesakes_ || (kept_apart_ && rule == Rule::two_owners) ||
      std::find(beside_namesakes.begin(), beside_namesakes.end(), rule) != beside_namesakes.end();
  if (failed() || !judged) return;
  rule_ = rule;
  what_ = std::move(what);
  scene_.trace.fault(scene_.world.now(), "RULE", "{} broken: {}", name_of(rule), what_);
  scene_.trace.close();
}

std::string Checker::words(const Party& party) const {
  return fmt::format("{} in {} (token {})", party.id, party.host->name(), party.token);
}

// ---- the engine ----------------------------------------------------------------------------

void Checker::look(const Host& host) {
  if (host.number() >= of_host_.size() || host.crashed()) return;
  for (Party* party : of_host_[host.number()]) {
    const bool owner = party->service != nullptr && party->service->is_owner();
    if (owner) {
      const FencingToken token = party->service->fencing_token();
      if (!party->owner || token != party->token) begun(*party, token);
      if (std::exchange(party->news, false)) {
        party->lease_end = party->service->mutex_state().after().local_lease().transition_at;
        check_alone(*party);
        check_deadline(*party);
      }
    } else if (party->owner) {
      check_signal(*party);
      ended(*party);
    }
    if (party->service != nullptr) check_lease(*party);
  }
}

void Checker::begun(Party& party, FencingToken token) {
  Mutex& mutex = mutexes_[party.mutex];
  ++ownerships_;
  check_gap(mutex);
  party.owner = true;
  party.token = token;
  party.lost = party.service->lost();
  party.granted = party.heard_given;
  party.lease_end = LocalTime::min();
  party.refused = false;
  party.let_go = false;
  if (party.barred) {
    fail(Rule::taking_turns,
         fmt::format("{} owns m{} again, though another uses its id", words(party), party.mutex));
  }
  scene_.trace.event(scene_.world.now(), party.host->name(), "{} OWNS m{} with token {}", party.id,
                     party.mutex, token);
  check_alone(party);
  if (token <= mutex.top_token && !excused(party)) {
    fail(Rule::token_order, fmt::format("{} owns m{}, but token {} was there before", words(party),
                                        party.mutex, mutex.top_token));
  }
  mutex.top_token = std::max(mutex.top_token, token);
}

void Checker::check_alone(const Party& party) {
  for (const Party* other : mutexes_[party.mutex].parties) {
    if (other == &party || other->service == nullptr || other->host->crashed()) continue;
    if (!other->service->is_owner() || excused(*other) || excused(party)) continue;
    fail(Rule::two_owners, fmt::format("m{} is owned by {} and by {} at the same time, each by its "
                                       "own clock",
                                       party.mutex, words(*other), words(party)));
  }
}

/// Who asks afresh is told at once, also before any timer has run.
void Checker::check_signal(const Party& party) {
  if (party.service == nullptr || party.service->lost().stop_requested()) return;
  fail(Rule::silent_loss,
       fmt::format("who asks {} afresh is not told that m{} is lost", words(party), party.mutex));
}

/// Trouble with the store alone takes no ownership away.
void Checker::check_reason(const Party& party) {
  const bool wanted = !party.let_go && party.service != nullptr && !party.host->crashed();
  if (party.kind != Party::Kind::candidate || !wanted || party.refused) return;
  if (party.host->local_now() >= party.lease_end) return;
  fail(Rule::early_loss,
       fmt::format("{} owns m{} no longer, though its lease lasts until {} and the store has not "
                   "refused to renew it",
                   words(party), party.mutex, show(party.host->true_time(party.lease_end))));
}

void Checker::ended(Party& party) {
  check_reason(party);
  party.owner = false;
  scene_.trace.event(scene_.world.now(), party.host->name(), "{} owns m{} no longer (token {})",
                     party.id, party.mutex, party.token);
  Mutex& mutex = mutexes_[party.mutex];
  if (!owned(mutex)) mutex.unowned_since = scene_.world.now();
}

void Checker::crashed(const Host& host) {
  for (Party* party : of_host_[host.number()]) {
    if (party->owner) ended(*party);
  }
}

// A margin before the store can let anyone else in, an owner has stepped down.
void Checker::check_deadline(const Party& party) {
  const Record& record = record_of(party.mutex);
  if (record.owner != party.id || excused(party)) return;
  const LocalTime until = party.service->mutex_state().after().local_lease().transition_at;
  const std::chrono::milliseconds margin = plan_of(party).margin;
  const LocalTime local_end = party.host->true_time(until) + margin - margin / 1'000;
  const LocalTime server_end = server_true(record.transition_at);
  if (local_end <= server_end + rounding) return;
  fail(Rule::deadline,
       fmt::format("{} believes to own m{} until {}; the server lets others in at {}, and the "
                   "margin is {} ms",
                   words(party), party.mutex, show(party.host->true_time(until)), show(server_end),
                   margin.count()));
}

// What lease_until() says, also of one that is no owner any more and winds up: for so long the
// store lets nobody else in, and a margin longer. Where the server has forgotten the grant it may
// know an older one, which is renewed while it winds up; a release of that one may be under way.
void Checker::check_lease(Party& party) {
  const LocalTime until = party.service->lease_until();
  const bool lasts = until > party.host->local_now();
  if (std::exchange(party.shows_lease, lasts) && !lasts) check_lease_is_shown(party);
  if (std::exchange(party.lease_until, until) == until || !lasts) return;
  if (excused(party) || forgotten(party.granted)) return;
  const Record& record = record_of(party.mutex);
  const LocalTime shown = party.host->true_time(until);
  const LocalTime kept = server_true(record.transition_at);
  const std::chrono::milliseconds margin = plan_of(party).margin;
  if (names(record, party) && shown + margin - margin / 1'000 <= kept + rounding) return;
  fail(Rule::wrong_lease,
       fmt::format("{} says that nobody else can own m{} until {}; the server names [{}] until {}, "
                   "and the margin is {} ms",
                   words(party), party.mutex, show(shown), record.owner, show(kept),
                   margin.count()));
}

/// It shows no lease any more. While it winds up, and the server keeps one for it, it shows that
/// again at once, where nothing was in the way.
void Checker::check_lease_is_shown(const Party& party) {
  if (!party.inside || party.stop_began == never || !party.owned_at_stop) return;
  if (party.kind == Party::Kind::locker || party.excused_turn) return;
  if (drain_is_over(party) || excused(party)) return;
  const nanoseconds span = plan_.lease() + plan_.request_timeout;
  if (party.host->has_just_woken(span)) return;
  if (calm_since(party.host->number()) >= scene_.world.now() - span) return;
  const auto check = [this, &party, began = party.stop_began,
                      paused = party.host->paused_in_all()] {
    if (party.host->crashed() || party.host->paused_in_all() != paused) return;
    if (party.stop_began != began || !party.inside || party.shows_lease) return;
    const Record& record = record_of(party.mutex);
    const nanoseconds left = server_true(record.transition_at) - scene_.world.now();
    if (!names(record, party) || left < plan_.margin + nanoseconds{plan_.lease()} / 8) return;
    fail(Rule::wrong_lease,
         fmt::format("{} winds up and keeps its lease of m{}, but does not show how long it lasts",
                     words(party), party.mutex));
  };
  scene_.world.at(scene_.world.now() + unhurried, check);
}

// Errors that tell of a callback beyond its limit are expected.
void Checker::logged(const Host& host, std::string_view message) {
  if (host.crashed()) return;
  const auto says = [&](std::string_view words) {
    return message.find(words) != std::string_view::npos;
  };
  if (says("no longer contending")) {
    for (Party* party : of_host_[host.number()]) {
      if (!says("mutex [m" + std::to_string(party->mutex) + "], contender [" + party->id + "]")) {
        continue;
      }
      party->barred = true;
      // A server that has forgotten that it took over from a former life may carry out a late
      // request of that one.
      if (namesakes_ || (party->owner && forgotten(party->granted))) continue;
      fail(Rule::false_namesake, fmt::format("{} logs: {}", host.name(), message));
    }
  }
  if (says("clock_drift_ppm")) {  // all clocks keep to it
    fail(Rule::false_alarm, fmt::format("{} logs: {}", host.name(), message));
  }
  if (says("the work of scheduler")) return;  // that of slots throws at times
  if (says("internal error") || says("threw") || says("refused") || says("failed")) {
    fail(Rule::internal_error, fmt::format("{} logs: {}", host.name(), message));
  }
}

Party* Checker::find(const Host& host, const std::string& id) const {
  for (Party* party : of_host_[host.number()]) {
    if (party->id == id) return party;
  }
  return nullptr;
}

void Checker::heard(const Host& host, const std::string& id, LocalTime sent, LocalTime given,
                    FencingToken token) {
  Party* party = find(host, id);
  if (party == nullptr) return;
  party->news = true;
  if (sent < party->granted && token < party->token) return;  // to a request of an earlier life
  // What comes when the lease is over by the own clock makes it last no longer.
  if (party->inside && lease_is_over(*party)) party->overdue = true;
  party->heard_sent = std::max(party->heard_sent, sent);
  party->heard_given = std::max(party->heard_given, given);
}

// An answer to a renewal of an ownership before this one, which may come late, changes nothing: it
// was sent before this one was granted.
void Checker::renewal_answered(const Host& host, const std::string& id, LocalTime sent,
                               FencingToken token) {
  Party* party = find(host, id);
  if (party == nullptr || !party->owner || sent < party->granted || token >= party->token) return;
  party->refused = true;
  const auto check = [this, party, lost = party->token, paused = host.paused_in_all()] {
    if (party->host->crashed() || party->host->paused_in_all() != paused) return;
    if (!party->owner || party->token != lost) return;
    fail(Rule::overlooked_loss, fmt::format("{} still owns m{}, though the store has answered that "
                                            "it does not",
                                            words(*party), party->mutex));
  };
  scene_.world.at(scene_.world.now() + unhurried, check);
}

void Checker::nudged(const Host& host, const std::string& id) {
  if (Party* party = find(host, id)) party->news = true;
}

void Checker::grant_arrives(const Host& host, const std::string& id) {
  if (Party* party = find(host, id)) party->gives_back = false;
}

void Checker::asks_to_acquire(const Host& host, const std::string& id) {
  const Party* party = find(host, id);
  if (party == nullptr || !party->barred) return;
  fail(Rule::taking_turns, fmt::format("{} asks for m{} again, though another uses its id",
                                       words(*party), party->mutex));
}

void Checker::asks_to_release(const Host& host, const std::string& id, FencingToken token) {
  Party* party = find(host, id);
  if (party == nullptr) return;
  party->given_back = std::max(party->given_back, token);
  if (withheld(*party)) {
    fail(Rule::early_release, fmt::format("{} gives m{} back, although its lease was to run out",
                                          words(*party), party->mutex));
  }
  party->gives_back = true;
  if (lease_is_over(*party)) party->overdue = true;
}

// Where a callback ran beyond its limit the lease may be left to run out.
bool Checker::unwanted(const Party& party) const {
  return party.stopped && !party.inside && !party.excused_turn && !party.host->crashed() &&
         !withheld(party);
}

bool Checker::withheld(const Party& party) const {
  return party.host->local_now() < party.withheld_until;
}

// It is given back at once, or by what comes after it under the same id, as soon as a request of
// that one is over. Where no message was in trouble, now or at the stop, the server knows it then.
void Checker::grant_arrived(const Host& host, const std::string& id, FencingToken token) {
  Party* party = find(host, id);
  if (party == nullptr || !unwanted(*party)) return;
  const LocalTime calm = scene_.world.now() - plan_.request_timeout - plan_.retry_max;
  const nanoseconds paused = host.paused_in_all();
  const auto check = [this, party, token, calm, paused] {
    if (!unwanted(*party) || party->host->paused_in_all() != paused) return;
    const Record& record = record_of(party->mutex);
    const bool still = record.token == token && names(record, *party) &&
                       calm_since(party->host->number()) < calm && !party->stopped_in_trouble;
    if (party->gives_back && !still) return;
    fail(Rule::kept_grant, fmt::format("m{} was granted with token {} to {}, which has stopped and "
                                       "{}",
                                       party->mutex, token, words(*party),
                                       still ? "has it still" : "did not give it back"));
  };
  scene_.world.at(scene_.world.now() + plan_.request_timeout + unhurried, check);
}

// Whatever became of messages, it knows that the mutex is its own: if it is not wanted, it asks to
// release it under that token.
void Checker::still_named(const Host& host, const std::string& id, FencingToken token) {
  Party* party = find(host, id);
  const bool contends = party != nullptr && !party->stopped && party->stop_began == never;
  if (party == nullptr || contends) return;  // who contends gets it by asking
  const auto check = [this, party, token, starts = party->starts, paused = host.paused_in_all()] {
    if (!unwanted(*party) || party->host->paused_in_all() != paused || party->starts != starts) {
      return;
    }
    const Record& record = record_of(party->mutex);
    if (party->host->ending || party->given_back >= token) return;
    if (record.token != token || !names(record, *party)) return;
    fail(Rule::kept_grant, fmt::format("{} has stopped, and has heard that m{} is its own with "
                                       "token {}, but does not give it back",
                                       words(*party), party->mutex, token));
  };
  const nanoseconds span = plan_.request_timeout + plan_.retry_max + unhurried;
  scene_.world.at(scene_.world.now() + std::min<nanoseconds>(span, plan_.lease() / 2), check);
}

// ---- the server ----------------------------------------------------------------------------

void Checker::executed(const Call& call, const Host& caller, const Record& before,
                       const Record& after) {
  const bool freed =
      call.kind == Call::Kind::release && before.owner == call.contender && before != after;
  if (freed) released(call, caller);
  // A grant that comes when it is not wanted any more is an ownership, too.
  const Party* const by = find(caller, call.contender);
  if (freed && by != nullptr && by->token != before.token) {
    mutexes_[call.mutex].unowned_since = scene_.world.now();
  }
  const LocalTime now = scene_.world.now();
  const bool renewed = call.kind == Call::Kind::guard && after.transition_at > before.transition_at;
  if (renewed && server_true(before.transition_at) + rounding < now) {
    fail(Rule::late_renewal,
         fmt::format("the server renews the lease of {} on m{}, which was over "
                     "at {}",
                     call.contender, call.mutex, show(server_true(before.transition_at))));
  }
  const bool of_namesake = call.kind == Call::Kind::acquire && before.owner == call.contender &&
                           before.instance != call.instance;
  const bool taken_over = of_namesake && after.token != before.token;
  for (Party* party : mutexes_[call.mutex].parties) {
    if (!taken_over || party->id != call.contender || party->host == &caller) continue;
    if (party->owner && party->token == before.token) check_noticed(*party, after.token);
  }
  if (of_namesake && !taken_over && call.token == before.token) {
    if (Party* party = find(caller, call.contender)) check_gives_up(*party, before.token);
  }
  const bool asked_and_got = call.kind == Call::Kind::acquire && after.owner == call.contender &&
                             after.instance == call.instance && before != after;
  const bool changed = after.owner != before.owner || after.token != before.token;
  if (!after.owner.empty() && (asked_and_got || changed)) granted(before, after, call.mutex);
  if (call.kind == Call::Kind::guard && !changed && before != after) {
    scene_.trace.event(now, "server", "renews m{} for {} until {}", call.mutex, after.owner,
                       show(server_true(after.transition_at)));
  }
}

/// An owner was taken over by one of the same id. When its next renewal is answered, it knows, if
/// the other still has the mutex and nothing is in the way.
void Checker::check_noticed(Party& overtaken, FencingToken by) {
  ++overtaken_;
  const LocalTime began = scene_.world.now();
  const nanoseconds bound = plan_.renew_after + plan_.request_timeout + unhurried;
  const auto check = [this, &overtaken, by, began, bound, token = overtaken.token,
                      starts = overtaken.starts] {
    const Record& record = record_of(overtaken.mutex);
    if (overtaken.host->crashed() || overtaken.host->has_just_woken(bound)) return;
    const bool over = overtaken.let_go || overtaken.stopped || overtaken.gives_back;
    if (overtaken.starts != starts || over || overtaken.barred) return;
    if (record.token != by || record.owner != overtaken.id || forgotten(began)) return;
    if (calm_since(overtaken.host->number()) >= began - plan_.request_timeout) return;
    fail(Rule::unnoticed_namesake,
         fmt::format(
             "{} was taken over on m{} by another of its id at {}, and {}", words(overtaken),
             overtaken.mutex, show(began),
             overtaken.owner && overtaken.token == token ? "still owns" : "has not noticed it"));
  };
  scene_.world.at(began + bound, check);
}

/// It may not take over from another of its id, which is alive. If that one outlives its lease one
/// and a half times, it gives up when it asks next, which it does after a lease.
void Checker::check_gives_up(Party& waiter, FencingToken of_other) {
  ++kept_out_;
  const LocalTime began = scene_.world.now();
  const nanoseconds waits = nanoseconds{plan_.lease()} * 5 / 2 + plan_.jitter.high;
  const nanoseconds bound = waits + waits / 1'000 + plan_.request_timeout + unhurried;
  const auto check = [this, &waiter, of_other, began, bound, starts = waiter.starts] {
    if (waiter.host->crashed() || waiter.host->has_just_woken(bound)) return;
    const bool over = waiter.stopped || waiter.contends_since == never;
    if (waiter.starts != starts || over || waiter.barred) return;
    const Record& record = record_of(waiter.mutex);
    if (record.token != of_other || !names(record, waiter)) return;
    if (calm_since(waiter.host->number()) >= began - plan_.request_timeout) return;
    fail(Rule::unnoticed_namesake,
         fmt::format("{} has waited for m{} since {}, which another of its id keeps, and has not "
                     "given up",
                     words(waiter), waiter.mutex, show(began)));
  };
  scene_.world.at(began + bound, check);
}

void Checker::granted(const Record& before, const Record& record, std::size_t number) {
  Mutex& mutex = mutexes_[number];
  scene_.trace.event(scene_.world.now(), "server", "grants m{} to {} with token {}", number,
                     record.owner, record.token);
  if (record.token <= mutex.top_granted) {
    fail(Rule::token_order, fmt::format("the server grants m{} to {} with token {}, but {} was "
                                        "given before",
                                        number, record.owner, record.token, mutex.top_granted));
  }
  mutex.top_granted = std::max(mutex.top_granted, record.token);
  for (const Party* party : mutex.parties) {
    check_ttl(*party, record);
    if (party->id == record.owner || party->host->crashed()) continue;
    if (party->id == before.owner) check_wind_up(*party, before);
    if (party->service != nullptr && !party->service->is_owner() && !excused(*party) &&
        !forgotten(party->granted) && party->service->lease_until() > party->host->local_now()) {
      fail(Rule::wrong_lease,
           fmt::format("the server grants m{} to {}, but {} says that nobody "
                       "else can own it until {}",
                       number, record.owner, words(*party),
                       show(party->host->true_time(party->service->lease_until()))));
    }
    if (!party->lost.stop_possible() || party->lost.stop_requested() || excused(*party)) continue;
    if (party->service != nullptr && party->service->is_owner()) {
      fail(Rule::two_owners, fmt::format("the server grants m{} to {} while {} owns it by its own "
                                         "clock",
                                         number, record.owner, words(*party)));
    } else if (!party->host->drowsy() && plan_of(*party).margin >= 2ms) {
      fail(Rule::silent_loss, fmt::format("the server grants m{} to {}, but the loss was not "
                                          "signalled to {}",
                                          number, record.owner, words(*party)));
    }
  }
}

/// One with a ttl of its own has asked for that one.
void Checker::check_ttl(const Party& party, const Record& record) {
  if (!party.plan || party.id != record.owner || party.host->number() != record.client) return;
  const nanoseconds ttl = record.ttl_at - record.acquired_at;
  if (ttl == party.plan->ttl) return;
  fail(Rule::wrong_lease,
       fmt::format("the server grants m{} to {} for a ttl of {} ms instead of {} ms", party.mutex,
                   words(party), ttl / 1ms, party.plan->ttl / 1ms));
}

/// Who is stopped as the owner keeps its lease while it winds up, where nothing keeps it from that.
void Checker::check_wind_up(const Party& party, const Record& last) {
  if (!party.inside || party.stop_began == never || !party.owned_at_stop) return;
  if (party.kind == Party::Kind::locker || party.excused_turn) return;
  if (drain_is_over(party) || excused(party)) return;
  const LocalTime in_trouble =
      server_true(last.transition_at) - plan_.lease() - plan_.request_timeout;
  if (party.host->has_just_woken(scene_.world.now() - in_trouble)) return;
  if (calm_since(party.host->number()) >= in_trouble) return;
  fail(Rule::early_release,
       fmt::format("the server grants m{} on while {} winds up: its lease was not renewed",
                   party.mutex, words(party)));
}

void Checker::released(const Call& call, const Host& caller) {
  scene_.trace.event(scene_.world.now(), "server", "hears that {} releases m{} (token {})",
                     call.contender, call.mutex, call.token);
  for (const Party* party : of_host_[caller.number()]) {
    if (party->id != call.contender || caller.crashed()) continue;
    const bool owes = !party->inside && owes_a_word && owes_a_word(*party, call.token);
    if (!party->inside && !owes) continue;
    const bool signalled = !party->lost.stop_possible() || party->lost.stop_requested();
    const bool overran = party->stop_began != never && drain_is_over(*party);
    // Where the server knows only an older grant, of which a release is under way, nothing can keep
    // that one away. The owner knows that it is none any more.
    const bool of_older_grant = signalled && call.token < party->token && forgotten(party->granted);
    // A lock that has ended by its max_hold is not released before it is given back.
    const bool keeps = party->lock != nullptr && party->lock->loss() == Loss::max_hold;
    const bool at_its_own_risk =
        (party->kind == Party::Kind::locker || party->kind == Party::Kind::client) && signalled &&
        !keeps;
    if (overran || of_older_grant || at_its_own_risk || party->excused_turn || party->overdue ||
        excused(*party)) {
      ++excused_count_;
      continue;
    }
    fail(owes ? Rule::slot_unrecorded : Rule::early_release,
         fmt::format("the server hears that {} releases m{} before {}", words(*party), call.mutex,
                     owes                                    ? "it hears how its work has ended"
                     : party->kind == Party::Kind::candidate ? "on_released has returned"
                                                             : "its work has ended"));
  }
}

void Checker::forgot(LocalTime since, LocalTime until) { forgotten_.push_back({since, until}); }

bool Checker::forgotten(LocalTime at) const {
  return std::any_of(forgotten_.begin(), forgotten_.end(),
                     [&](const Span& span) { return at >= span.since && at <= span.until; });
}

// What the server granted or renewed in a second that it has forgotten, until it answers again.
bool Checker::excused(const Party& party) const { return forgotten(party.heard_given); }

// By whichever clock.
bool Checker::drain_is_over(const Party& party) const {
  const nanoseconds limit = plan_.drain_limit;
  return scene_.world.now() - party.stop_began >= limit - limit / 1'000 - 1ms;
}

bool Checker::lease_is_over(const Party& party) const {
  if (party.heard_sent == LocalTime::min()) return true;
  const nanoseconds lease = plan_of(party).lease() - plan_of(party).margin;
  return scene_.world.now() >= party.heard_sent + lease - lease / 1'000 - 1ms;
}

}  // namespace simba::sim
