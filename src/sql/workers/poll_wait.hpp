#pragma once

#include "core/threads/wakeup.hpp"
#include "simba/core/time.hpp"

namespace simba::sql {

using detail::Wakeup;

/// The present moment on the machine's own clock. Waits for sockets are real, so their deadlines
/// are on this clock whatever clock the runtime has.
LocalTime real_now() noexcept;

enum class Waited { ready, timed_out, woken };

/// Waits until one of `events` (POLLIN, POLLOUT) holds for `descriptor`, the deadline has passed or
/// `wakeup` is raised. An error or hang-up of the descriptor counts as ready. Once the deadline has
/// passed nothing is ready any more, so that a peer that never falls silent does not outlast it.
Waited wait_for(int descriptor, short events, LocalTime deadline, const Wakeup& wakeup) noexcept;

/// Waits for `wakeup` alone.
Waited wait_for(const Wakeup& wakeup, LocalTime deadline) noexcept;

/// What is left until `deadline` as a timeout for poll(): rounded up, at least 0, -1 for `never`.
int poll_timeout(LocalTime deadline) noexcept;

}  // namespace simba::sql
