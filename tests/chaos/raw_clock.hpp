#pragma once

#include <cstdint>
#include <ctime>
#include <sys/syscall.h>
#include <unistd.h>

namespace simba::chaos {

/// Nanoseconds of a clock as the kernel tells them: no library in between can lie.
inline std::int64_t raw_clock(clockid_t clock) noexcept {
  timespec ts{};
  ::syscall(SYS_clock_gettime, clock, &ts);
  return static_cast<std::int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
}

/// What every record is written by: CLOCK_MONOTONIC, the same for all processes of the machine.
inline std::int64_t raw_now() noexcept { return raw_clock(CLOCK_MONOTONIC); }

inline constexpr std::int64_t nanoseconds_per_millisecond = 1'000'000;

}  // namespace simba::chaos
