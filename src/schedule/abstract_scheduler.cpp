#include "simba/schedule/abstract_scheduler.hpp"

#include <utility>

#include "schedule/abstract_scheduler_impl.hpp"

namespace simba {

AbstractScheduler::AbstractScheduler(std::shared_ptr<Impl> impl) : impl_{std::move(impl)} {}

AbstractScheduler::AbstractScheduler(std::string mutex, MutexContendServiceFactory& factory,
                                     ScheduleConfig config, SchedulerOptions options)
    : AbstractScheduler{Impl::make(
          std::move(mutex), factory, config,
          [this](std::stop_token stop) { work(std::move(stop)); }, std::move(options))} {}

AbstractScheduler::~AbstractScheduler() {
  if (impl_->in_forked_child()) detail::leak(impl_);
  impl_->close();
}

void AbstractScheduler::start() { impl_->start(); }

void AbstractScheduler::stop() { impl_->stop(); }

void AbstractScheduler::close() noexcept { impl_->close(); }

bool AbstractScheduler::running() const noexcept { return impl_->running(); }

bool AbstractScheduler::is_leader() const noexcept { return impl_->service().is_owner(); }

std::chrono::nanoseconds AbstractScheduler::lease_left() const noexcept {
  return impl_->service().lease_left();
}

const MutexContendService& AbstractScheduler::contend_service() const noexcept {
  return impl_->service();
}

}  // namespace simba
