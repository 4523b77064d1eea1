#include "core/threads/wakeup.hpp"

#include <cerrno>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

namespace simba::detail {

Wakeup::Wakeup() : descriptor_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
  if (descriptor_ < 0) throw std::system_error{errno, std::generic_category(), "eventfd"};
}

Wakeup::~Wakeup() { ::close(descriptor_); }

void Wakeup::raise() const noexcept { ::eventfd_write(descriptor_, 1); }

void Wakeup::clear() const noexcept {
  eventfd_t ignored = 0;
  ::eventfd_read(descriptor_, &ignored);
}

}  // namespace simba::detail
