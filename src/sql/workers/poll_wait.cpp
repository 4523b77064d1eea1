#include "sql/workers/poll_wait.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <poll.h>

#include "core/boot_clock.hpp"

namespace simba::sql {
LocalTime real_now() noexcept { return detail::BootClock::now(); }

int poll_timeout(LocalTime deadline) noexcept {
  if (deadline == never) return -1;
  const LocalTime now = real_now();
  if (deadline <= now) return 0;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
  return static_cast<int>(std::min<std::int64_t>(left, std::numeric_limits<int>::max()));
}

Waited wait_for(int descriptor, short events, LocalTime deadline, const Wakeup& wakeup) noexcept {
  std::array<pollfd, 2> both{pollfd{wakeup.descriptor(), POLLIN, 0}, pollfd{descriptor, events, 0}};
  for (;;) {
    const bool over = real_now() >= deadline;
    const int ready =
        ::poll(both.data(), over ? 1 : both.size(), over ? 0 : poll_timeout(deadline));
    if (ready > 0) return both[0].revents != 0 ? Waited::woken : Waited::ready;
    if (over) return Waited::timed_out;
  }
}

Waited wait_for(const Wakeup& wakeup, LocalTime deadline) noexcept {
  return wait_for(-1, 0, deadline, wakeup);
}

}  // namespace simba::sql
