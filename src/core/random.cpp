#include "simba/core/random.hpp"

#include <atomic>
#include <random>
#include <unistd.h>

#include "simba/core/error.hpp"

namespace simba {
namespace {

__extension__ using Uint128 = unsigned __int128;

/// SplitMix64 (Steele, Lea, Flood 2014). Its state is a plain counter, hence no lock.
class SplitMix64 final : public Random {
 public:
  explicit SplitMix64(std::uint64_t seed) noexcept : state_{seed} {}

  std::uint64_t next() noexcept override {
    constexpr std::uint64_t step = 0x9e3779b97f4a7c15;
    std::uint64_t z = state_.fetch_add(step, std::memory_order_relaxed) + step;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  std::atomic<std::uint64_t> state_;
};

/// The kernel's own. It has no state here: nothing that it has yielded tells what it yields next.
class KernelRandom final : public Random {
 public:
  std::uint64_t next() noexcept override {
    std::uint64_t value = 0;
    if (::getentropy(&value, sizeof value) == 0) return value;
    std::random_device processors;  // the call is forbidden since this object was made
    return (std::uint64_t{processors()} << 32U) ^ processors();
  }
};

}  // namespace

std::chrono::nanoseconds Random::between(std::chrono::nanoseconds low,
                                         std::chrono::nanoseconds high) noexcept {
  if (high <= low) return low;
  const auto first = static_cast<std::uint64_t>(low.count());
  const std::uint64_t range = static_cast<std::uint64_t>(high.count()) - first;
  // The upper half of the product. The bias is at most range / 2^64, and unlike rejection it ends
  // for every source of numbers.
  // cppcheck-suppress shiftTooManyBits ; the value has 128 bits
  const auto offset = static_cast<std::uint64_t>((Uint128{next()} * range) >> 64);
  return std::chrono::nanoseconds{static_cast<std::int64_t>(first + offset)};
}

std::shared_ptr<Random> make_system_random() {
  std::uint64_t probe = 0;
  if (::getentropy(&probe, sizeof probe) != 0) {
    throw Error{ErrorKind::unsupported,
                "the kernel provides no random numbers; allow the system call getrandom"};
  }
  return std::make_shared<KernelRandom>();
}

std::shared_ptr<Random> make_seeded_random(std::uint64_t seed) {
  return std::make_shared<SplitMix64>(seed);
}

}  // namespace simba
