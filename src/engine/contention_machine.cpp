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

}  // namespace

ContentionMachine::ContentionMachine(std::shared_ptr<const ContentionPlan> plan,
                                     std::string contender_id, AfterLoss after_loss,
                                     std::shared_ptr<Random> random, nanoseconds renew_phase,
                                     OwnerWatch owner_watch)
    : plan_{std::move(plan)},
      contender_id_{std::move(contender_id)},
      after_loss_{after_loss},
      random_{std::move(random)},
      period_{contender_id_, random_, plan_->jitter},
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
  ++life_;
  set_watching(false, actions);  // its notices are for the life before
  LocalTime first_attempt = now + plan_->initial_delay;
  // What the life before holds keeps the others away from a callback that still runs, or was told
  // not to be given back. Where a session holds it, to ask would give that up.
  running_out_until_ = lease_held_ ? lease_.transition_at : LocalTime::min();
  if (lease_held_ && (owner_watch_ == OwnerWatch::kept || phase_ == Phase::expiring)) {
    first_attempt = std::max(first_attempt, lease_.transition_at);
  }
  begin_contending(first_attempt);
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
      if (!asked_) settle(actions);
      break;
    case Phase::lapsed:
      if (asked_) {
        begin_releasing(last_token_, now + plan_->request_timeout, now, actions);
      } else {
        settle(actions);
      }
      break;
    case Phase::releasing:
      break;
    case Phase::expiring:
      actions.settled = true;
      break;
    case Phase::idle:
      settle(actions);
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
    begin_contending(now);
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
      break;
    case Phase::draining:
      if (now >= drain_until_) {
        next_attempt_ = never;  // slow beyond its limit: the lease runs out
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

void ContentionMachine::begin_contending(LocalTime first_attempt) {
  new_epoch();
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

LocalLease ContentionMachine::own_lease(const LeaseRecord& record, LocalTime counted_from) const {
  const milliseconds lease = std::min(record.transition_left, plan_->lease());
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
  return OwnerView{.owner_id = contender_id_,
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

}  // namespace simba::engine
