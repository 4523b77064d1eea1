#pragma once

#include <mutex>
#include <stop_token>

#include "simba/core/time.hpp"

namespace simba {

/// The loss signal of the current ownership, and its fencing token.
///
/// Threads: every function may be called from any thread.
class OwnershipSignal {
 public:
  /// Starts a new ownership.
  void begin(FencingToken fencing_token);

  /// The source to `fire` for the current ownership.
  std::stop_source source() const;

  /// Fires `source`, which must come from this signal. May be called twice. Must be called with no
  /// lock held: it runs stop callbacks of the user.
  void fire(std::stop_source source) const noexcept;

  /// True inside a callback that `fire` of this signal runs.
  bool firing_in_this_thread() const noexcept;

  /// The same for any signal.
  static bool any_firing_in_this_thread() noexcept;

  /// The token of the current ownership; already fired if there is none.
  std::stop_token token() const;

  FencingToken fencing_token() const noexcept;

 private:
  mutable std::mutex mutex_;
  // guarded by mutex_
  std::stop_source source_{std::nostopstate};
  FencingToken fencing_token_ = 0;
};

}  // namespace simba
