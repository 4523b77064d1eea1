#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "engine/contention_machine.hpp"
#include "simba/core/random.hpp"

namespace simba::engine {

using namespace std::chrono_literals;

/// Steps a machine through time that the test sets, and makes the answers of a store.
class MachineDriver {
 public:
  static constexpr auto me = "me";

  static ContentionOptions plain_options() {
    ContentionOptions options;
    options.ttl = 10s;
    options.transition = 6s;
    options.margin = 500ms;
    options.clock_drift_ppm = 0;
    options.renew_at_percent = 50;
    options.renew_grid = 0ms;
    options.request_timeout = 2s;
    options.retry_min = 100ms;
    options.retry_max = 1s;
    return options;
  }

  explicit MachineDriver(const ContentionOptions& options = plain_options(),
                         AfterLoss after_loss = AfterLoss::contend_again,
                         std::chrono::nanoseconds renew_phase = 0ns,
                         OwnerWatch owner_watch = OwnerWatch::ended)
      : plan_{std::make_shared<const ContentionPlan>(options)},
        machine_{plan_, me, after_loss, make_seeded_random(7), renew_phase, owner_watch} {}

  LocalTime now() const { return now_; }
  void pass(std::chrono::nanoseconds span) { now_ += span; }
  void go_to(LocalTime at) { now_ = at; }

  Actions step(const MachineEvent& event) { return machine_.step(event, now_); }
  Actions tick() { return step(Tick{}); }
  Actions tick_at_wake() {
    go_to(machine_.wake_at());
    return tick();
  }
  Actions answer(const Request& request, LeaseAnswer answer) {
    return step(Answered{.request = request, .answer = std::move(answer)});
  }
  Actions notice(Notice::Kind kind, std::optional<LeaseRecord> record = std::nullopt) {
    return step(Noticed{.notice = Notice{.kind = kind, .record = std::move(record)},
                        .life = machine_.life()});
  }
  /// The notice that `owner` has begun a whole lease anew, by default now.
  Actions renewed(const std::string& owner, FencingToken token,
                  std::optional<LocalTime> since = std::nullopt) {
    LeaseRecord record = held(owner, token);
    record.counted_from = since.value_or(now_);
    return notice(Notice::Kind::renewed, record);
  }

  LeaseRecord mine(FencingToken token) const { return held(me, token); }
  LeaseRecord held(const std::string& owner, FencingToken token) const {
    LeaseRecord record;
    record.owner_id = owner;
    record.lease.acquired_at = StoreTime{1'000'000ms};
    record.lease.ttl_at = record.lease.acquired_at + plan_->ttl;
    record.lease.transition_at = record.lease.ttl_at + plan_->transition;
    record.ttl_left = plan_->ttl;
    record.transition_left = plan_->lease();
    record.fencing_token = token;
    return record;
  }
  static LeaseRecord free() { return LeaseRecord{}; }
  static Error unavailable() { return Error{ErrorKind::unavailable, "connection refused"}; }

  /// Start, and the acquire that goes out for it.
  Request started() {
    const Actions actions = step(Start{});
    EXPECT_TRUE(actions.send.has_value());
    return actions.send.value_or(Request{});
  }

  /// Start, asked, and granted at once with this token.
  Actions own(FencingToken token = 1) { return answer(started(), mine(token)); }

  /// Owning, and the guard that is due goes out.
  Request renewing() {
    const Actions actions = tick_at_wake();
    EXPECT_TRUE(actions.send.has_value());
    EXPECT_EQ(actions.send.value_or(Request{}).kind, Request::Kind::guard);
    return actions.send.value_or(Request{});
  }

  ContentionMachine& machine() { return machine_; }
  const ContentionPlan& plan() const { return *plan_; }
  ContentionMachine::Phase phase() const { return machine_.phase(); }

 private:
  std::shared_ptr<const ContentionPlan> plan_;
  ContentionMachine machine_;
  LocalTime now_{1'000s};
};

template <class Event>
const Event* find_event(const Actions& actions) {
  for (const ContentionEvent& event : actions.events) {
    if (const auto* found = std::get_if<Event>(&event)) return found;
  }
  return nullptr;
}

}  // namespace simba::engine
