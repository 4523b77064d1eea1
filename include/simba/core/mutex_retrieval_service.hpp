#pragma once

#include <string_view>

#include "simba/core/mutex_state.hpp"

namespace simba {

enum class ServiceStatus { initial, starting, running, stopping };

/// "INITIAL", "STARTING", "RUNNING" or "STOPPING".
std::string_view to_string(ServiceStatus status) noexcept;

/// Between the beginning of `start()` and the beginning of `stop()`.
constexpr bool is_active(ServiceStatus status) noexcept {
  return status == ServiceStatus::starting || status == ServiceStatus::running;
}

/// Follows the owner of one mutex and notifies its retriever of every change.
///
/// Threads: every function may be called from any thread, including from inside a callback.
/// Lifetime: the destructor of a service closes it. It does not throw, and waits no longer than
/// `stop()` does.
class MutexRetrievalService {
 public:
  virtual ~MutexRetrievalService() = default;

  [[nodiscard]] virtual ServiceStatus status() const noexcept = 0;

  /// The last known change; `MutexState::none()` before the first one and after `stop()`.
  [[nodiscard]] virtual MutexState mutex_state() const = 0;

  /// INITIAL -> RUNNING. Does not wait for the store.
  /// Throws IllegalStateError in any other state, and Error (duplicate_id) if another service of
  /// the same factory with the same mutex and contender id has been started and its `stop()` has
  /// not returned. If starting fails, the service stays INITIAL and the exception is rethrown.
  virtual void start() = 0;

  /// RUNNING -> INITIAL. Waits for a running callback, up to the drain limit of the service. No
  /// callback starts after it has returned.
  ///
  /// May be called anywhere and any number of times: if another thread is stopping the service, it
  /// waits for that; if there is nothing to stop, it returns. Inside a callback of the same service
  /// it delivers the remaining callbacks itself before it returns. Inside a stop callback of
  /// `lost()` it returns immediately, and the service stops as soon as its callbacks have returned,
  /// since one of them may be waiting for `lost()`. It has stopped when `status()` is INITIAL.
  /// Until then neither it nor another service of the same factory, mutex and contender id can be
  /// started, since the `on_acquired` of that one could precede the `on_released` of this one.
  ///
  /// Throws only what the `stop_contend` or `stop_retrieval` of a user-defined service throws; the
  /// service is stopped nevertheless.
  virtual void stop() = 0;

  /// Like `stop()`, but never throws and always waits, except for the callback it is called from:
  /// the service may be destroyed afterwards. So if a callback of the service waits for a stop
  /// callback of `lost()`, call `stop()` in the latter.
  virtual void close() noexcept = 0;

  [[nodiscard]] bool running() const noexcept { return status() == ServiceStatus::running; }
  [[nodiscard]] MutexOwner before_owner() const { return mutex_state().before(); }
  [[nodiscard]] MutexOwner after_owner() const { return mutex_state().after(); }
  [[nodiscard]] bool has_owner() const { return mutex_state().after().has_owner(); }
};

}  // namespace simba
