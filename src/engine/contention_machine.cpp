#include "engine/contention_machine.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/retry.hpp"

namespace simba::engine {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

std::string_view to_string(Request::Kind kind) {
  switch (kind) {
    case Request::Kind::acquire:
      return "acquire";
    case Request::Kind::guard:
      return "guard";
    case Request::Kind::release:
      break;
  }
  return "release";
}

LocalTime earliest(LocalTime sent_at, const LeaseRecord& record) {
  return std::min(sent_at, record.counted_from.value_or(sent_at));
}

}  // namespace

ContentionMachine::ContentionMachine(std::shared_ptr<const ContentionPlan> plan,
                                     std::string_view contender_id, AfterLoss after_loss,
                                     std::shared_ptr<Random> random, nanoseconds renew_phase,
                                     OwnerWatch owner_watch)
    : plan_{std::move(plan)},
      contender_id_{contender_id},
      after_loss_{after_loss},
      random_{std::move(random)},
      period_{{}, random_, plan_->jitter},  // only contenders' delays are asked for
      renew_phase_{renew_phase},
      owner_watch_{owner_watch} {}

// The deadline comes first: nothing that an event says can make a lease last past its local end.
Actions ContentionMachine::step(const MachineEvent& event, LocalTime now) {
  Actions actions;
  expire(now, actions);
  std::visit([&](const auto& e) { on(e, now, actions); }, event);
  time_out(now, actions);
  warn_at_risk(now, actions);
  send_due(now, actions);
  return actions;
}

LocalTime ContentionMachine::wake_at() const noexcept {
  LocalTime at = in_flight_ ? in_flight_->sent_at + plan_->request_timeout : next_attempt_;
  if (lease_held_) at = std::min(at, lease_.transition_at);
  if (phase_ == Phase::owning && !at_risk_) at = std::min(at, lease_.ttl_at);
  if (phase_ == Phase::releasing) at = std::min(at, release_until_);
  if (phase_ == Phase::draining && !wanted_ && !lease_held_) at = std::min(at, drain_until_);
  return at;
}

LocalTime ContentionMachine::owned_until() const noexcept {
  return phase_ == Phase::owning ? lease_.transition_at : LocalTime::min();
}

LocalTime ContentionMachine::lease_until() const noexcept {
  return lease_held_ ? lease_.transition_at : LocalTime::min();
}

LocalTime ContentionMachine::in_ttl_until() const noexcept {
  return phase_ == Phase::owning ? lease_.ttl_at : LocalTime::min();
}

// ---- events --------------------------------------------------------------------------------

void ContentionMachine::on(const Start& /*event*/, LocalTime now, Actions& actions) {
  wanted_ = true;
  barred_ = false;
  clock_excess_ppm_ = 0;
  clock_reported_ = false;
  ++life_;
  set_watching(false, actions);  // its notices are for the life before
  LocalTime first_attempt = now + plan_->initial_delay;
  // What the life before holds keeps the others away from a callback that still runs, or was told
  // not to be given back. Where a session holds it, to ask would give that up.
  running_out_until_ = lease_held_ ? lease_.transition_at : LocalTime::min();
  if (lease_held_ && (owner_watch_ == OwnerWatch::kept || phase_ == Phase::expiring)) {
    first_attempt = std::max(first_attempt, lease_.transition_at);
  }
  begin_contending(now, first_attempt);
}

void ContentionMachine::on(const Stop& /*event*/, LocalTime now, Actions& actions) {
  wanted_ = false;
  switch (phase_) {
    case Phase::contending: {
      set_watching(false, actions);
      const bool in_doubt = in_flight_.has_value() || failures_ > 0;
      if (now < running_out_until_) {
        lease_held_ = true;  // as it was before this life, which has asked for nothing
        begin_expiring(actions);
      } else if (asked_) {
        begin_releasing(0, now + (in_doubt ? plan_->lease() : plan_->request_timeout), now,
                        actions);
      } else {
        settle(actions);
        actions.confirmed = true;
      }
      break;
    }
    case Phase::owning:
      phase_ = Phase::draining;
      drain_until_ = now + plan_->drain_limit;
      actions.observed = OwnerView{};
      actions.drain = ++drains_;
      break;
    case Phase::draining:
      drain_until_ = now + plan_->drain_limit;
      if (!asked_) {
        settle(actions);
        actions.confirmed = true;
      }
      break;
    case Phase::lapsed:
      if (asked_) {
        begin_releasing(last_token_, now + plan_->request_timeout, now, actions);
      } else {
        settle(actions);
        actions.confirmed = true;
      }
      break;
    case Phase::releasing:
      break;
    case Phase::expiring:
      actions.settled = true;
      break;
    case Phase::idle:
      settle(actions);
      actions.confirmed = true;
      break;
  }
}

