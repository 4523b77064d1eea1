#include "core/threads/on_demand_thread.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "core/log_exception.hpp"
#include "core/threads/thread_group.hpp"

namespace simba::detail {
namespace {

/// The jobs of one thread.
struct Jobs {
  std::deque<std::function<void()>> waiting{};
  bool running = false;  ///< a thread is at them
};

}  // namespace

struct OnDemandThread::Shared {
  Shared(std::string the_name, std::string the_what, std::shared_ptr<Logger> the_log)
      : name{std::move(the_name)}, what{std::move(the_what)}, log{std::move(the_log)} {}

  void run(Jobs& mine) {
    std::unique_lock lock{mutex};
    while (!mine.waiting.empty()) {
      auto job = std::move(mine.waiting.front());
      mine.waiting.pop_front();
      lock.unlock();
      try {
        job();
      } catch (...) {
        log_current_exception(*log, what);
      }
      job = nullptr;  // may be the last to hold something
      lock.lock();
    }
    mine.running = false;
    changed.notify_all();
  }

  const std::string name;
  const std::string what;
  const std::shared_ptr<Logger> log;
  const ThreadGroup group{};

  std::mutex mutex{};
  std::condition_variable changed{};
  // guarded by mutex
  std::shared_ptr<Jobs> jobs = std::make_shared<Jobs>();
  std::thread thread{};  // of `jobs`; where it does not run any more, it only has to be joined
};

OnDemandThread::OnDemandThread(std::string name, std::string what, std::shared_ptr<Logger> log)
    : shared_{std::make_shared<Shared>(std::move(name), std::move(what), std::move(log))} {}

OnDemandThread::~OnDemandThread() {
  if (fork_guard_.in_child()) {
    leak(shared_);
    return;
  }
  const std::lock_guard lock{shared_->mutex};
  if (!shared_->thread.joinable()) return;
  if (shared_->jobs->running) {
    shared_->thread.detach();
  } else {
    shared_->thread.join();
  }
}

void OnDemandThread::post(std::function<void()> job) {
  if (fork_guard_.in_child()) return;
  const std::lock_guard lock{shared_->mutex};
  const auto jobs = shared_->jobs;
  jobs->waiting.push_back(std::move(job));
  if (jobs->running) return;
  if (shared_->thread.joinable()) shared_->thread.join();
  shared_->thread =
      shared_->group.start(shared_->name, [shared = shared_, jobs] { shared->run(*jobs); });
  jobs->running = true;
}

bool OnDemandThread::wait(std::chrono::milliseconds limit) {
  if (fork_guard_.in_child()) return true;
  std::unique_lock lock{shared_->mutex};
  const auto jobs = shared_->jobs;
  const bool done = shared_->changed.wait_for(lock, limit, [&] { return !jobs->running; });
  if (shared_->jobs != jobs) return done;  // another caller has given up on them
  if (!done) {
    shared_->thread.detach();
    shared_->jobs = std::make_shared<Jobs>();
  } else if (shared_->thread.joinable()) {
    shared_->thread.join();
  }
  return done;
}

}  // namespace simba::detail
