#include "sql/workers/worker_threads.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "core/threads/thread_group.hpp"

namespace simba::sql {

struct WorkerThreads::Ended {
  detail::ThreadGroup group;
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t count = 0;  // guarded by mutex
};

WorkerThreads::WorkerThreads() : ended_{std::make_shared<Ended>()} {}

WorkerThreads::~WorkerThreads() { join_or_let_go(std::chrono::milliseconds::zero()); }

void WorkerThreads::start(const std::string& name, std::function<void()> body) {
  threads_.push_back(ended_->group.start(name, [ended = ended_, run = std::move(body)]() mutable {
    run();
    run = nullptr;  // what it holds is destroyed before the thread counts as ended
    const std::lock_guard lock{ended->mutex};
    ++ended->count;
    ended->changed.notify_all();
  }));
}

bool WorkerThreads::contains_this_thread() const noexcept {
  return std::any_of(threads_.begin(), threads_.end(), [](const std::thread& thread) {
    return thread.get_id() == std::this_thread::get_id();
  });
}

void WorkerThreads::join_or_let_go(std::chrono::milliseconds patience) {
  bool all_ended = false;
  if (!contains_this_thread()) {
    std::unique_lock lock{ended_->mutex};
    all_ended =
        ended_->changed.wait_for(lock, patience, [&] { return ended_->count == threads_.size(); });
  }
  for (std::thread& thread : threads_) {
    if (all_ended) {
      thread.join();
    } else {
      thread.detach();
    }
  }
  threads_.clear();
  const std::lock_guard lock{ended_->mutex};
  ended_->count = 0;
}

}  // namespace simba::sql
