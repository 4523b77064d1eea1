#pragma once

#include <chrono>
#include <string_view>
#include <variant>

#include "simba/core/error.hpp"
#include "simba/core/mutex_owner.hpp"

namespace simba {

/// An attempt to acquire got no clear answer. The service tries again by itself, unless the error
/// is of kind `duplicate_id`: then it stays out until it is stopped and started.
struct AcquireFailed {
  Error error;
};

/// A renewal got no clear answer: unknown, not lost. The service tries again while the lease lasts.
struct RenewalFailed {
  Error error;
  std::chrono::nanoseconds lease_left;  ///< until the service steps down unless a renewal succeeds
};

/// The ttl has passed without a renewal; the mutex is still held until the transition ends.
struct AtRisk {
  std::chrono::nanoseconds lease_left;
};

enum class LossReason {
  expired,       ///< no renewal succeeded before the local deadline
  taken_over,    ///< the store names another owner, or none
  revoked,       ///< the store's session is gone
  duplicate_id,  ///< another process owns the mutex under the same contender id; the service stays
                 ///< out until it is stopped and started
};

std::string_view to_string(LossReason reason) noexcept;

/// Ownership ended without the contender's wish.
struct OwnershipLost {
  LossReason reason;
  FencingToken fencing_token;  ///< of the ownership that ended
};

/// What happens between acquired and released, for those who want to know.
using ContentionEvent = std::variant<AcquireFailed, RenewalFailed, AtRisk, OwnershipLost>;

}  // namespace simba
