#pragma once

#include <chrono>
#include <string_view>
#include <variant>

#include "simba/core/error.hpp"
#include "simba/core/mutex_owner.hpp"

namespace simba {

/// An attempt to acquire got no definite answer. The service retries, unless the error is of kind
/// `duplicate_id`: then it does not contend again until it is stopped and started.
struct AcquireFailed {
  Error error;
  bool namesake = false;  ///< the store has answered: the mutex is held under the same contender id
};

/// A renewal got no definite answer: its outcome is unknown, the mutex is not lost. The service
/// retries while the lease lasts.
struct RenewalFailed {
  Error error;
  std::chrono::nanoseconds lease_left;  ///< until the service steps down, unless a renewal succeeds
};

/// The ttl has passed without a renewal, and the mutex is held only until the transition ends. Or
/// the store's clock was seen to run faster than allowed: another may have been let in early, and
/// from now on the service counts on shorter leases.
struct AtRisk {
  std::chrono::nanoseconds lease_left;

  /// By how much more than `clock_drift_ppm` the store's clock was faster than ours, in parts per
  /// million; 0: that was not seen.
  int clock_excess_ppm = 0;
};

enum class LossReason {
  expired,       ///< no renewal succeeded before the local deadline
  taken_over,    ///< the store reports another owner, or none
  revoked,       ///< the session with the store has ended
  duplicate_id,  ///< another process owns the mutex under the same contender id; the service does
                 ///< not contend again until it is stopped and started
};

std::string_view to_string(LossReason reason) noexcept;

/// Ownership ended although the contender did not stop.
struct OwnershipLost {
  LossReason reason;
  FencingToken fencing_token;  ///< of the ownership that ended
};

/// Anything noteworthy besides acquisition and release; see `MutexContender::on_event`.
using ContentionEvent = std::variant<AcquireFailed, RenewalFailed, AtRisk, OwnershipLost>;

}  // namespace simba