void ContentionMachine::on(const Tick& /*event*/, LocalTime /*now*/, Actions& /*actions*/) {}

void ContentionMachine::on(const Drained& event, LocalTime now, Actions& actions) {
  if (phase_ != Phase::draining || event.drain != drains_) return;
  if (!wanted_ && withheld_ && lease_held_) {
    actions.withheld = true;
    begin_expiring(actions);
  } else if (!wanted_) {
    begin_releasing(last_token_, lease_held_ ? lease_.transition_at : now + plan_->request_timeout,
                    now, actions);
  } else if (after_loss_ == AfterLoss::contend_again && !barred_) {
    begin_contending(now, now);
  } else {
    new_epoch();
    lease_held_ = false;
    phase_ = Phase::lapsed;
    set_watching(false, actions);
    if (asked_) actions.give_back = make_request(Request::Kind::release, last_token_, now);
  }
}

void ContentionMachine::on(const Withhold& /*event*/, LocalTime now, Actions& /*actions*/) {
  if (phase_ != Phase::draining || wanted_ || !lease_held_) return;
  withheld_ = true;
  drain_until_ = now;
}

void ContentionMachine::on(const Answered& event, LocalTime now, Actions& actions) {
  if (event.answer.record() != nullptr) see(*event.answer.record());
  if (event.request.epoch != epoch_) {
    answered_out_of_epoch(event, now, actions);
    return;
  }
  const bool newest = in_flight_ && in_flight_->id == event.request.id;
  if (newest) in_flight_.reset();
  switch (event.request.kind) {
    case Request::Kind::acquire:
      acquire_answered(event, newest, now, actions);
      break;
    case Request::Kind::guard:
      guard_answered(event, newest, now, actions);
      break;
    case Request::Kind::release:
      release_answered(event, newest, now, actions);
      break;
  }
}

void ContentionMachine::on(const Noticed& event, LocalTime now, Actions& actions) {
  const Notice& notice = event.notice;
  if (event.life != life_) {
    // Of a subscription that is over. Only a grant matters: nobody else will give it back.
    if (notice.kind == Notice::Kind::granted && notice.record && is_mine(*notice.record)) {
      give_back(notice.record->fencing_token, now, actions);
      see(*notice.record);
    }
    return;
  }
  switch (notice.kind) {
    case Notice::Kind::renewed:
      if (namesake_proven_ && notice.record && names_us(*notice.record)) break;  // refused already
      put_off_attempt(notice, now);
      change_noticed(notice, now, actions);
      break;
    case Notice::Kind::changed:
      change_noticed(notice, now, actions);
      break;
    case Notice::Kind::granted:
      grant_noticed(notice, now, actions);
      break;
    case Notice::Kind::suspended:
      namesake_proven_.reset();  // its session may live on for as long as ours is cut off
      if (notice.record && notice.record->counted_from && is_mine(*notice.record) && lease_held_ &&
          notice.record->fencing_token == last_token_) {
        extend(*notice.record, *notice.record->counted_from, actions);
      }
      if (phase_ == Phase::owning && !at_risk_) {
        at_risk_ = true;
        actions.events.emplace_back(AtRisk{.lease_left = lease_.transition_at - now});
      }
      break;
    case Notice::Kind::revoked:
      if (lease_held_) {
        lose(LossReason::revoked, nullptr, now, actions);
      } else {
        hint(now);
      }
      break;
  }
  if (notice.record) see(*notice.record);
}

// It may be in doubt whether there is anything, and under which token: one that is stopped asks.
void ContentionMachine::on(const Inherited& event, LocalTime now, Actions& actions) {
  if (phase_ == Phase::idle) {
    begin_releasing(event.token, now + plan_->request_timeout, now, actions);
  } else if (phase_ == Phase::releasing) {
    hinted_ = true;  // what is under way may have come too early
    release_token_ = std::max(release_token_, event.token);
  } else {
    give_back(event.token, now, actions);
  }
}

