#pragma once

#include <functional>
#include <memory>

#include "simba/client/owner.hpp"
#include "simba/core/mutex_owner.hpp"

namespace simba {

/// Follows the owner of a mutex without contending for it, until this is stopped or destroyed.
/// Move-only.
///
/// Not guaranteed: that it sees every owner. One that comes and goes between two looks at the store
/// is missed, and the owner that it reports may be out of date.
///
/// Threads: every function may be called from any thread, also inside the callback.
/// Lifetime: owns the callback; none runs after `stop()` or the destructor has returned, except
/// that the callback may itself stop or destroy the watch. May outlive the client.
/// Errors: while the store does not answer, it keeps the last owner, whose `has_owner()` is false
/// once the lease is over, logs that, and looks again. An exception of the callback is logged. An
/// object without a watch (default-constructed, moved from) sees nobody.
class [[nodiscard]] Watch {
 public:
  /// Called on the client's executor, one call at a time, with each new owner that it sees, which
  /// is `MutexOwner::none()` when nobody owns the mutex. Not called if the mutex is free from the
  /// beginning, nor for renewals.
  using Changed = std::function<void(MutexOwner now)>;

  Watch() noexcept;
  ~Watch();
  Watch(Watch&& other) noexcept;
  Watch& operator=(Watch&& other) noexcept;  ///< stops what it had
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// The last owner that it has seen; `MutexOwner::none()` before the first.
  [[nodiscard]] MutexOwner owner() const;

  /// May be called any number of times.
  void stop();

 private:
  friend class Client;
  class Impl;

  explicit Watch(std::shared_ptr<Impl> impl) noexcept;

  std::shared_ptr<Impl> impl_;
};

}  // namespace simba
