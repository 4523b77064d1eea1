#pragma once

#include <ctime>

#include "simba/core/time.hpp"

namespace simba::detail {

/// CLOCK_BOOTTIME in the shape that Asio expects of a clock.
struct BootClock : LocalClock {
  static LocalTime now() noexcept {
    timespec ts{};
    ::clock_gettime(CLOCK_BOOTTIME, &ts);
    return LocalTime{std::chrono::seconds{ts.tv_sec} + std::chrono::nanoseconds{ts.tv_nsec}};
  }
};

}  // namespace simba::detail
