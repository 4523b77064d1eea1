#include "simba/testkit/manual_clock.hpp"

#include <chrono>
#include <string>

#include "simba/core/error.hpp"

namespace simba::testkit {

namespace {

using WallTime = std::chrono::system_clock::time_point;

constexpr WallTime wall_at_start =
    std::chrono::sys_days{std::chrono::year{2026} / std::chrono::January / 1};

}  // namespace

ManualClock::ManualClock(LocalTime start) noexcept
    : now_{start.time_since_epoch().count()},
      wall_offset_{std::chrono::nanoseconds{wall_at_start.time_since_epoch()}.count() -
                   default_start.time_since_epoch().count()} {}

LocalTime ManualClock::now() const noexcept { return LocalTime{LocalClock::duration{now_.load()}}; }

WallTime ManualClock::wall_now() const noexcept {
  return WallTime{std::chrono::duration_cast<WallTime::duration>(
      std::chrono::nanoseconds{now_.load() + wall_offset_.load()})};
}

void ManualClock::set_wall(WallTime moment) noexcept {
  wall_offset_ = std::chrono::nanoseconds{moment.time_since_epoch()}.count() - now_.load();
}

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
