#pragma once

#include <sys/types.h>
#include <termios.h>

namespace simba::cli {

/// Our terminal, if standard input is one, which a CMD in the foreground needs for itself.
///
/// Threads: used by the main thread, with SIGTTOU blocked.
class Terminal {
 public:
  Terminal();

  /// The descriptor to hand to a new group; -1: there is no terminal, or it is not ours to give.
  int to_hand_over() const noexcept;

  /// To a group that goes on, if it is ours now.
  void give(pid_t group) noexcept;

  /// If `group` has it.
  void take_back(pid_t group) noexcept;

  /// As it was at the beginning: after a CMD that had no time to tidy up.
  void restore_modes() noexcept;

 private:
  bool present_ = false;
  termios modes_{};
};

}  // namespace simba::cli
