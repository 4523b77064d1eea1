#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "simba/client/client.hpp"
#include "simba/client/lock.hpp"
#include "simba/core/delay_monitor.hpp"
#include "simba/core/error.hpp"
#include "simba/core/mutex_owner.hpp"
#include "simba/core/small_function.hpp"

namespace simba {

/// The category of the error codes of asynchronous functions. Its values are those of `ErrorKind`
/// plus one, since zero means success.
const std::error_category& error_category() noexcept;

std::error_code make_error_code(ErrorKind kind) noexcept;

}  // namespace simba

/// What `co_await` and the functions for Asio are built on. Handlers are called exactly once, on
/// any thread, perhaps inside the call, and must only pass the news on.
namespace simba::detail {

/// What `lock` and `try_lock` make of options that are not set.
enum class LockCall { lock, try_lock };

/// What came of an asynchronous operation: a value, or why there is none.
template <class T>
struct Completion {
  T value{};
  std::exception_ptr failure{};
  std::error_code code{};  ///< of the failure

  static Completion failed(const std::exception_ptr& failure);
};

/// The code of an exception that Simba throws.
std::error_code code_of(const std::exception_ptr& failure) noexcept;

template <class T>
Completion<T> Completion<T>::failed(const std::exception_ptr& failure) {
  return {.value = {}, .failure = failure, .code = code_of(failure)};
}

/// With no more room than to lead to whoever is told.
template <class T>
using Handler = SmallFunction<void(Completion<T>), 3 * sizeof(void*)>;

/// Runs a task on the executor of a client, never inside the call.
using Dispatch = std::function<void(std::function<void()> task)>;

/// What makes the `DelayMonitor::Line` in which a handler waits that has been posted to an executor
/// of the user, so that it is logged if it is not called.
struct WaitingLine {
  std::shared_ptr<DelayMonitor> delays{};  ///< empty: nobody would notice
  DelayMonitor::Line::Who who{};
};

/// A lock whose request has not been started yet. For `LockCall::lock` everything but a lock is a
/// failure; a cancellation has the code `std::errc::operation_canceled`.
struct PreparedLock {
  std::shared_ptr<engine::LockOperation> operation{};
  LockCall call = LockCall::lock;
  std::optional<Span> wait{};    ///< for the message of a failure
  std::exception_ptr failure{};  ///< it cannot be started

  void start(Handler<LockResult> handler) const;
  void cancel() const noexcept;  ///< also before `start`
  Dispatch dispatch() const;     ///< only without a failure

  /// Of a handler for an executor of the user.
  WaitingLine line() const noexcept;
};

/// Does not throw.
PreparedLock prepare_lock(const Client& client, LockCall call, std::string name,
                          LockOptions options) noexcept;

/// Tells whether the store has confirmed the release.
void start_unlock(Lock lock, SmallFunction<void(bool confirmed)> handler);

/// Where handlers run: on the executor of the lock's client; inside the call if there is no lock.
Dispatch dispatch_of(const Lock& lock);
Dispatch dispatch_of(const Client& client, const std::string& name);

/// As `PreparedLock::line`.
WaitingLine line_of(const Lock& lock) noexcept;
WaitingLine line_of(const Client& client, const std::string& name) noexcept;

void start_owner(const Client& client, const std::string& name, Handler<MutexOwner> handler);

}  // namespace simba::detail
