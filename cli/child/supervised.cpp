#include "cli/child/supervised.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <poll.h>

#include <fmt/format.h>

#include "cli/child/lease_keeper.hpp"
#include "core/threads/wakeup.hpp"
#include "simba/core/clock.hpp"

namespace simba::cli {

std::string problem_of(const SupervisedEnd& end) {
  const int code = exit_code_of_status(end.child.value);
  if (end.child.survivors) {
    return "has processes that belong to another user and could not be terminated";
  }
  if (end.child.unguarded && !end.child.overdue) {
    return "was killed because its guardian process was killed";
  }
  if (end.wants_terminal) {
    return "was terminated: it tried to use the terminal, which is not available to it";
  }
  if (end.child.forced) return "took too long and was terminated";
  std::string text = code == 0 ? "" : fmt::format("exited with code {}", code);
  if (end.child.leftovers) {
    text += code == 0 ? "left" : ", and left";
    text += " processes running in its group; they were terminated (setsid keeps them)";
  }
  return text;
}

namespace {

/// Notes in `end` what has happened to CMD since the last look; true once it has ended.
bool has_ended(Child& child, std::chrono::milliseconds kill_after, SupervisedEnd& end) {
  for (;;) {
    const auto event = child.next();
    if (!event) return false;
    switch (event->kind) {
      case Child::Event::Kind::started:
        end.started = true;
        break;
      case Child::Event::Kind::stopped:
        // It would wait for ever. Whoever stops it by another signal knows why.
        if (event->value == SIGTTIN || event->value == SIGTTOU) {
          end.wants_terminal = true;
          child.end(kill_after);
        }
        break;
      case Child::Event::Kind::ended:
        end.child = *event;
        return true;
    }
  }
}

}  // namespace

SupervisedEnd run_supervised(const Program& program, const Supervision& supervision,
                             const Child* release_hook) {
  Child child{program, supervision.lease_end(), supervision.kill_after, release_hook};
  return supervise(child, supervision);
}

SupervisedEnd supervise(Child& child, const Supervision& supervision) {
  const detail::Wakeup wake_up;
  const std::stop_callback wake{supervision.stop, [&] { wake_up.raise(); }};
  SupervisedEnd end;
  for (bool stopping = false, expired = false;;) {
    const LocalTime lease_end = supervision.lease_end();
    child.extend(lease_end);
    const LocalTime now = make_system_clock()->now();
    // The guardian does so by itself, unless it was stopped.
    if (!expired && now >= lease_end) {
      expired = stopping = true;
      child.end(supervision.kill_after);
    }
    if (!stopping && (supervision.stop.stop_requested() || now >= supervision.deadline)) {
      stopping = true;
      child.end(supervision.grace(),
                supervision.sender ? supervision.sender() : Child::Sender::anyone);
    }
    if (has_ended(child, supervision.kill_after, end)) return end;
    stopping = stopping || end.wants_terminal;
    std::array<pollfd, 2> files{{{child.file(), POLLIN, 0}, {wake_up.descriptor(), POLLIN, 0}}};
    const auto pause =
        stopping ? look_at_end : until_next_look(std::min(lease_end, supervision.deadline));
    ::poll(files.data(), files.size(), static_cast<int>(pause.count()));
    wake_up.clear();
  }
}

}  // namespace simba::cli