// ---- time ----------------------------------------------------------------------------------

void ContentionMachine::expire(LocalTime now, Actions& actions) {
  if (lease_held_ && now >= lease_.transition_at) {
    lose(LossReason::expired, nullptr, now, actions);
  }
  const bool gave_up_draining = phase_ == Phase::draining && !wanted_ && now >= drain_until_;
  const bool gave_up_releasing = phase_ == Phase::releasing && now >= release_until_;
  if (gave_up_releasing) settle(actions);
  if (gave_up_draining && !lease_held_) {
    const bool asked = asked_;
    settle(actions);
    if (asked) actions.give_back = make_request(Request::Kind::release, last_token_, now);
  }
}

void ContentionMachine::time_out(LocalTime now, Actions& actions) {
  if (!in_flight_ || now < in_flight_->sent_at + plan_->request_timeout) return;
  const Error error = no_answer(to_string(in_flight_->kind), *plan_);
  in_flight_.reset();
  request_failed(error, now, actions);
}

void ContentionMachine::warn_at_risk(LocalTime now, Actions& actions) {
  if (phase_ != Phase::owning || at_risk_ || now < lease_.ttl_at) return;
  at_risk_ = true;
  actions.events.emplace_back(AtRisk{.lease_left = lease_.transition_at - now});
}

void ContentionMachine::send_due(LocalTime now, Actions& actions) {
  if (in_flight_ || now < next_attempt_) return;
  switch (phase_) {
    case Phase::contending:
      asked_ = true;
      running_out_until_ = LocalTime::min();
      in_flight_ = make_request(Request::Kind::acquire, takes_over_, now);
      in_flight_->waiting_since = waiting_since_;
      break;
    case Phase::draining:
      if (now >= drain_until_) {
        next_attempt_ = never;  // slow beyond its limit: the lease runs out
        actions.drained_too_long = !withheld_;
        return;
      }
      [[fallthrough]];
    case Phase::owning:
      in_flight_ = make_request(Request::Kind::guard, last_token_, now);
      break;
    case Phase::releasing:
      in_flight_ = make_request(Request::Kind::release, release_token_, now);
      break;
    case Phase::expiring:
      next_attempt_ = never;
      return;
    case Phase::idle:
    case Phase::lapsed:
      return;
  }
  actions.send = in_flight_;
}

// ---- phases --------------------------------------------------------------------------------

void ContentionMachine::begin_contending(LocalTime now, LocalTime first_attempt) {
  new_epoch();
  waiting_since_ = now;
  phase_ = Phase::contending;
  withheld_ = false;
  lease_held_ = false;
  next_attempt_ = first_attempt;
}

void ContentionMachine::begin_expiring(Actions& actions) {
  new_epoch();
  phase_ = Phase::expiring;
  actions.settled = true;  // what is left is to wait, which nobody must
}

void ContentionMachine::begin_releasing(FencingToken token, LocalTime until, LocalTime now,
                                        Actions& actions) {
  new_epoch();
  set_watching(false, actions);
  phase_ = Phase::releasing;
  lease_held_ = false;
  release_token_ = token;
  release_until_ = until;
  next_attempt_ = now;
}

void ContentionMachine::settle(Actions& actions) {
  new_epoch();
  set_watching(false, actions);
  phase_ = Phase::idle;
  lease_held_ = false;
  asked_ = false;
  actions.settled = true;
}

