#pragma once

#include <cstdint>
#include <vector>

namespace simba::soak {

/// A figure at a moment, in seconds from the beginning.
struct Sample {
  double at = 0;
  std::int64_t value = 0;
};

/// The figure at the beginning and at the end: the medians of the first and of the last third of
/// the time that is left after a warm-up of a sixth.
struct Thirds {
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool known = false;  ///< false: one of the thirds has no samples
};

Thirds thirds_of(const std::vector<Sample>& samples, double seconds);

/// Whether it has not grown by more than 5 % and 1 MiB, in KiB.
bool memory_is_flat(const Thirds& thirds) noexcept;

/// Whether it has not grown at all.
bool count_is_flat(const Thirds& thirds) noexcept;

inline constexpr const char* flatness_rule =
    "flat: after a warm-up of a sixth of the time, the median of the last third is not above that "
    "of the first third: for memory by more than 5 % + 1 MiB, for threads and descriptors at all";

}  // namespace simba::soak
