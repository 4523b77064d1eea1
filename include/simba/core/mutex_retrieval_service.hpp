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

/// Follows the owner of one mutex and tells its retriever of every change.
///
/// Threads: every function may be called from any thread, also from inside a callback.
/// Lifetime: the destructor of a service closes it. It does not throw, and waits no longer than
/// `stop()` does.
class MutexRetrievalService {
 public:
  virtual ~MutexRetrievalService() = default;

  virtual ServiceStatus status() const noexcept = 0;

  /// The last change known. Starts, and ends after `stop()`, as `MutexState::none()`.
  virtual MutexState mutex_state() const = 0;

  /// INITIAL -> RUNNING. Does not wait for the store.
  /// Throws IllegalStateError in any other state. A start that fails leaves INITIAL and rethrows.
  virtual void start() = 0;

  /// RUNNING -> INITIAL. Waits for a callback that runs, but only for so long as the options of the
  /// service allow. Once it has returned no callback begins. Called from inside a callback of the
  /// same service it delivers what is still to be delivered itself, before it returns.
  /// Throws IllegalStateError in any other state.
  virtual void stop() = 0;

  /// Stops if there is something to stop. May be called any number of times. Does not throw.
  virtual void close() noexcept = 0;

  bool running() const noexcept { return status() == ServiceStatus::running; }
  MutexOwner before_owner() const { return mutex_state().before(); }
  MutexOwner after_owner() const { return mutex_state().after(); }
  bool has_owner() const { return mutex_state().after().has_owner(); }
};

}  // namespace simba
