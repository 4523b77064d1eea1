#include "sql/workers/wakeup.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <limits>
#include <poll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

#include "core/boot_clock.hpp"

namespace simba::sql {
namespace {

int make_descriptor() {
  const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) throw std::system_error{errno, std::generic_category(), "eventfd"};
  return descriptor;
}

}  // namespace

Wakeup::Wakeup() : descriptor_{make_descriptor()} {}

Wakeup::~Wakeup() { ::close(descriptor_); }

// NOLINTNEXTLINE(readability-make-member-function-const): it changes what others see
void Wakeup::raise() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof one);
}

// NOLINTNEXTLINE(readability-make-member-function-const): it changes what others see
void Wakeup::clear() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(descriptor_, &count, sizeof count);
}

bool Wakeup::raised() const noexcept { return wait_for(*this, LocalTime::min()) == Waited::woken; }

LocalTime real_now() noexcept { return detail::BootClock::now(); }

int poll_timeout(LocalTime deadline) noexcept {
  if (deadline == never) return -1;
  const LocalTime now = real_now();
  if (deadline <= now) return 0;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
  return static_cast<int>(std::min<std::int64_t>(left, std::numeric_limits<int>::max()));
}

Waited wait_for(int descriptor, short events, LocalTime deadline, const Wakeup& wakeup) noexcept {
  std::array<pollfd, 2> both{pollfd{wakeup.descriptor(), POLLIN, 0}, pollfd{descriptor, events, 0}};
  for (;;) {
    const int ready = ::poll(both.data(), both.size(), poll_timeout(deadline));
    if (ready > 0) return both[0].revents != 0 ? Waited::woken : Waited::ready;
    if (ready == 0 && real_now() >= deadline) return Waited::timed_out;
  }
}

Waited wait_for(const Wakeup& wakeup, LocalTime deadline) noexcept {
  return wait_for(-1, 0, deadline, wakeup);
}

}  // namespace simba::sql
