#pragma once

#include <cstdint>
#include <memory>

namespace simba {

/// Remembers the process that created it, so that what has one can tell a forked child, which must
/// never act on its parent's locks, threads or connections. It refuses nothing itself: that is in
/// lock.cpp, client_core.cpp, election.cpp and simba_locker.cpp, in lease_service_factory.cpp,
/// lease_contention.cpp and open_while_attached.hpp, in abstract_mutex_retrieval_service.cpp and
/// abstract_scheduler_impl.cpp. ARCHITECTURE.md ("After fork()") lists all of them.
///
/// Threads: may be read from any thread. `in_child()` makes no system call.
class ForkGuard {
 public:
  ForkGuard() noexcept;

  /// True in a process that was forked after this object was created.
  bool in_child() const noexcept;

 private:
  std::uint64_t forks_;
};

namespace detail {

/// Keeps `shared` alive forever. A forked child must not destroy what the parent's threads were
/// using: its locks and condition variables may be held by threads that do not exist here.
template <class T>
void leak(const std::shared_ptr<T>& shared) {
  new std::shared_ptr<T>{shared};
}

}  // namespace detail

}  // namespace simba