void ContentionMachine::lose(LossReason reason, const LeaseRecord* record, LocalTime counted_from,
                             Actions& actions) {
  if (phase_ == Phase::expiring) {
    settle(actions);
    if (reason == LossReason::expired && owner_watch_ == OwnerWatch::kept) {  // it would stay ours
      actions.give_back = make_request(Request::Kind::release, last_token_, counted_from);
    }
    return;
  }
  if (phase_ == Phase::draining) {  // stopped, and on_released took longer than the lease was kept
    if (reason == LossReason::duplicate_id) {
      actions.events.emplace_back(OwnershipLost{.reason = reason, .fencing_token = token_});
    } else {
      actions.drain_overrun = true;
    }
    settle(actions);
    if (reason == LossReason::expired) {  // where a session keeps it for us, it would do so on
      actions.give_back = make_request(Request::Kind::release, last_token_, counted_from);
    }
    return;
  }
  new_epoch();
  phase_ = Phase::draining;
  lease_held_ = false;
  asked_ = reason == LossReason::expired;  // a renewal whose answer got lost may have succeeded
  barred_ = reason == LossReason::duplicate_id;
  actions.lost = true;
  actions.events.emplace_back(OwnershipLost{.reason = reason, .fencing_token = token_});
  actions.observed = record != nullptr ? view_of(*record, counted_from) : OwnerView{};
  actions.drain = ++drains_;
}

// ---- small parts ---------------------------------------------------------------------------

void ContentionMachine::new_epoch() {
  ++epoch_;
  in_flight_.reset();
  next_attempt_ = never;
  failures_ = 0;
  hinted_ = false;
  takes_over_ = 0;
  namesake_proven_.reset();
}

Request ContentionMachine::make_request(Request::Kind kind, FencingToken token, LocalTime now) {
  return Request{.kind = kind, .id = ++requests_, .epoch = epoch_, .sent_at = now, .token = token};
}

nanoseconds ContentionMachine::retry_pause(const Error& error) {
  if (phase_ == Phase::contending && !error.is_transient()) return plan_->retry_refused;
  return engine::retry_pause(failures_, *plan_, *random_);
}

// What the store has granted, less what a clock that runs too fast takes off it.
milliseconds ContentionMachine::granted_by(const LeaseRecord& record) const noexcept {
  const milliseconds lease = std::min(record.transition_left, plan_->lease());
  if (clock_excess_ppm_ == 0) return lease;
  return lease - lease * clock_excess_ppm_ / 1'000'000 - milliseconds{1};
}

LocalLease ContentionMachine::own_lease(const LeaseRecord& record, LocalTime counted_from) const {
  const milliseconds lease = granted_by(record);
  const LocalTime end = counted_from + plan_->without_drift(lease) - plan_->margin;
  return LocalLease{
      .acquired_at = counted_from,
      .ttl_at = std::min(counted_from + std::min(record.ttl_left, plan_->ttl), end),
      .transition_at = end,
  };
}

// A store may grant less than it was asked for; then all comes sooner.
LocalTime ContentionMachine::renewal_after(LocalTime counted_from, milliseconds granted) const {
  nanoseconds pause = plan_->renew_after;
  if (granted < plan_->lease()) {
    const double part = static_cast<double>(std::max(granted, milliseconds{0}).count()) /
                        static_cast<double>(plan_->lease().count());
    pause = std::chrono::floor<nanoseconds>(std::chrono::duration<double, std::nano>{pause} * part);
  }
  const LocalTime due = counted_from + pause;
  const nanoseconds grid = plan_->renew_grid;
  if (grid.count() == 0) return due;
  const LocalTime on_grid = due - (due.time_since_epoch() + renew_phase_) % grid;
  return on_grid > counted_from ? on_grid : due;
}

void ContentionMachine::set_watching(bool wanted, Actions& actions) {
  if (watching_ == wanted) return;
  watching_ = wanted;
  actions.watching = wanted ? Actions::Watching::begin : Actions::Watching::end;
}

OwnerView ContentionMachine::own_view(const LeaseRecord& record) const {
  return OwnerView{.owner_id = std::string{contender_id_},
                   .lease = record.lease,
                   .local_lease = lease_,
                   .fencing_token = token_};
}

bool ContentionMachine::names_us(const LeaseRecord& record) const noexcept {
  return record.owner_id == contender_id_;
}

bool ContentionMachine::is_mine(const LeaseRecord& record) const noexcept {
  return names_us(record) && !record.namesake;
}

// ---- answers -------------------------------------------------------------------------------

