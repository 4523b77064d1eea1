#include "simba/core/abstract_mutex_retrieval_service.hpp"

#include <exception>
#include <string>
#include <utility>

#include "simba/core/error.hpp"

namespace simba {

AbstractMutexRetrievalService::AbstractMutexRetrievalService(MutexRetriever& retriever,
                                                             std::shared_ptr<Executor> executor,
                                                             std::shared_ptr<const Runtime> runtime,
                                                             std::chrono::nanoseconds drain_limit)
    : runtime_{std::move(runtime)},
      dispatcher_{std::make_shared<OwnerDispatcher>(retriever, std::move(executor), runtime_)},
      drain_limit_{drain_limit} {}

AbstractMutexRetrievalService::~AbstractMutexRetrievalService() {
  if (in_forked_child()) detail::leak(dispatcher_);
}

MutexState AbstractMutexRetrievalService::mutex_state() const {
  return in_forked_child() ? MutexState::none() : dispatcher_->state();
}

void AbstractMutexRetrievalService::start() {
  if (in_forked_child()) {
    throw IllegalStateError{
        "this service belongs to the parent process; make a new factory after fork()"};
  }
  change_status(ServiceStatus::initial, ServiceStatus::starting, "start");
  dispatcher_->reset();
  dispatcher_->hold();
  try {
    start_retrieval();
  } catch (...) {
    dispatcher_->discard();
    dispatcher_->reset();
    dispatcher_->resume();
    set_status(ServiceStatus::initial);
    throw;
  }
  set_status(ServiceStatus::running);
  dispatcher_->resume();
}

void AbstractMutexRetrievalService::stop() {
  if (in_forked_child()) {
    status_ = ServiceStatus::initial;
    return;
  }
  change_status(ServiceStatus::running, ServiceStatus::stopping, "stop");
  stop_checked();
}

void AbstractMutexRetrievalService::close() noexcept {
  if (in_forked_child()) return;
  try {
    while (true) {
      std::unique_lock lock{mutex_};
      if (status_ == ServiceStatus::running) {
        status_ = ServiceStatus::stopping;
        lock.unlock();
        stop_checked();
        return;
      }
      if (status_ == ServiceStatus::initial) {
        // A callback that has stopped its own service may still be running.
        lock.unlock();
        if (!dispatcher_->running_in_this_thread()) {
          dispatcher_->quiesce(runtime_->clock->now() + drain_limit_);
        }
        return;
      }
      // In a callback: whoever stops this service waits for this very callback.
      if (dispatcher_->running_in_this_thread()) return;
      // Whoever starts or stops it has its own bounds.
      runtime_->waiter->wait_until(lock, status_changed_, never, [&] {
        return status_ == ServiceStatus::running || status_ == ServiceStatus::initial;
      });
    }
  } catch (const std::exception& e) {
    runtime_->log->log(LogLevel::error, std::string{"closing a service failed: "} + e.what());
  }
}

void AbstractMutexRetrievalService::notify_owner(MutexOwner owner) {
  dispatcher_->publish(std::move(owner));
  dispatcher_->deliver();
}

void AbstractMutexRetrievalService::change_status(ServiceStatus from, ServiceStatus to,
                                                  std::string_view action) {
  const std::lock_guard lock{mutex_};
  if (status_ != from) {
    throw IllegalStateError{"can not " + std::string{action} + " from state [" +
                            std::string{to_string(status_)} + "]; expected [" +
                            std::string{to_string(from)} + "]"};
  }
  status_ = to;
}

void AbstractMutexRetrievalService::set_status(ServiceStatus status) {
  const std::lock_guard lock{mutex_};
  status_ = status;
  status_changed_.notify_all();
}

void AbstractMutexRetrievalService::stop_checked() {
  const LocalTime deadline = runtime_->clock->now() + drain_limit_;
  std::exception_ptr failure;
  try {
    stop_retrieval();
  } catch (...) {
    failure = std::current_exception();
  }
  if (!dispatcher_->quiesce(deadline)) {
    runtime_->log->log(LogLevel::error,
                       "a callback still runs although its service was stopped and the drain limit "
                       "has passed; it is left to itself");
    dispatcher_->discard();
  }
  dispatcher_->reset();
  set_status(ServiceStatus::initial);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace simba
