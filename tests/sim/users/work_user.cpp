#include <algorithm>
#include <utility>

#include "sim/users/users.hpp"
#include "sim/world/store.hpp"

namespace simba::sim {

using namespace std::chrono_literals;

// ---- Scheduled -----------------------------------------------------------------------------

void Scheduled::use(std::unique_ptr<Scheduler> scheduler) {
  scheduler_ = std::move(scheduler);
  party_.service = &scheduler_->contend_service();
}

void Scheduled::start() {
  if (!scheduler_ || stoppers_ > 0 || scheduler_->running()) return;
  const bool stopped = party_.stopped;
  const LocalTime contends_since = party_.contends_since;
  around_.checker.started(party_);
  try {
    scheduler_->start();
  } catch (const IllegalStateError&) {  // its work has stopped it and is not over yet
    party_.stopped = stopped;
    party_.contends_since = contends_since;
    around_.host.scene().trace.event(world().now(), around_.host.name(), "{} cannot start yet",
                                     party_.id);
  }
}

void Scheduled::stop(bool by_close) {
  if (!scheduler_ || (!scheduler_->running() && !by_close)) return;
  const bool ours = scheduler_->running() && stoppers_ == 0;
  ++stoppers_;
  const nanoseconds bound = around_.checker.stop_bound();
  if (ours) around_.checker.stop_begins(party_);
  timed(Rule::slow_stop, by_close ? "close()" : "stop()", ours ? bound : 2 * bound,
        [&] { by_close ? scheduler_->close() : scheduler_->stop(); });
  if (ours) around_.checker.stop_returned(party_);
  --stoppers_;
}

void Scheduled::maybe_stop() {
  if (!world().chance(around_.mood.stop_in_callback) || !running() || stoppers_ > 0) return;
  around_.network.count(Fault::stop_in_callback);
  scheduler_->stop();
  party_.contends_since = never;
}

// ---- WorkUser ------------------------------------------------------------------------------

WorkUser::WorkUser(Surroundings around, Party& party, ScheduleConfig config)
    : Scheduled{around, party}, config_{std::move(config)} {
  make();
}

void WorkUser::make() {
  use(std::make_unique<Scheduler>(
      mutex_name(party_.mutex), around_.factory, config_,
      [this](const std::stop_token& stop) { work(stop); },
      SchedulerOptions{.contender_id = party_.id}));
}

void WorkUser::work(const std::stop_token& stop) {
  if (!around_.checker.work_begins(party_)) return;
  use_resource(party_.service->fencing_token());
  if (world().chance(around_.mood.slow_callbacks)) {  // it does not listen
    around_.network.count(Fault::slow_callback);
    around_.host.sleep(world().between(1ms, around_.mood.slow_most));
  } else {
    around_.host.sleep(world().between(0ms, around_.mood.work_most), stop);
  }
  maybe_stop();
  around_.checker.work_ends(party_);
}

}  // namespace simba::sim