void ContentionMachine::acquire_answered(const Answered& event, bool newest, LocalTime now,
                                         Actions& actions) {
  if (const Error* error = event.answer.error()) {
    if (newest) request_failed(*error, now, actions);
    return;
  }
  const LeaseRecord& record = *event.answer.record();
  const LocalTime counted_from = earliest(event.request.sent_at, record);
  if (record.namesake) {
    if (newest) held_by_namesake(event, now, actions);
  } else if (!is_mine(record)) {
    if (newest) held_by_other(record, counted_from, now, actions);
  } else if (!believe_grant(record, counted_from, now, actions) && newest) {
    last_token_ = record.fencing_token;
    request_failed(Error{ErrorKind::timeout, "the grant arrived after its lease had ended"}, now,
                   actions);
  }
}

bool ContentionMachine::believe_grant(const LeaseRecord& record, LocalTime counted_from,
                                      LocalTime now, Actions& actions) {
  const LocalLease lease = own_lease(record, counted_from);
  if (now >= lease.transition_at) return false;
  new_epoch();
  phase_ = Phase::owning;
  lease_held_ = true;
  lease_ = lease;
  at_risk_ = false;
  token_ = record.fencing_token;
  last_token_ = record.fencing_token;
  next_attempt_ = renewal_after(counted_from, granted_by(record));
  clock_sample_.reset();
  watch_clock(record, counted_from, now, actions);
  set_watching(owner_watch_ == OwnerWatch::kept, actions);
  actions.granted = own_view(record);
  return true;
}

void ContentionMachine::held_by_other(const LeaseRecord& record, LocalTime counted_from,
                                      LocalTime now, Actions& actions) {
  failures_ = 0;
  if (!record.namesake) namesake_proven_.reset();
  const OwnerView view = view_of(record, counted_from);
  nanoseconds pause = random_->between(plan_->retry_min, 2 * plan_->retry_min);
  if (!record.owner_id.empty()) {
    pause = std::max(pause, period_.next_contender_delay(view.local_lease, now));
  }
  next_attempt_ = std::exchange(hinted_, false) ? now : now + pause;
  actions.observed = view;
  set_watching(true, actions);
}

// It may have crashed, and its id be ours since. Then it is taken over, where the store lets us; it
// lets nobody take over a session or a process that it sees alive. One that outlives its lease, and
// time for a store that is slow to end it, is alive.
void ContentionMachine::held_by_namesake(const Answered& event, LocalTime now, Actions& actions) {
  const LeaseRecord& record = *event.answer.record();
  if (event.request.token != record.fencing_token) {
    failures_ = 0;
    takes_over_ = record.fencing_token;
    next_attempt_ = now;
    actions.observed = OwnerView{};
    return;
  }
  if (namesake_proven_ && event.request.sent_at >= *namesake_proven_) {
    stay_out(now, actions);
    return;
  }
  if (!namesake_proven_) {
    namesake_proven_ = now + std::max(record.transition_left, plan_->lease()) * 3 / 2;
    actions.events.emplace_back(AcquireFailed{
        .error = Error{ErrorKind::unavailable,
                       "the mutex is held under this contender id [" + std::string{contender_id_} +
                           "] by a previous instance of this process, which will expire, or by "
                           "another process, which needs its own id"},
        .namesake = true});
  }
  held_by_other(record, earliest(event.request.sent_at, record), now, actions);
  actions.observed = OwnerView{};
}

void ContentionMachine::stay_out(LocalTime now, Actions& actions) {
  new_epoch();
  barred_ = true;
  phase_ = Phase::lapsed;
  set_watching(false, actions);
  actions.events.emplace_back(AcquireFailed{.error = duplicate_id_error(contender_id_)});
  actions.give_back = make_request(Request::Kind::release, last_token_, now);
}

void ContentionMachine::guard_answered(const Answered& event, bool newest, LocalTime now,
                                       Actions& actions) {
  if (const Error* error = event.answer.error()) {
    if (newest) request_failed(*error, now, actions);
    return;
  }
  const LeaseRecord& record = *event.answer.record();
  const LocalTime counted_from = earliest(event.request.sent_at, record);
  watch_clock(record, counted_from, now, actions);
  if (record.namesake) {
    // One with a smaller token was taken over by us, which the store has forgotten.
    const bool newer = record.fencing_token > token_;
    lose(newer ? LossReason::duplicate_id : LossReason::taken_over, nullptr, now, actions);
    return;
  }
  if (!is_mine(record)) {
    lose(LossReason::taken_over, &record, counted_from, actions);
    return;
  }
  if (record.fencing_token < token_ && phase_ == Phase::owning) {
    // The store has lost its memory of our grant and knows an older one of ours. A release of that
    // one may be under way, so it protects nothing.
    last_token_ = record.fencing_token;
    lose(LossReason::taken_over, nullptr, now, actions);
    asked_ = true;  // it is given back, or requested again
    return;
  }
  failures_ = 0;
  last_token_ = std::max(last_token_, record.fencing_token);
  const LocalTime due =
      std::max(renewal_after(counted_from, granted_by(record)), now + plan_->retry_min);
  const bool extended = extend(record, counted_from, actions);
  // A store may have nothing new to tell yet; it need not be asked repeatedly.
  next_attempt_ = extended ? due : std::max(due, now + granted_by(record) / 20);
  if (std::exchange(hinted_, false)) next_attempt_ = now;
}

