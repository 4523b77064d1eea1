#include "simba/client/schedule.hpp"

#include <atomic>
#include <ostream>
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

ScheduleConfig cron(std::string_view expression, std::string_view zone) {
  return ScheduleConfig::wall_clock(Cron{expression, zone});
}

std::string to_string(const ScheduleOptions& options) {
  return options.id.empty() ? "defaults" : "id " + options.id;
}

std::ostream& operator<<(std::ostream& out, const ScheduleOptions& options) {
  return out << to_string(options);
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
  const auto token = std::make_shared<std::atomic<FencingToken>>(0);
  const auto health = std::make_shared<detail::HealthRecord>();
  const auto of_runs = std::make_shared<std::weak_ptr<const Scheduler>>();
  const auto factory = core_->factory();
  const std::shared_ptr<Scheduler> scheduler{new Scheduler{
      std::move(name), *factory, when,
      [work = std::move(work), token, of_runs](std::stop_token stop) {
        work(Run{token->load(), std::move(stop), [weak = *of_runs] {
                   const auto self = weak.lock();
                   return self ? self->lease_left() : std::chrono::nanoseconds::zero();
                 }});
      },
      SchedulerOptions{
          .contender_id = std::move(options.id),
          .executor = core_->executor(),
          .on_state =
              [token, health](const MutexContendService& service, const MutexState& state) {
                if (!state.is_acquired(service.contender_id())) return;
                *token = state.after().fencing_token();
                health->note_acquired();
              },
          .on_event = [health, clock = factory->runtime()->clock](
                          const MutexContendService&,
                          const ContentionEvent& event) { health->note(event, clock->now()); }},
      Scheduler::Hooks::are_prompt}};
  *of_runs = scheduler;
  scheduler->start();
  return Schedule{scheduler, health};
}

}  // namespace simba
