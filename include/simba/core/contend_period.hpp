#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "simba/core/mutex_owner.hpp"
#include "simba/core/random.hpp"

namespace simba {

/// How far attempts of waiting contenders are spread: uniform in [low, high).
struct JitterBounds {
  std::chrono::milliseconds low{-200};
  std::chrono::milliseconds high{1000};

  friend bool operator==(const JitterBounds&, const JitterBounds&) = default;
};

/// When the next attempt is due.
///
/// Threads: may be used from any thread.
class ContendPeriod {
 public:
  /// Throws InvalidArgumentError if `jitter.low > jitter.high` or a bound is more than 366 days.
  ContendPeriod(std::string contender_id, std::shared_ptr<Random> random, JitterBounds jitter = {});

  /// `ttl_at - now`: the latest moment at which an owner renews. May be negative.
  static std::chrono::nanoseconds next_owner_delay(const LocalLease& lease, LocalTime now) noexcept;

  /// `transition_at - now + jitter`. Without a transition the jitter is never negative, since an
  /// early attempt would fall into the ttl. May be negative.
  std::chrono::nanoseconds next_contender_delay(const LocalLease& lease, LocalTime now) const;

  /// The owner's delay if the owner is this contender, otherwise the contender's.
  std::chrono::nanoseconds next_delay(const MutexOwner& owner, LocalTime now) const;

  /// `next_delay`, but never negative.
  std::chrono::nanoseconds ensure_next_delay(const MutexOwner& owner, LocalTime now) const;

 private:
  const std::string contender_id_;
  const std::shared_ptr<Random> random_;
  const JitterBounds jitter_;
};

}  // namespace simba
