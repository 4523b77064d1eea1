#pragma once

#include <chrono>
#include <exception>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace simba::support {

/// Thrown where whoever wanted the server is gone, or a signal asks the supervisor to end.
class CallerGone : public std::exception {
 public:
  const char* what() const noexcept override { return "the caller is gone"; }
};

/// A descriptor that is readable once the process has ended; -1 and errno where there is none such.
int watch_process(pid_t process) noexcept;

/// Whom the supervisor works for: a process, and maybe a channel on which it sends commands. Every
/// wait of the supervisor goes through here, so that none outlives the caller.
class Caller {
 public:
  /// `channel`: a socket, or -1. Blocks SIGTERM, SIGINT and SIGHUP and takes them as the end.
  Caller(int channel, pid_t process);
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  /// Waits for `descriptor` (or -1: nothing) to become readable, at most `span`, and tells whether
  /// it is.
  bool wait(int descriptor, std::chrono::milliseconds span);

  /// Waits for a command, however long.
  std::string read_command();

  /// Sends "ok <text>" or "error <text>" as one line.
  void answer(std::string_view verdict, std::string_view text);

 private:
  void look(int descriptor, int timeout, bool& ready);

  const int channel_;
  int process_ = -1;
  int signals_ = -1;
  bool ended_ = false;   // the channel's end was seen
  std::string pending_;  // received and not yet read
};

}  // namespace simba::support