bool ContentionMachine::extend(const LeaseRecord& record, LocalTime counted_from,
                               Actions& actions) {
  const LocalLease lease = own_lease(record, counted_from);
  if (lease.transition_at <= lease_.transition_at) return false;
  lease_ = lease;
  at_risk_ = false;
  if (phase_ == Phase::owning) actions.renewed = own_view(record);
  return true;
}

// The store read its clock after the first of two requests was sent and before the answer to the
// second came. So round trips make it look slower, never faster, and what is too much even so is
// too much. No time service slews by more than a tenth: what looks like more is a step, which is
// over, and shorter leases would not help.
void ContentionMachine::watch_clock(const LeaseRecord& record, LocalTime counted_from,
                                    LocalTime now, Actions& actions) {
  constexpr milliseconds resolution{1};
  constexpr double most_ppm = 100'000;
  using Span = std::chrono::duration<double>;
  if (!record.store_time || (clock_sample_ && counted_from <= clock_sample_->before)) return;
  const auto last = std::exchange(clock_sample_,
                                  ClockSample{.before = counted_from, .store = *record.store_time});
  if (!last) return;
  const Span stores = *record.store_time - last->store - resolution;
  const Span ours = now - last->before;
  const double excess = (stores / ours - 1) * 1e6 - plan_->clock_drift_ppm;
  if (!(excess >= 1)) return;
  clock_excess_ppm_ = std::max(clock_excess_ppm_, static_cast<int>(std::min(excess, most_ppm)));
  if (phase_ != Phase::owning || std::exchange(clock_reported_, true)) return;
  actions.events.emplace_back(
      AtRisk{.lease_left = lease_.transition_at - now, .clock_excess_ppm = clock_excess_ppm_});
}

void ContentionMachine::release_answered(const Answered& event, bool newest, LocalTime now,
                                         Actions& actions) {
  if (!newest) {
    give_back_again(event, now, actions);
    return;
  }
  if (const Error* error = event.answer.error()) {
    request_failed(*error, now, actions);
    return;
  }
  const LeaseRecord& record = *event.answer.record();
  if (!is_mine(record) && !std::exchange(hinted_, false)) {
    settle(actions);
    actions.confirmed = true;
  } else if (!is_mine(record)) {
    next_attempt_ = now;
  } else if (record.fencing_token != release_token_) {
    // A request of ours whose reply was lost has raised the token.
    release_token_ = record.fencing_token;
    next_attempt_ = now;
  } else {
    request_failed(Error{ErrorKind::internal,
                         "the store still reports this contender as owner after a release"},
                   now, actions);
  }
}

// Requests may overtake each other on their way. So what we no longer wait for can have made us
// owner, put us in the queue, or taken us out of it.
void ContentionMachine::answered_out_of_epoch(const Answered& event, LocalTime now,
                                              Actions& actions) {
  const LeaseRecord* record = event.answer.record();
  if (record == nullptr) return;
  switch (event.request.kind) {
    case Request::Kind::acquire:
      if (is_mine(*record)) {
        give_back(record->fencing_token, now, actions);
      } else if (phase_ == Phase::idle || phase_ == Phase::lapsed) {
        give_back(0, now, actions);
      } else if (phase_ == Phase::releasing && in_flight_) {
        hinted_ = true;  // the release under way may have come before it
      }
      break;
    case Request::Kind::release:
      if (phase_ == Phase::contending) hint(now);
      give_back_again(event, now, actions);
      break;
    case Request::Kind::guard:
      break;
  }
}

