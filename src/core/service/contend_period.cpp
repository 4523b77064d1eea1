#include "simba/core/contend_period.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "simba/core/error.hpp"

namespace simba {
namespace {

using std::chrono::nanoseconds;

// Far from overflow, and longer than any sensible spread.
constexpr std::chrono::milliseconds jitter_limit = std::chrono::hours{24 * 366};

void check(const JitterBounds& jitter) {
  if (jitter.low > jitter.high) {
    throw InvalidArgumentError{
        fmt::format("jitter.low must not exceed jitter.high (got {} ms and {} ms)",
                    jitter.low.count(), jitter.high.count())};
  }
  if (jitter.low < -jitter_limit || jitter.high > jitter_limit) {
    throw InvalidArgumentError{fmt::format(
        "jitter must be between {0} ms and {1} ms (got {2} ms and {3} ms)", -jitter_limit.count(),
        jitter_limit.count(), jitter.low.count(), jitter.high.count())};
  }
}

/// `at - now + jitter`, at the limit of the type where the sum does not fit.
nanoseconds delay(LocalTime at, LocalTime now, nanoseconds jitter) noexcept {
  std::int64_t sum = 0;
  if (__builtin_sub_overflow(at.time_since_epoch().count(), now.time_since_epoch().count(), &sum) ||
      __builtin_add_overflow(sum, jitter.count(), &sum)) {
    return at > now ? nanoseconds::max() : nanoseconds::min();
  }
  return nanoseconds{sum};
}

}  // namespace

ContendPeriod::ContendPeriod(std::string contender_id, std::shared_ptr<Random> random,
                             JitterBounds jitter)
    : contender_id_{std::move(contender_id)}, random_{std::move(random)}, jitter_{jitter} {
  check(jitter_);
}

nanoseconds ContendPeriod::next_owner_delay(const LocalLease& lease, LocalTime now) noexcept {
  return delay(lease.ttl_at, now, nanoseconds::zero());
}

nanoseconds ContendPeriod::next_contender_delay(const LocalLease& lease, LocalTime now) const {
  const bool has_transition = lease.transition_at > lease.ttl_at;
  const auto low =
      has_transition ? jitter_.low : std::max(jitter_.low, std::chrono::milliseconds::zero());
  return delay(lease.transition_at, now, random_->between(low, jitter_.high));
}

nanoseconds ContendPeriod::next_delay(const MutexOwner& owner, LocalTime now) const {
  return owner.is_owner(contender_id_) ? next_owner_delay(owner.local_lease(), now)
                                       : next_contender_delay(owner.local_lease(), now);
}

nanoseconds ContendPeriod::ensure_next_delay(const MutexOwner& owner, LocalTime now) const {
  return std::max(next_delay(owner, now), nanoseconds::zero());
}

}  // namespace simba
