#include "simba/client/schedule.hpp"

#include <string_view>
#include <utility>

#include "client/client_core.hpp"
#include "client/health_record.hpp"
#include "simba/schedule/scheduler.hpp"

namespace simba {

ScheduleConfig every(Span period) {
  return ScheduleConfig::rate(std::chrono::nanoseconds::zero(), period.nanoseconds());
}

ScheduleConfig after_pauses_of(Span pause) {
  return ScheduleConfig::delay(std::chrono::nanoseconds::zero(), pause.nanoseconds());
}

ScheduleConfig every(Span period, const SlotOptions& slots) {
  return ScheduleConfig::shared_rate(std::chrono::nanoseconds::zero(), period.nanoseconds(), slots);
}

ScheduleConfig cron(std::string_view expression, std::string_view zone, const SlotOptions& slots) {
  return ScheduleConfig::shared(Cron{expression, zone}, slots);
}

Schedule::Schedule() noexcept = default;
Schedule::Schedule(std::shared_ptr<Scheduler> scheduler,
                   std::shared_ptr<const detail::HealthRecord> health) noexcept
    : health_{std::move(health)}, scheduler_{std::move(scheduler)} {}

// Not by the end of the scheduler, which a run may keep for a moment.
Schedule::~Schedule() {
  if (scheduler_) scheduler_->close();
}

Schedule::Schedule(Schedule&& other) noexcept = default;

Schedule& Schedule::operator=(Schedule&& other) noexcept {
  if (this == &other) return *this;
  if (scheduler_) scheduler_->close();
  health_ = std::move(other.health_);
  scheduler_ = std::move(other.scheduler_);
  return *this;
}

std::chrono::nanoseconds Schedule::lease_left() const noexcept {
  return scheduler_ ? scheduler_->lease_left() : std::chrono::nanoseconds::zero();
}

Health Schedule::health() const noexcept {
  return scheduler_ ? health_->health(scheduler_->contend_service()) : Health::out;
}

bool Schedule::is_leader() const noexcept { return scheduler_ && scheduler_->is_leader(); }

void Schedule::stop() {
  if (scheduler_) scheduler_->stop();
}

Schedule Client::schedule(std::string name, const ScheduleConfig& when, Work work,
                          ScheduleOptions options) const {
  if (!work) throw InvalidArgumentError{"a schedule needs work (got an empty function)"};
  const bool tells = options.on_acquired || options.on_lost || options.on_slot;
  const auto health = std::make_shared<detail::HealthRecord>();
  const auto factory = core_->factory();
  const std::shared_ptr<Scheduler> scheduler{new Scheduler{
      std::move(name), *factory, when, std::move(work),
      SchedulerOptions{
          .contender_id = std::move(options.id),
          .executor = core_->executor(),
          .on_state =
              [health, on_acquired = std::move(options.on_acquired),
               on_lost = std::move(options.on_lost)](const MutexContendService& service,
                                                     const MutexState& state) {
                const std::string& id = service.contender_id();
                if (state.is_acquired(id)) {
                  health->note_acquired();
                  if (on_acquired) on_acquired();
                }
                if (state.is_released(id) && on_lost) on_lost();
              },
          .on_event = [health, clock = factory->runtime()->clock](
                          const MutexContendService&,
                          const ContentionEvent& event) { health->note(event, clock->now()); },
          .on_slot = std::move(options.on_slot)},
      tells ? Scheduler::Hooks::share_executor : Scheduler::Hooks::are_prompt}};
  scheduler->start();
  return Schedule{scheduler, health};
}

ScheduleRecords Client::schedules() const {
  const auto factory = core_->factory();
  return ScheduleRecords{factory->records(), factory->runtime(), factory->plan().request_timeout};
}

std::vector<RunReport> Client::runs(const std::string& name) const {
  return schedules().report(name).runs;
}

}  // namespace simba