void ContentionMachine::request_failed(const Error& error, LocalTime now, Actions& actions) {
  ++failures_;
  hinted_ = false;
  namesake_proven_.reset();  // it may have been the same trouble that kept it alive
  next_attempt_ = now + retry_pause(error);
  if (phase_ == Phase::contending) {
    actions.events.emplace_back(AcquireFailed{.error = error});
  } else if (phase_ == Phase::owning) {
    actions.events.emplace_back(
        RenewalFailed{.error = error, .lease_left = lease_.transition_at - now});
  }
}

// ---- notices -------------------------------------------------------------------------------

void ContentionMachine::change_noticed(const Notice& notice, LocalTime now, Actions& actions) {
  const LeaseRecord* record = notice.record ? &*notice.record : nullptr;
  const bool held =
      record != nullptr && !record->owner_id.empty() && record->transition_left.count() > 0;
  if (held && names_us(*record) && lease_held_) return;
  if (held && !names_us(*record) && phase_ == Phase::contending) {
    // Worth showing. When to ask again stays as it is.
    actions.observed = view_of(*record, record->counted_from.value_or(now));
    return;
  }
  hint(now);
}

// An attempt before the end of the new lease would be pointless. It is put off by a lease of ours
// at most, whatever the clock behind the notice says; not at all by a notice that may be older than
// what we know, nor while it is in doubt whether we can ask at all.
void ContentionMachine::put_off_attempt(const Notice& notice, LocalTime now) {
  if (phase_ != Phase::contending || in_flight_ || failures_ > 0) return;
  if (!notice.record || !notice.record->counted_from) return;
  const LeaseRecord& record = *notice.record;
  if (record.owner_id.empty() || names_us(record) || record.fencing_token < seen_token_) return;
  LocalLease lease = view_of(record, *record.counted_from).local_lease;
  lease.transition_at = std::min(lease.transition_at, now + plan_->lease());
  next_attempt_ = std::max(next_attempt_, now + period_.next_contender_delay(lease, now));
}

void ContentionMachine::grant_noticed(const Notice& notice, LocalTime now, Actions& actions) {
  if (!notice.record || !is_mine(*notice.record)) {
    hint(now);
    return;
  }
  const LeaseRecord& record = *notice.record;
  if (phase_ != Phase::contending) {
    give_back(record.fencing_token, now, actions);
  } else if (!record.counted_from || record.fencing_token <= seen_token_ ||
             !believe_grant(record, *record.counted_from, now, actions)) {
    hint(now);
  }
}

void ContentionMachine::see(const LeaseRecord& record) noexcept {
  seen_token_ = std::max(seen_token_, record.fencing_token);
}

// A grant that nobody waits for. A life that contends will get it by asking; one that owns knows.
void ContentionMachine::give_back(FencingToken token, LocalTime now, Actions& actions) {
  switch (phase_) {
    case Phase::contending:
      hint(now);
      break;
    case Phase::owning:
    case Phase::draining:
    case Phase::expiring:
      last_token_ = std::max(last_token_, token);
      break;
    case Phase::idle:
    case Phase::lapsed:
    case Phase::releasing:
      actions.give_back = make_request(Request::Kind::release, token, now);
      break;
  }
}

// The answer to a release that nobody waits for. It may have been granted again before that came.
void ContentionMachine::give_back_again(const Answered& event, LocalTime now, Actions& actions) {
  const LeaseRecord* left = event.answer.record();
  const bool stopped =
      phase_ == Phase::idle || phase_ == Phase::lapsed || phase_ == Phase::releasing;
  if (!stopped || left == nullptr || !is_mine(*left)) return;
  if (left->fencing_token == event.request.token) return;
  release_token_ = std::max(release_token_, left->fencing_token);  // of the next attempt, if any
  give_back(left->fencing_token, now, actions);
}

// Asks again at once: as soon as what is in flight is answered.
void ContentionMachine::hint(LocalTime now) {
  if (phase_ != Phase::contending && !lease_held_) return;
  if (in_flight_) {
    hinted_ = true;
  } else {
    next_attempt_ = std::min(next_attempt_, std::max(now, running_out_until_));
  }
}

}  // namespace simba::engine
