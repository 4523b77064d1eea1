#pragma once

#include <chrono>
#include <cstddef>
#include <stop_token>

#include <gtest/gtest.h>

#include "sim/checker.hpp"
#include "sim/trace.hpp"
#include "sim/world/host.hpp"
#include "sim/world/server.hpp"
#include "sim/world/threads.hpp"
#include "simba/core/mutex_contend_service.hpp"
#include "simba/engine/contention_options.hpp"
#include "simba/testkit/recording_contender.hpp"

namespace simba::sim {

/// A service that says what it is told to say.
class TalkingService final : public MutexContendService {
 public:
  ServiceStatus status() const noexcept override { return ServiceStatus::running; }
  MutexState mutex_state() const override { return state; }
  void start() override {}
  void stop() override {}
  void close() noexcept override {}
  MutexContender& contender() const noexcept override { return contender_; }
  bool is_owner() const noexcept override { return owner; }
  bool is_in_ttl() const noexcept override { return owner; }
  LocalTime lease_until() const noexcept override { return shown; }
  std::chrono::nanoseconds lease_left() const noexcept override { return {}; }
  void let_lease_run_out() override {}
  std::stop_token lost() const override {
    return owner || !tells_losses ? signal.get_token() : lost_.get_token();
  }
  FencingToken fencing_token() const noexcept override { return token; }

  void own(FencingToken with) {
    owner = true;
    token = with;
    signal = {};
  }

  bool owner = false;
  bool tells_losses = true;
  FencingToken token = 0;
  LocalTime shown = LocalTime::min();  // the end of its lease
  std::stop_source signal;
  MutexState state;

 private:
  const std::stop_source lost_ = [] {
    std::stop_source source;
    source.request_stop();
    return source;
  }();
  mutable testkit::RecordingContender contender_{"m0", "x"};
};

/// Two contenders of one mutex in two processes, and a checker that watches them.
class CheckerTest : public testing::Test {
 protected:
  CheckerTest() {
    checker_.record_of = [this](std::size_t) -> const Record& { return record_; };
    checker_.server_true = [](ServerTime at) { return LocalTime{at}; };
    checker_.queues = [this](std::size_t, const std::string& id, std::size_t) {
      return queued_ == id;
    };
    checker_.calm_since = [this](std::size_t) { return calm_since_; };
    first_.service = &first_service_;
    second_.service = &second_service_;
  }

  void look() {
    checker_.look(one_);
    checker_.look(other_);
  }

  void pass(nanoseconds span) { world_.run_until(world_.now() + span); }

  Record held_by(const Party& party, FencingToken token) const {
    return Record{.owner = party.id,
                  .transition_at = world_.now().time_since_epoch() + std::chrono::seconds{16},
                  .token = token};
  }

  Call call(Call::Kind kind, const Party& party, FencingToken token = 0) const {
    return Call{
        .kind = kind, .client = party.host->number(), .contender = party.id, .token = token};
  }

  World world_{1};
  Threads threads_;
  Trace trace_{false};
  const Scene scene_{world_, threads_, trace_};
  const ContentionPlan plan_{ContentionOptions{}};
  Checker checker_{scene_, 1, plan_};
  Host one_{scene_, 0, "one", 0};
  Host other_{scene_, 1, "other", 0};
  Party& first_ = checker_.add(one_, Party::Kind::candidate, 0, "a");
  Party& second_ = checker_.add(other_, Party::Kind::candidate, 0, "b");
  TalkingService first_service_;
  TalkingService second_service_;
  Record record_;
  std::string queued_;
  LocalTime calm_since_ = LocalTime::min();
};

}  // namespace simba::sim
