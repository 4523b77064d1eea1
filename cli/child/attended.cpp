#include "cli/child/attended.hpp"

#include <array>
#include <csignal>
#include <poll.h>

#include "cli/child/lease_keeper.hpp"
#include "cli/wake_up.hpp"

namespace simba::cli {

AttendedEnd run_attended(const Program& program, const Attendance& attendance) {
  const WakeUp wake_up;
  Child child{program, attendance.lease_end(), attendance.kill_after};
  const std::stop_callback wake{attendance.stop, [&] { wake_up.wake(); }};
  bool wants_terminal = false;
  for (bool stopping = false;;) {
    if (!stopping && attendance.stop.stop_requested()) {
      stopping = true;
      child.end(attendance.grace());
    }
    for (;;) {
      const auto event = child.next();
      if (!event) break;
      if (event->kind == Child::Event::Kind::ended) {
        return {.child = *event, .wants_terminal = wants_terminal};
      }
      if (event->kind != Child::Event::Kind::stopped) continue;
      // It would wait for ever. Whoever stops it by another signal knows why.
      if (event->value != SIGTTIN && event->value != SIGTTOU) continue;
      wants_terminal = stopping = true;
      child.end(attendance.kill_after);
    }
    const LocalTime lease_end = attendance.lease_end();
    child.extend(lease_end);
    std::array<pollfd, 2> files{{{child.file(), POLLIN, 0}, {wake_up.file(), POLLIN, 0}}};
    const auto pause = stopping ? look_at_end : until_next_look(lease_end);
    ::poll(files.data(), files.size(), static_cast<int>(pause.count()));
    wake_up.clear();
  }
}

}  // namespace simba::cli
