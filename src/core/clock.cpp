#include "simba/core/clock.hpp"

#include <ctime>

#include "core/boot_clock.hpp"
#include "simba/core/error.hpp"

namespace simba {
namespace {

class SystemClock final : public Clock {
 public:
  LocalTime now() const noexcept override { return detail::BootClock::now(); }
};

}  // namespace

std::shared_ptr<const Clock> make_system_clock() {
  // A clock that stands still would let an owner believe in its lease for ever, so a system without
  // this clock is refused here rather than at the first reading.
  if (::clock_getres(CLOCK_BOOTTIME, nullptr) != 0) {
    throw Error{ErrorKind::unsupported, "this system has no CLOCK_BOOTTIME"};
  }
  return std::make_shared<const SystemClock>();
}

}  // namespace simba
