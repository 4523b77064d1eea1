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
        "this service belongs to the parent process; create a new factory after fork()"};
  }
  begin_start();
  dispatcher_->reset();
  dispatcher_->open();
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
  // Inside its loss signal it can wait for no callback: one may wait for the signal to have fired.
  if (signalling_in_this_thread() && !dispatcher_->serves_this_thread()) {
    if (!is_active(status_)) return;
    dispatcher_->post_first([this] { stop(); });
    dispatcher_->deliver();
    return;
  }
  end();
}

void AbstractMutexRetrievalService::close() noexcept {
  if (in_forked_child()) return;
  try {
    end();
  } catch (const std::exception& e) {
    runtime_->log->log(LogLevel::error, std::string{"failed to close a service: "} + e.what());
  } catch (...) {
    runtime_->log->log(LogLevel::error, "failed to close a service: unknown exception");
  }
}

/// Stops it, or waits until somebody else has, except where that would be waiting for the caller.
void AbstractMutexRetrievalService::end() {
  std::unique_lock lock{mutex_};
  while (status_ != ServiceStatus::initial) {
    if (status_ == ServiceStatus::running) {
      status_ = ServiceStatus::stopping;
      mover_ = std::this_thread::get_id();
      lock.unlock();
      stop_checked();
      return;
    }
    if (mover_ == std::this_thread::get_id()) return;
    // In a callback: whoever stops this service waits for this very callback.
    if (status_ == ServiceStatus::stopping && dispatcher_->running_in_this_thread()) return;
    // Whoever starts or stops it has its own bounds.
    runtime_->waiter->wait_until(lock, status_changed_, never, [&] {
      return status_ == ServiceStatus::running || status_ == ServiceStatus::initial;
    });
  }
  lock.unlock();
  // A callback that has stopped its own service may still be running.
  if (!dispatcher_->running_in_this_thread()) {
    dispatcher_->quiesce(runtime_->clock->now() + drain_limit_);
  }
}

void AbstractMutexRetrievalService::notify_owner(MutexOwner owner) {
  dispatcher_->publish(std::move(owner));
  dispatcher_->deliver();
}

void AbstractMutexRetrievalService::begin_start() {
  const std::lock_guard lock{mutex_};
  if (status_ != ServiceStatus::initial) {
    throw IllegalStateError{"cannot start from state [" + std::string{to_string(status_)} +
                            "]; expected [INITIAL]"};
  }
  status_ = ServiceStatus::starting;
  mover_ = std::this_thread::get_id();
}

void AbstractMutexRetrievalService::set_status(ServiceStatus status) {
  const std::lock_guard lock{mutex_};
  status_ = status;
  mover_ = {};
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
                       "a callback is still running after its service was stopped and the drain "
                       "limit expired; no longer waiting for it");
    dispatcher_->discard();
  }
  dispatcher_->reset();
  set_status(ServiceStatus::initial);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace simba
