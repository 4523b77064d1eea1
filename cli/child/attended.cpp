#include "cli/child/attended.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <poll.h>

#include "cli/child/lease_keeper.hpp"
#include "cli/child/wake_up.hpp"
#include "simba/core/clock.hpp"

namespace simba::cli {

AttendedEnd run_attended(const Program& program, const Attendance& attendance,
                         const Child* farewell) {
  Child child{program, attendance.lease_end(), attendance.kill_after, farewell};
  return attend(child, attendance);
}

AttendedEnd attend(Child& child, const Attendance& attendance) {
  const WakeUp wake_up;
  const std::stop_callback wake{attendance.stop, [&] { wake_up.wake(); }};
  AttendedEnd end;
  for (bool stopping = false;;) {
    const LocalTime now = make_system_clock()->now();
    if (!stopping && (attendance.stop.stop_requested() || now >= attendance.deadline)) {
      stopping = true;
      child.end(attendance.grace(),
                attendance.sender ? attendance.sender() : Child::Sender::anyone);
    }
    for (;;) {
      const auto event = child.next();
      if (!event) break;
      if (event->kind == Child::Event::Kind::started) end.started = true;
      if (event->kind == Child::Event::Kind::ended) {
        end.child = *event;
        return end;
      }
      if (event->kind != Child::Event::Kind::stopped) continue;
      // It would wait for ever. Whoever stops it by another signal knows why.
      if (event->value != SIGTTIN && event->value != SIGTTOU) continue;
      end.wants_terminal = stopping = true;
      child.end(attendance.kill_after);
    }
    const LocalTime lease_end = attendance.lease_end();
    child.extend(lease_end);
    std::array<pollfd, 2> files{{{child.file(), POLLIN, 0}, {wake_up.file(), POLLIN, 0}}};
    const auto pause =
        stopping ? look_at_end : until_next_look(std::min(lease_end, attendance.deadline));
    ::poll(files.data(), files.size(), static_cast<int>(pause.count()));
    wake_up.clear();
  }
}

}  // namespace simba::cli
