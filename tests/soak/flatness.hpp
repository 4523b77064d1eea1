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

/// By how much a figure may have grown and still is flat.
struct Growth {
  std::int64_t percent = 0;
  std::int64_t more = 0;  ///< on top
};

/// Of one kind of process.
struct Rule {
  Growth memory{};  ///< in KiB
  Growth count{};   ///< of threads, of descriptors
};

inline constexpr Rule worker_rule{.memory = {.percent = 2, .more = 512}};
inline constexpr Rule server_rule{.memory = {.percent = 5, .more = 1'024},
                                  .count = {.percent = 10, .more = 8}};

/// False where it is not known.
bool is_flat(const Thirds& thirds, const Growth& allowed) noexcept;

}  // namespace simba::soak
