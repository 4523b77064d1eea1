#include "cli/child/wake_up.hpp"

#include <cerrno>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

namespace simba::cli {

WakeUp::WakeUp() : file_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
  if (file_ < 0) throw std::system_error{errno, std::generic_category(), "eventfd"};
}

WakeUp::~WakeUp() { ::close(file_); }

void WakeUp::wake() const noexcept { ::eventfd_write(file_, 1); }

void WakeUp::clear() const noexcept {
  eventfd_t ignored = 0;
  ::eventfd_read(file_, &ignored);
}

}  // namespace simba::cli
