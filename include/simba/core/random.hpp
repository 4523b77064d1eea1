#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

namespace simba {

/// A source of randomness for jitter, ids and secrets.
///
/// Threads: `next()` may be called concurrently from any thread.
class Random {
 public:
  virtual ~Random() = default;

  /// Uniform over all 64-bit values.
  virtual std::uint64_t next() noexcept = 0;

  /// Uniform in [low, high), or `low` if the range is empty.
  std::chrono::nanoseconds between(std::chrono::nanoseconds low,
                                   std::chrono::nanoseconds high) noexcept;
};

/// The kernel's random numbers, which cannot be predicted. Throws Error if there are none.
std::shared_ptr<Random> make_system_random();

/// The same numbers for the same seed, and none of them secret. For tests and simulation.
std::shared_ptr<Random> make_seeded_random(std::uint64_t seed);

}  // namespace simba
