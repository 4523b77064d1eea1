#include "core/threads/thread_group.hpp"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <pthread.h>
#include <utility>

namespace simba::detail {
namespace {

thread_local const ThreadGroup* group_of_this_thread = nullptr;

/// While it lives, this thread, and the threads that it starts for good, take no signals, so that
/// ours never steal one from the user. What a fault raises stays open: blocked, it would kill the
/// process past every crash handler.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
      ::sigdelset(&all, fault);
    }
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

std::thread ThreadGroup::start(std::string name, std::function<void()> body) const {
  const SignalsBlocked blocked;
  return std::thread{[this, name = std::move(name), body = std::move(body)] {
    ::pthread_setname_np(::pthread_self(), name.c_str());
    group_of_this_thread = this;
    body();
  }};
}

void ThreadGroup::join_or_detach(std::thread& thread) const {
  if (contains_this_thread()) {
    thread.detach();
  } else {
    thread.join();
  }
}

bool ThreadGroup::contains_this_thread() const noexcept { return group_of_this_thread == this; }

struct BoundedThreads::Ended {
  const ThreadGroup group{};
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t count = 0;  // guarded by mutex
};

BoundedThreads::BoundedThreads() : ended_{std::make_shared<Ended>()} {}

void BoundedThreads::start(const std::string& name, std::function<void()> body) {
  threads_.reserve(threads_.size() + 1);  // a thread that runs finds its place
  threads_.push_back(ended_->group.start(name, [ended = ended_, run = std::move(body)]() mutable {
    run();
    run = nullptr;  // what it holds is destroyed before the thread counts as ended
    const std::lock_guard lock{ended->mutex};
    ++ended->count;
    ended->changed.notify_all();
  }));
  ++started_;
}

bool BoundedThreads::contains_this_thread() const noexcept {
  return std::any_of(threads_.begin(), threads_.end(), [](const std::thread& thread) {
    return thread.get_id() == std::this_thread::get_id();
  });
}

bool BoundedThreads::join_or_let_go(std::chrono::nanoseconds patience) {
  bool all_ended = false;
  if (!contains_this_thread()) {
    std::unique_lock lock{ended_->mutex};
    all_ended =
        ended_->changed.wait_for(lock, patience, [this] { return ended_->count == started_; });
  }
  for (std::thread& thread : threads_) {
    if (all_ended) {
      thread.join();
    } else {
      thread.detach();
    }
  }
  threads_.clear();
  return all_ended;
}

}  // namespace simba::detail
