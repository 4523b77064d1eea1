#include <algorithm>
#include <stdexcept>
#include <utility>

#include "sim/users/users.hpp"
#include "sim/world/store.hpp"

namespace simba::sim {

using namespace std::chrono_literals;

SlotUser::SlotUser(Surroundings around, Party& party, ScheduleConfig config)
    : Scheduled{around, party}, config_{std::move(config)} {
  around_.slots.add(party);
  make();
}

void SlotUser::make() {
  use(std::make_unique<Scheduler>(
      mutex_name(party_.mutex), around_.factory, config_, [this](const Run& run) { work(run); },
      SchedulerOptions{.contender_id = party_.id,
                       .on_slot = [this](const SlotEvent& event) { told(event); }}));
}

void SlotUser::work(const Run& run) {
  if (!around_.slots.begins(party_, run)) return;
  use_resource(run.fencing_token());
  const WorkEnd how = toil(run.stop());
  maybe_stop();
  around_.slots.ends(party_, *run.slot(), how);
  around_.checker.work_ends(party_);
  const bool throws = how == WorkEnd::interrupted && world().chance(300);
  if (how == WorkEnd::badly || throws) throw RunFailure{"what it was to do failed", 1};
}

WorkEnd SlotUser::toil(const std::stop_token& stop) {
  const Mood& mood = around_.mood;
  const nanoseconds period = config_.cron ? 60s : config_.period;
  bool whole = true;
  if (world().chance(mood.slow_callbacks)) {  // it does not listen
    around_.network.count(Fault::slow_callback);
    around_.host.sleep(world().between(1ms, mood.slow_most));
  } else {
    const nanoseconds most =
        world().chance(mood.long_runs) ? std::min(2 * period, nanoseconds{40s}) : mood.work_most;
    around_.host.sleep(world().between(0ms, most), stop);
    whole = !stop.stop_requested();
  }
  if (!whole) return WorkEnd::interrupted;
  return world().chance(mood.failures) ? WorkEnd::badly : WorkEnd::well;
}

void SlotUser::told(const SlotEvent& event) {
  called_back([&] {
    around_.checker.hook_begins(party_);
    around_.slots.told(party_, event);
    if (world().chance(around_.mood.slow_callbacks)) {
      around_.network.count(Fault::slow_callback);
      around_.host.sleep(world().between(1ms, around_.mood.slow_most));
    }
    around_.checker.callback_ends(party_, false);
  });
}

}  // namespace simba::sim
