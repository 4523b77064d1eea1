#include "simba/schedule/scheduler.hpp"

#include <utility>

#include "schedule/abstract_scheduler_impl.hpp"

namespace simba {

Scheduler::Scheduler(std::string mutex, MutexContendServiceFactory& factory, ScheduleConfig config,
                     Work work, SchedulerOptions options)
    : AbstractScheduler{
          Impl::make(std::move(mutex), factory, config, std::move(work), std::move(options))} {}

Scheduler::~Scheduler() = default;

void Scheduler::work(std::stop_token /*stop*/) {}

}  // namespace simba
