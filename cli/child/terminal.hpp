#pragma once

#include <sys/types.h>
#include <termios.h>

namespace simba::cli {

/// Our terminal, which a CMD in the foreground needs for itself: at once where standard input is
/// one, else when it asks for it. (Until then others of a pipeline may use it, such as a pager.)
///
/// Threads: used by the main thread, with SIGTTOU blocked.
class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool exists() const noexcept { return file_ >= 0; }

  /// The descriptor to hand to a new group; -1: standard input is not a terminal, or it is not ours
  /// to give.
  int to_hand_over() const noexcept;

  /// To a group that goes on, if it is ours now. True when it was given.
  bool give(pid_t group) noexcept;

  /// If `group` has it.
  void take_back(pid_t group) const noexcept;

  /// As it was at the beginning: after a CMD that had no time to tidy up.
  void restore_modes() noexcept;

 private:
  bool is_ours() const noexcept;

  const int file_;  // -1: there is none
  termios modes_{};
};

}  // namespace simba::cli
