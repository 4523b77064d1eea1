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
  /// service allow. Once it has returned no callback begins.
  ///
  /// May be called anywhere and any number of times: where another thread is stopping the service
  /// it waits for that, and where there is nothing to stop it returns. Inside a callback of the
  /// same service it delivers what is still to be delivered itself, before it returns. Inside a
  /// callback of `lost()` it returns at once, and the service stops as soon as its callbacks let
  /// it: one of them may wait for `lost()`.
  ///
  /// Throws nothing of its own, only what the `stop_contend` or `stop_retrieval` of a service that
  /// is not Simba's throws; stopped it is all the same.
  virtual void stop() = 0;

  /// The same, but throws nothing at all, and always waits, except for its own caller: after it the
  /// service may be destroyed. So where a callback of the service waits for a callback of `lost()`,
  /// use `stop()` in the latter.
  virtual void close() noexcept = 0;

  bool running() const noexcept { return status() == ServiceStatus::running; }
  MutexOwner before_owner() const { return mutex_state().before(); }
  MutexOwner after_owner() const { return mutex_state().after(); }
  bool has_owner() const { return mutex_state().after().has_owner(); }
};

}  // namespace simba
