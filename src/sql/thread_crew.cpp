#include "sql/thread_crew.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "core/thread_group.hpp"

namespace simba::sql {

struct ThreadCrew::Ended {
  detail::ThreadGroup group;
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t count = 0;  // guarded by mutex
};

ThreadCrew::ThreadCrew() : ended_{std::make_shared<Ended>()} {}

ThreadCrew::~ThreadCrew() { join_or_let_go(std::chrono::milliseconds::zero()); }

void ThreadCrew::start(const std::string& name, std::function<void()> body) {
  threads_.push_back(ended_->group.start(name, [ended = ended_, run = std::move(body)]() mutable {
    run();
    run = nullptr;  // what it holds goes before the thread counts as ended
    const std::lock_guard lock{ended->mutex};
    ++ended->count;
    ended->changed.notify_all();
  }));
}

bool ThreadCrew::contains_this_thread() const noexcept {
  return std::any_of(threads_.begin(), threads_.end(), [](const std::thread& thread) {
    return thread.get_id() == std::this_thread::get_id();
  });
}

void ThreadCrew::join_or_let_go(std::chrono::milliseconds patience) {
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
