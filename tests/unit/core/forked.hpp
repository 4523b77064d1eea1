#pragma once

#include <csignal>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
void __gcov_dump() __attribute__((weak));   // NOLINT(bugprone-reserved-identifier)
void __gcov_reset() __attribute__((weak));  // NOLINT(bugprone-reserved-identifier)
}

namespace simba::test {

/// In a child: it must end by itself within half a minute, also when it was forked off a thread
/// that takes no signals.
inline void begin_child() {
  if (__gcov_reset != nullptr) __gcov_reset();
  sigset_t alarms;
  ::sigemptyset(&alarms);
  ::sigaddset(&alarms, SIGALRM);
  ::pthread_sigmask(SIG_UNBLOCK, &alarms, nullptr);
  ::alarm(30);
}

/// Ends a child without the static destructors of its parent.
[[noreturn]] inline void end_child(bool good) {
  if (__gcov_dump != nullptr) __gcov_dump();
  ::_exit(good ? 0 : 1);
}

/// True when the child ended with `end_child(true)`, or by itself without an error.
inline bool child_was_good(pid_t child) {
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

/// True when `body` returned true in a forked child.
inline bool in_forked_child(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    begin_child();
    end_child(body());
  }
  return child_was_good(child);
}

}  // namespace simba::test
