#include "simba/testkit/manual_executor.hpp"

#include <utility>

namespace simba::testkit {

ManualExecutor::~ManualExecutor() { discard(); }

void ManualExecutor::execute(std::function<void()> task) {
  const std::lock_guard lock{mutex_};
  tasks_.push_back(std::move(task));
}

bool ManualExecutor::running_in_this_thread() const noexcept {
  return std::this_thread::get_id() == maker_;
}

bool ManualExecutor::run_one() {
  std::function<void()> task;
  {
    const std::lock_guard lock{mutex_};
    if (tasks_.empty()) {
      return false;
    }
    task = std::move(tasks_.front());
    tasks_.pop_front();
  }
  task();
  return true;
}

std::size_t ManualExecutor::run_all() {
  std::size_t count = 0;
  while (run_one()) {
    ++count;
  }
  return count;
}

std::size_t ManualExecutor::discard() {
  // What a task holds may, when let go, queue another one: its destructor must not run under the
  // lock.
  std::size_t count = 0;
  for (;;) {
    std::deque<std::function<void()>> tasks;
    {
      const std::lock_guard lock{mutex_};
      tasks.swap(tasks_);
    }
    if (tasks.empty()) {
      return count;
    }
    count += tasks.size();
  }
}

std::size_t ManualExecutor::size() const {
  const std::lock_guard lock{mutex_};
  return tasks_.size();
}

}  // namespace simba::testkit
