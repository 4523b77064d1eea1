#include "simba/core/contender_id_generator.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <sys/random.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/fork/fork_count.hpp"
#include "core/host_address.hpp"

namespace simba {
namespace {

/// Up to 256 bytes come whole or not at all.
std::array<std::uint64_t, 2> random_bits() {
  std::array<std::uint64_t, 2> bits{};
  if (::getrandom(bits.data(), sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    std::random_device device;
    for (auto& half : bits) half = (std::uint64_t{device()} << 32U) ^ device();
  }
  return bits;
}

/// No lock in here: another thread could hold it at the moment of a fork, and the child would wait
/// for it for ever.
class HostGenerator final : public ContenderIdGenerator {
 public:
  std::string generate() override {
    return fmt::format("{}:{}@{}", next_count(), ::getpid(), address());
  }

  std::uint64_t next_count() noexcept {
    const std::uint64_t life = detail::fork_count() << count_bits;
    std::uint64_t seen = life_and_count_.load(std::memory_order_relaxed);
    std::uint64_t mine = 0;
    do {
      mine = (seen & ~count_mask) == life ? seen : life;
    } while (!life_and_count_.compare_exchange_weak(seen, mine + 1, std::memory_order_relaxed));
    return mine & count_mask;
  }

  /// Found out once; where several threads do so at the same time, the first to be ready wins.
  const std::string& address() {
    const std::string* known = address_.load(std::memory_order_acquire);
    if (known == nullptr) {
      auto found = std::make_unique<const std::string>(detail::host_address());
      if (address_.compare_exchange_strong(known, found.get(), std::memory_order_acq_rel)) {
        known = found.release();  // lives as long as the process
      }
    }
    return *known;
  }

 private:
  static constexpr unsigned count_bits = 40;
  static constexpr std::uint64_t count_mask = (std::uint64_t{1} << count_bits) - 1;

  std::atomic<std::uint64_t> life_and_count_{
      0};  // forks before, and ids since: one atomic for both
  std::atomic<const std::string*> address_{nullptr};
};

/// The id of a host generator with the mark of this process. No lock in here either.
class UniqueGenerator final : public ContenderIdGenerator {
 public:
  std::string generate() override {
    return fmt::format("{}:{}@{}-{:016x}", readable_.next_count(), ::getpid(), readable_.address(),
                       mark());
  }

 private:
  struct Mark {
    std::uint64_t forks;  ///< before the process that it belongs to
    std::uint64_t bits;
  };

  /// Drawn once; again in a forked child, which takes over what its parent had.
  std::uint64_t mark() {
    const std::uint64_t forks = detail::fork_count();
    const Mark* known = mark_.load(std::memory_order_acquire);
    while (known == nullptr || known->forks != forks) {
      auto drawn = std::make_unique<const Mark>(Mark{.forks = forks, .bits = random_bits()[0]});
      if (mark_.compare_exchange_strong(known, drawn.get(), std::memory_order_acq_rel)) {
        known = drawn.release();  // lives as long as the process
      }
    }
    return known->bits;
  }

  HostGenerator readable_;
  std::atomic<const Mark*> mark_{nullptr};
};

/// Asks the operating system each time, so that no two processes ever share a state.
class UuidGenerator final : public ContenderIdGenerator {
 public:
  std::string generate() override {
    std::array<std::uint64_t, 2> half = random_bits();
    half[0] = (half[0] & ~std::uint64_t{0xF000}) | 0x4000U;                       // version 4
    half[1] = (half[1] & (~std::uint64_t{0} >> 2U)) | (std::uint64_t{2} << 62U);  // RFC variant
    return fmt::format("{:016x}{:016x}", half[0], half[1]);
  }
};

// Ready before any code runs, so that contenders may themselves be global objects.
constinit UniqueGenerator unique_generator;
constinit HostGenerator host_generator;
constinit UuidGenerator uuid_generator;

}  // namespace

ContenderIdGenerator& ContenderIdGenerator::unique() { return unique_generator; }

ContenderIdGenerator& ContenderIdGenerator::host() { return host_generator; }

ContenderIdGenerator& ContenderIdGenerator::uuid() { return uuid_generator; }

}  // namespace simba
