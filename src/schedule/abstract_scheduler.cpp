#include "simba/schedule/abstract_scheduler.hpp"

#include <utility>

#include "schedule/abstract_scheduler_impl.hpp"

namespace simba {

AbstractScheduler::AbstractScheduler(std::shared_ptr<Impl> impl) : impl_{std::move(impl)} {}

AbstractScheduler::AbstractScheduler(std::string mutex, MutexContendServiceFactory& factory,
                                     ScheduleConfig config, SchedulerOptions options)
    : AbstractScheduler{Impl::make(
          std::move(mutex), factory, std::move(config),
          [this](const Run& run) { work(run.stop()); }, std::move(options))} {}

AbstractScheduler::~AbstractScheduler() {
  if (impl_->in_forked_child()) detail::leak(impl_);
  impl_->close();
}

// The work or a hook may destroy this object before these return.

void AbstractScheduler::start() {
  const auto impl = impl_;
  impl->start();
}

void AbstractScheduler::stop() {
  const auto impl = impl_;
  impl->stop();
}

void AbstractScheduler::close() noexcept {
  const auto impl = impl_;
  impl->close();
}

bool AbstractScheduler::running() const noexcept { return impl_->running(); }

bool AbstractScheduler::is_leader() const noexcept { return impl_->service().is_owner(); }

std::chrono::nanoseconds AbstractScheduler::lease_left() const noexcept {
  return impl_->service().lease_left();
}

const MutexContendService& AbstractScheduler::contend_service() const noexcept {
  return impl_->service();
}

}  // namespace simba
