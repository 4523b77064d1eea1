#include "engine/retrieval_machine.hpp"

#include <algorithm>
#include <utility>

#include "engine/owner_view.hpp"
#include "engine/retry.hpp"

namespace simba::engine {

RetrievalMachine::RetrievalMachine(std::shared_ptr<const ContentionPlan> plan,
                                   std::shared_ptr<Random> random)
    : plan_{std::move(plan)}, random_{std::move(random)} {}

RetrievalActions RetrievalMachine::step(const RetrievalEvent& event, LocalTime now) {
  RetrievalActions actions;
  std::visit([&](const auto& e) { on(e, now, actions); }, event);
  if (in_flight_ && now >= in_flight_->sent_at + plan_->request_timeout) {
    in_flight_.reset();
    failed(no_answer("retrieve", *plan_), now, actions);
  }
  if (wanted_ && !in_flight_ && now >= next_look_) {
    in_flight_ = Look{.id = ++looks_, .sent_at = now};
    actions.look = in_flight_;
  }
  return actions;
}

LocalTime RetrievalMachine::wake_at() const noexcept {
  return in_flight_ ? in_flight_->sent_at + plan_->request_timeout : next_look_;
}

void RetrievalMachine::on(const Start& /*event*/, LocalTime now, RetrievalActions& /*actions*/) {
  wanted_ = true;
  next_look_ = now;
}

void RetrievalMachine::on(const Stop& /*event*/, LocalTime /*now*/, RetrievalActions& /*actions*/) {
  wanted_ = false;
  in_flight_.reset();
  next_look_ = never;
  hinted_ = false;
  failures_ = 0;
}

void RetrievalMachine::on(const Tick& /*event*/, LocalTime /*now*/, RetrievalActions& /*actions*/) {
}

void RetrievalMachine::on(const Looked& event, LocalTime now, RetrievalActions& actions) {
  if (!in_flight_ || in_flight_->id != event.look.id) return;
  in_flight_.reset();
  if (const Error* error = event.answer.error()) {
    failed(*error, now, actions);
    return;
  }
  failures_ = 0;
  if (std::exchange(hinted_, false)) {
    next_look_ = now;  // the answer may be older than what a notice has told since
    return;
  }
  const LeaseRecord& record = *event.answer.record();
  observe(record, std::min(event.look.sent_at, record.counted_from.value_or(event.look.sent_at)),
          now, actions);
}

void RetrievalMachine::on(const Noticed& event, LocalTime now, RetrievalActions& actions) {
  if (!wanted_) return;
  if (in_flight_) hinted_ = true;
  if (event.notice.record) {
    const LeaseRecord& record = *event.notice.record;
    observe(record, record.counted_from.value_or(now), now, actions);
  } else {
    next_look_ = std::min(next_look_, now);
  }
}

void RetrievalMachine::observe(const LeaseRecord& record, LocalTime counted_from, LocalTime now,
                               RetrievalActions& actions) {
  OwnerView view = view_of(record, counted_from);
  // No longer than a lease of ours: after a jump of the store's clock the end that it tells may be
  // hours away, although the owner has released by then.
  next_look_ = record.owner_id.empty()
                   ? now + plan_->observe_interval
                   : std::clamp(view.local_lease.transition_at, now, now + plan_->lease()) +
                         plan_->retry_min;
  actions.observed = std::move(view);
}

void RetrievalMachine::failed(const Error& error, LocalTime now, RetrievalActions& actions) {
  ++failures_;
  hinted_ = false;
  next_look_ = now + (error.is_transient() ? retry_pause(failures_, *plan_, *random_)
                                           : std::chrono::nanoseconds{plan_->retry_refused});
  actions.failed = error;
}

}  // namespace simba::engine
