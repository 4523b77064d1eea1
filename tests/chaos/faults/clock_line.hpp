#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

#include "chaos/raw_clock.hpp"

namespace simba::chaos {

/// How far one clock is off: `offset` at `base`, and `ppm` parts per million more for all time
/// after it. Moments are what the true clock shows, in nanoseconds.
struct ClockLine {
  std::int64_t base = 0;
  std::int64_t offset = 0;
  std::int64_t ppm = 0;

  std::int64_t at(std::int64_t now) const noexcept {
    const auto passed = now > base ? now - base : 0;
    // Apart, so that it does not overflow.
    return offset + passed / 1'000'000 * ppm + passed % 1'000'000 * ppm / 1'000'000;
  }
};

/// A line that one process changes and others read at the same time.
class SharedClockLine {
 public:
  /// By one writer at a time.
  void write(const ClockLine& line) noexcept {
    const auto version = version_.load();
    version_.store(version + 1);
    base_.store(line.base);
    offset_.store(line.offset);
    ppm_.store(line.ppm);
    version_.store(version + 2);
  }

  ClockLine read() const noexcept {
    for (;;) {
      const auto before = version_.load();
      const ClockLine line{base_.load(), offset_.load(), ppm_.load()};
      if (before % 2 == 0 && version_.load() == before) {
        return line;
      }
    }
  }

 private:
  std::atomic<std::uint64_t> version_;
  std::atomic<std::int64_t> base_;
  std::atomic<std::int64_t> offset_;
  std::atomic<std::int64_t> ppm_;
};

/// What libsimba-clock-skew.so reads from the file that the variable SIMBA_CLOCK_SKEW names.
struct ClockSkew {
  SharedClockLine wall;    ///< CLOCK_REALTIME
  SharedClockLine steady;  ///< CLOCK_MONOTONIC
  SharedClockLine boot;    ///< CLOCK_BOOTTIME
};

/// Changes the rate of a clock, which goes on from what it shows now. `clock`: the one that the
/// line is of.
inline void set_rate(SharedClockLine& shared, clockid_t clock, std::int64_t ppm) noexcept {
  const auto now = raw_clock(clock);
  shared.write({.base = now, .offset = shared.read().at(now), .ppm = ppm});
}

/// The same of both clocks that never jump.
inline void set_steady_rate(ClockSkew& clocks, std::int64_t ppm) noexcept {
  set_rate(clocks.steady, CLOCK_MONOTONIC, ppm);
  set_rate(clocks.boot, CLOCK_BOOTTIME, ppm);
}

/// Sets the wall clock forward or back by `nanoseconds`; its rate stays.
inline void step_wall(ClockSkew& clocks, std::int64_t nanoseconds) noexcept {
  const auto now = raw_clock(CLOCK_REALTIME);
  const auto line = clocks.wall.read();
  clocks.wall.write({.base = now, .offset = line.at(now) + nanoseconds, .ppm = line.ppm});
}

}  // namespace simba::chaos
