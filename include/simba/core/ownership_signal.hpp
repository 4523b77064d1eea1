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

  /// The source to fire for the present ownership. Firing it twice does no harm. Fire it with no
  /// lock held: it runs callbacks of the user.
  std::stop_source source() const;

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
