#pragma once

#include "simba/core/time.hpp"

namespace simba::sql {

/// A flag that a thread waiting in poll() sees: a descriptor that is readable while it is raised.
///
/// Threads: every function may be called from any thread.
class Wakeup {
 public:
  /// Throws std::system_error where the system gives no descriptor.
  Wakeup();
  ~Wakeup();
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  void raise() noexcept;
  void clear() noexcept;
  bool raised() const noexcept;
  int descriptor() const noexcept { return descriptor_; }

 private:
  const int descriptor_;
};

/// The present moment on the machine's own clock. Waits for sockets are real, so their deadlines
/// are on this clock whatever clock the runtime has.
LocalTime real_now() noexcept;

enum class Waited { ready, timed_out, woken };

/// Waits until one of `events` (POLLIN, POLLOUT) holds for `descriptor`, the deadline has passed or
/// `wakeup` is raised. An error or hang-up of the descriptor counts as ready.
Waited wait_for(int descriptor, short events, LocalTime deadline, const Wakeup& wakeup) noexcept;

/// Waits for `wakeup` alone.
Waited wait_for(const Wakeup& wakeup, LocalTime deadline) noexcept;

/// What is left until `deadline` as a timeout for poll(): rounded up, at least 0, -1 for `never`.
int poll_timeout(LocalTime deadline) noexcept;

}  // namespace simba::sql
