#include "simba/schedule/scheduler.hpp"

#include <utility>

#include "schedule/abstract_scheduler_impl.hpp"

namespace simba {

namespace {

Work with_run(AbstractScheduler::Work work) {
  if (!work) return {};
  return [work = std::move(work)](const Run& run) { work(run.stop()); };
}

}  // namespace

Scheduler::Scheduler(std::string mutex, MutexContendServiceFactory& factory, ScheduleConfig config,
                     Work work, SchedulerOptions options)
    : Scheduler{std::move(mutex),   factory,         std::move(config), with_run(std::move(work)),
                std::move(options), Hooks::may_block} {}

Scheduler::Scheduler(std::string mutex, MutexContendServiceFactory& factory, ScheduleConfig config,
                     simba::Work work, SchedulerOptions options)
    : Scheduler{std::move(mutex),   factory,         std::move(config), std::move(work),
                std::move(options), Hooks::may_block} {}

Scheduler::Scheduler(std::string mutex, MutexContendServiceFactory& factory, ScheduleConfig config,
                     simba::Work work, SchedulerOptions options, Hooks hooks)
    : AbstractScheduler{Impl::make(std::move(mutex), factory, std::move(config), std::move(work),
                                   std::move(options), hooks)} {}

Scheduler::~Scheduler() = default;

void Scheduler::work(std::stop_token /*stop*/) {}

}  // namespace simba
