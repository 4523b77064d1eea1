#pragma once

#include <cstdint>
#include <memory>

namespace simba {

/// Remembers the process in which it was made, so that a forked child never acts on what belongs to
/// its parent: not its locks, not its threads, not its connections.
///
/// Threads: may be read from any thread. `in_child()` makes no system call.
class ForkGuard {
 public:
  ForkGuard() noexcept;

  /// True in a process that was forked after this object was made.
  bool in_child() const noexcept;

 private:
  std::uint64_t forks_;
};

namespace detail {

/// Keeps `shared` for ever. In a forked child what the parent's threads were using must not be
/// destroyed: its locks and condition variables may be in use by threads that do not exist here.
template <class T>
void leak(const std::shared_ptr<T>& shared) {
  new std::shared_ptr<T>{shared};
}

}  // namespace detail

}  // namespace simba
