#include "schedule/work_gate.hpp"

#include <utility>

namespace simba::detail {

void WorkGate::execute(std::function<void()> callback) {
  Lock lock{mutex_};
  if (occupied_) {
    callbacks_.push_back(std::move(callback));
    return;
  }
  occupied_ = true;
  call(lock, std::move(callback));
  open(std::move(lock));
}

bool WorkGate::running_in_this_thread() const noexcept {
  const Lock lock{mutex_};
  return caller_ == std::this_thread::get_id();
}

bool WorkGate::try_enter(std::function<void()> when_free) {
  const Lock lock{mutex_};
  if (occupied_) {
    when_free_ = std::move(when_free);
    return false;
  }
  occupied_ = true;
  return true;
}

void WorkGate::leave() { open(Lock{mutex_}); }

void WorkGate::call(Lock& lock, std::function<void()> callback) {
  caller_ = std::this_thread::get_id();
  lock.unlock();
  callback();
  callback = nullptr;  // what it holds ends with no lock held
  lock.lock();
  caller_ = {};
}

/// Calls what has come meanwhile, then lets others in.
void WorkGate::open(Lock lock) {
  while (!callbacks_.empty()) {
    std::function<void()> callback = std::move(callbacks_.front());
    callbacks_.pop_front();
    call(lock, std::move(callback));
  }
  occupied_ = false;
  const std::function<void()> when_free = std::exchange(when_free_, nullptr);
  lock.unlock();
  if (when_free) when_free();
}

}  // namespace simba::detail
