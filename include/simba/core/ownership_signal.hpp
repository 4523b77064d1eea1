#pragma once

#include <mutex>
#include <stop_token>

#include "simba/core/time.hpp"

namespace simba {

/// The loss signal of the present ownership, and its fencing token.
///
/// Threads: every function may be called from any thread.
class OwnershipSignal {
 public:
  /// A new ownership begins.
  void begin(FencingToken fencing_token);

  /// The source to `fire` for the present ownership.
  std::stop_source source() const;

  /// Fires `source`, which is one of this signal. Twice does no harm. To be called with no lock
  /// held: it runs callbacks of the user.
  void fire(std::stop_source source) const noexcept;

  /// True inside a callback that `fire` of this signal runs.
  bool firing_in_this_thread() const noexcept;

  /// The same for any signal.
  static bool any_firing_in_this_thread() noexcept;

  /// The token of the present ownership, fired already when there is none.
  std::stop_token token() const;

  FencingToken fencing_token() const noexcept;

 private:
  mutable std::mutex mutex_;
  // guarded by mutex_
  std::stop_source source_{std::nostopstate};
  FencingToken fencing_token_ = 0;
};

}  // namespace simba
