// What a machine makes of answers and notices. The phases and the clock are in
// contention_machine.cpp.

#include <algorithm>
#include <utility>

#include "engine/contention_machine.hpp"

namespace simba::engine {

namespace {

using std::chrono::nanoseconds;

LocalTime earliest(LocalTime sent_at, const LeaseRecord& record) {
  return std::min(sent_at, record.counted_from.value_or(sent_at));
}

}  // namespace

// ---- answers -------------------------------------------------------------------------------

void ContentionMachine::acquire_answered(const Answered& event, bool newest, LocalTime now,
                                         Actions& actions) {
  if (const Error* error = event.answer.error()) {
    if (newest) request_failed(*error, now, actions);
    return;
  }
  // Where a session holds the mutex a further request means that the grant before it is not wanted:
  // what counts is the answer to that one.
  if (!newest && in_flight_ && owner_watch_ == OwnerWatch::kept) return;
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
  next_attempt_ = renewal_after(counted_from, record.transition_left);
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
                       "the mutex is held under this contender id [" + contender_id_ +
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
      std::max(renewal_after(counted_from, record.transition_left), now + plan_->retry_min);
  const bool extended = extend(record, counted_from, actions);
  // A store may have nothing new to tell yet; it need not be asked repeatedly.
  const nanoseconds granted = std::min(record.transition_left, plan_->lease());
  next_attempt_ = extended ? due : std::max(due, now + granted / 20);
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
    // Good to show. When to ask again stays as it is: a hint never makes anyone wait longer.
    actions.observed = view_of(*record, record->counted_from.value_or(now));
    return;
  }
  hint(now);
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
