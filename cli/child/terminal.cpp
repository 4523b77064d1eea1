#include "cli/child/terminal.hpp"

#include <unistd.h>

namespace simba::cli {

Terminal::Terminal() : present_{::tcgetattr(STDIN_FILENO, &modes_) == 0} {}

int Terminal::to_hand_over() const noexcept {
  return present_ && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp() ? STDIN_FILENO : -1;
}

void Terminal::give(pid_t group) noexcept {
  if (to_hand_over() >= 0) ::tcsetpgrp(STDIN_FILENO, group);
}

void Terminal::take_back(pid_t group) noexcept {
  if (present_ && ::tcgetpgrp(STDIN_FILENO) == group) ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
}

void Terminal::restore_modes() noexcept {
  if (to_hand_over() >= 0) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &modes_);
}

}  // namespace simba::cli
