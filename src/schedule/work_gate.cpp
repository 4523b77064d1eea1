#include "schedule/work_gate.hpp"

#include <utility>

namespace simba::detail {

WorkGate::WorkGate(std::shared_ptr<Executor> executor, std::unique_ptr<DelayMonitor::Line> line)
    : executor_{std::move(executor)}, line_{std::move(line)} {}

void WorkGate::execute(std::function<void()> callback) {
  {
    const Lock lock{mutex_};
    callbacks_.push_back(std::move(callback));
    if (occupied_) return;
    if (line_) line_->waits();
  }
  call_soon();
}

bool WorkGate::running_in_this_thread() const noexcept {
  const Lock lock{mutex_};
  return caller_ == std::this_thread::get_id();
}

void WorkGate::run_kept() {
  const auto self = shared_from_this();
  Lock lock{mutex_};
  if (occupied_ || callbacks_.empty()) return;
  occupied_ = true;
  caller_ = std::this_thread::get_id();
  if (line_) line_->begins();
  while (!callbacks_.empty()) {
    std::function<void()> callback = std::move(callbacks_.front());
    callbacks_.pop_front();
    lock.unlock();
    callback();
    callback = nullptr;  // what it holds ends with no lock held
    lock.lock();
  }
  if (line_) line_->ends();
  caller_ = {};
  open(std::move(lock));
}

bool WorkGate::try_enter(std::function<void()> when_free) {
  const Lock lock{mutex_};
  if (occupied_ || !callbacks_.empty()) {
    when_free_ = std::move(when_free);
    return false;
  }
  occupied_ = true;
  return true;
}

void WorkGate::leave() {
  Lock lock{mutex_};
  if (callbacks_.empty()) return open(std::move(lock));
  occupied_ = false;
  if (line_) line_->waits();
  lock.unlock();
  call_soon();
}

void WorkGate::call_soon() {
  try {
    executor_->execute([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->run_kept();
    });
  } catch (...) {  // rather on this thread than not at all
    run_kept();
  }
}

/// Lets others in.
void WorkGate::open(Lock lock) {
  occupied_ = false;
  const std::function<void()> when_free = std::exchange(when_free_, nullptr);
  lock.unlock();
  if (when_free) when_free();
}

}  // namespace simba::detail
