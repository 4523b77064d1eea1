#include "core/threads/thread_group.hpp"

#include <csignal>
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

}  // namespace simba::detail
