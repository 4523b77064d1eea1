#include "simba/core/owner_dispatcher.hpp"

#include <exception>
#include <string>
#include <utility>

namespace simba {

namespace {

void log_escaped(Logger& log, const std::string& mutex, std::string_view what) {
  log.log(LogLevel::error, "callback for mutex [" + mutex + "] threw: " + std::string{what} +
                               "; the exception is dropped, contention goes on");
}

void log_refused(Logger& log, const std::string& mutex, std::string_view what) {
  log.log(LogLevel::error, "the executor given for callbacks of mutex [" + mutex +
                               "] refused a task: " + std::string{what} +
                               "; the runtime's own runs it");
}

}  // namespace

OwnerDispatcher::OwnerDispatcher(MutexRetriever& retriever, std::shared_ptr<Executor> executor,
                                 std::shared_ptr<const Runtime> runtime)
    : retriever_{retriever},
      executor_{executor ? executor : runtime->callbacks},
      runtime_{std::move(runtime)} {}

MutexState OwnerDispatcher::state() const {
  const std::lock_guard lock{mutex_};
  return state_;
}

void OwnerDispatcher::publish(MutexOwner after) {
  const std::lock_guard lock{mutex_};
  state_ = MutexState{state_.after(), std::move(after)};
  queue_.emplace_back([this, state = state_] { retriever_.notify_owner(state); });
}

void OwnerDispatcher::refresh(MutexOwner after) {
  const std::lock_guard lock{mutex_};
  state_ = MutexState{state_.after(), std::move(after)};
}

void OwnerDispatcher::reset() {
  const std::lock_guard lock{mutex_};
  state_ = MutexState::none();
}

void OwnerDispatcher::post(Task task) {
  const std::lock_guard lock{mutex_};
  queue_.push_back(std::move(task));
}

void OwnerDispatcher::discard() {
  std::list<Task> dropped;  // destroyed with no lock held
  const std::lock_guard lock{mutex_};
  dropped.swap(queue_);
}

void OwnerDispatcher::hold() {
  const std::lock_guard lock{mutex_};
  ++holds_;
}

void OwnerDispatcher::resume() {
  {
    const std::lock_guard lock{mutex_};
    --holds_;
    idle_.notify_all();
  }
  deliver();
}

std::size_t OwnerDispatcher::backlog() const {
  const std::lock_guard lock{mutex_};
  return queue_.size();
}

bool OwnerDispatcher::running_in_this_thread() const {
  const std::lock_guard lock{mutex_};
  return runner_ == std::this_thread::get_id();
}

void OwnerDispatcher::deliver() {
  std::unique_lock lock{mutex_};
  if (holds_ > 0 || scheduled_ || queue_.empty()) return;
  scheduled_ = true;
  lock.unlock();
  const auto run = [self = shared_from_this()] { self->run_queue(); };
  try {
    executor_->execute(run);
    return;
  } catch (const std::exception& e) {
    log_refused(*runtime_->log, retriever_.mutex(), e.what());
  } catch (...) {
    log_refused(*runtime_->log, retriever_.mutex(), "an unknown exception");
  }
  try {
    runtime_->callbacks->execute(run);
  } catch (...) {
    const std::lock_guard relock{mutex_};
    scheduled_ = false;
  }
}

// A caller of quiesce() may be running the queue already: it will then see what is left.
void OwnerDispatcher::run_queue() {
  {
    std::unique_lock lock{mutex_};
    while (!queue_.empty() && holds_ == 0 && runner_ == std::thread::id{}) run_one(lock);
    scheduled_ = false;
  }
  idle_.notify_all();  // without the lock, which the one that wakes takes at once
}

void OwnerDispatcher::run_one(std::unique_lock<std::mutex>& lock) {
  Task task = std::move(queue_.front());
  queue_.pop_front();
  const std::thread::id outer = std::exchange(runner_, std::this_thread::get_id());
  lock.unlock();
  try {
    task();
  } catch (const std::exception& e) {
    log_escaped(*runtime_->log, retriever_.mutex(), e.what());
  } catch (...) {
    log_escaped(*runtime_->log, retriever_.mutex(), "an unknown exception");
  }
  task = nullptr;
  lock.lock();
  runner_ = outer;
}

bool OwnerDispatcher::quiesce(LocalTime deadline) {
  std::unique_lock lock{mutex_};
  const bool nested = runner_ == std::this_thread::get_id();
  const bool helps = nested || executor_->running_in_this_thread();
  const auto may_run = [&] { return nested || runner_ == std::thread::id{}; };
  const auto done = [&] { return queue_.empty() && may_run(); };
  const auto can_help = [&] { return helps && holds_ == 0 && !queue_.empty() && may_run(); };
  while (true) {
    while (can_help()) {
      run_one(lock);
      idle_.notify_all();
    }
    if (done()) return true;
    const bool ready =
        runtime_->waiter->wait_until(lock, idle_, deadline, [&] { return done() || can_help(); });
    if (!ready) return false;
  }
}

}  // namespace simba
