#include "simba/testkit/manual_clock.hpp"

#include <string>

#include "simba/core/error.hpp"

namespace simba::testkit {

ManualClock::ManualClock(LocalTime start) noexcept : now_{start.time_since_epoch().count()} {}

LocalTime ManualClock::now() const noexcept { return LocalTime{LocalClock::duration{now_.load()}}; }

void ManualClock::advance(std::chrono::nanoseconds span) {
  if (span < std::chrono::nanoseconds::zero()) {
    throw InvalidArgumentError{"a clock cannot go back (got " + std::to_string(span.count()) +
                               " ns)"};
  }
  now_ += span.count();
}

void ManualClock::set(LocalTime moment) {
  const auto wanted = moment.time_since_epoch().count();
  auto present = now_.load();
  do {
    if (wanted < present) {
      throw InvalidArgumentError{"a clock cannot be set back to " + std::to_string(wanted) +
                                 " ns; it must be at least " + std::to_string(present) + " ns"};
    }
  } while (!now_.compare_exchange_weak(present, wanted));
}

void ManualClock::set_at_least(LocalTime moment) noexcept {
  const auto wanted = moment.time_since_epoch().count();
  auto present = now_.load();
  while (present < wanted && !now_.compare_exchange_weak(present, wanted)) {
  }
}

}  // namespace simba::testkit
