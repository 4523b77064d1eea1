#include "cli/child/terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace simba::cli {

Terminal::Terminal() : file_{::open("/dev/tty", O_RDWR | O_CLOEXEC)} {
  if (file_ >= 0) ::tcgetattr(file_, &modes_);
}

Terminal::~Terminal() {
  if (file_ >= 0) ::close(file_);
}

bool Terminal::is_ours() const noexcept { return file_ >= 0 && ::tcgetpgrp(file_) == ::getpgrp(); }

int Terminal::to_hand_over() const noexcept {
  return is_ours() && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp() ? STDIN_FILENO : -1;
}

bool Terminal::give(pid_t group) noexcept {
  return group > 0 && is_ours() && ::tcsetpgrp(file_, group) == 0;
}

void Terminal::take_back(pid_t group) const noexcept {
  if (group > 0 && file_ >= 0 && ::tcgetpgrp(file_) == group) ::tcsetpgrp(file_, ::getpgrp());
}

void Terminal::restore_modes() noexcept {
  if (is_ours()) ::tcsetattr(file_, TCSANOW, &modes_);
}

}  // namespace simba::cli
