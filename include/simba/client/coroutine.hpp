#pragma once

#include <coroutine>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "simba/client/client.hpp"
#include "simba/client/completion.hpp"
#include "simba/client/lock.hpp"
#include "simba/core/mutex_owner.hpp"

namespace simba {

/// What the functions below return. Await it immediately: `Lock lock = co_await lock_async(...)`.
///
/// The coroutine is resumed on the executor of the client (`ClientOptions::executor`, else the
/// callback threads of the runtime), never on a thread of the store or of timers. If the coroutine
/// is destroyed while it is suspended here, a wait for a lock is cancelled, and a grant under way
/// is given back. A coroutine that the executor has not resumed after a second is logged and
/// counted (`Runtime::delays`); a lock that it was granted is renewed meanwhile. It must not be
/// destroyed while the executor resumes it: destroy it on that executor, or after the client was
/// closed and the executor has run everything.
template <class Value, class Result = Value>
class [[nodiscard("co_await it")]] Awaitable {
 public:
  using Start = std::function<void(detail::Handler<Value>)>;
  using Take = Result (*)(Value &&);

  Awaitable(Start start, std::function<void()> cancel, detail::Dispatch dispatch,
            std::stop_token stop, std::exception_ptr failure, Take take,
            std::optional<Value> ready = std::nullopt)
      : start_{std::move(start)},
        cancel_{std::move(cancel)},
        dispatch_{std::move(dispatch)},
        stop_{std::move(stop)},
        take_{take} {
    if (failure) state_->completion.emplace(detail::Completion<Value>::failed(failure));
    if (ready) state_->completion.emplace(detail::Completion<Value>{.value = std::move(*ready)});
  }

  // Made where it is awaited.
  Awaitable(const Awaitable&) = delete;
  Awaitable& operator=(const Awaitable&) = delete;

  ~Awaitable() {
    on_stop_.reset();
    if (state_->abandon() && cancel_) cancel_();
  }

  /// Only if it has failed already, or there was nothing to do.
  bool await_ready() const noexcept { return state_->completion.has_value(); }

  void await_suspend(std::coroutine_handle<> coroutine) {
    state_->coroutine = coroutine;
    if (stop_.stop_possible() && cancel_) on_stop_.emplace(stop_, cancel_);
    // From the start on the coroutine may be resumed, and this object be gone.
    const Start start = std::move(start_);
    start([state = state_, dispatch = dispatch_](detail::Completion<Value> completion) {
      if (!state->complete(std::move(completion))) return;
      // Weak: the frame owns it, and an executor that has stopped may keep this task.
      dispatch([weak = std::weak_ptr{state}] {
        if (const auto self = weak.lock()) self->resume();
      });
    });
  }

  Result await_resume() {
    on_stop_.reset();
    detail::Completion<Value> completion = state_->take();
    if (completion.failure) std::rethrow_exception(completion.failure);
    return take_(std::move(completion.value));
  }

 private:
  /// Shared with the operation, which may end after the coroutine.
  struct State {
    std::mutex mutex;
    std::coroutine_handle<> coroutine;  // constant once started
    // guarded by mutex
    bool abandoned = false;
    bool resumed = false;
    std::optional<detail::Completion<Value>> completion;

    bool complete(detail::Completion<Value> value) {
      const std::lock_guard lock{mutex};
      if (abandoned) return false;  // what it carries is given back by its destructor
      completion.emplace(std::move(value));
      return true;
    }

    void resume() {
      {
        const std::lock_guard lock{mutex};
        if (abandoned) return;
        resumed = true;
      }
      coroutine.resume();
    }

    /// Returns whether something is still under way.
    bool abandon() {
      std::optional<detail::Completion<Value>> unused;  // destroyed with no lock held
      const std::lock_guard lock{mutex};
      abandoned = true;
      unused.swap(completion);
      return coroutine && !resumed;
    }

    /// Once it is complete.
    detail::Completion<Value> take() {
      const std::lock_guard lock{mutex};
      // NOLINTNEXTLINE(bugprone-unchecked-optional-access)
      detail::Completion<Value> taken = std::move(*completion);
      completion.reset();
      return taken;
    }
  };

  Start start_;
  std::function<void()> cancel_;
  detail::Dispatch dispatch_;
  std::stop_token stop_;
  const Take take_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

using LockAwaitable = Awaitable<LockResult, Lock>;
using TryLockAwaitable = Awaitable<LockResult>;
using UnlockAwaitable = Awaitable<bool>;
using OwnerAwaitable = Awaitable<MutexOwner>;

/// As `Client::lock`, without blocking: `co_await` gives the Lock or throws. Keep the Lock: what is
/// not kept is given back at once, and GCC does not warn of that in a `co_await`.
LockAwaitable lock_async(const Client& client, std::string name, LockOptions options = {},
                         std::stop_token stop = {});

/// As `Client::try_lock`, without blocking.
TryLockAwaitable try_lock_async(const Client& client, std::string name, LockOptions options = {},
                                std::stop_token stop = {});

/// Gives the lock back and waits for the store, without blocking: gives whether the store has
/// confirmed the release. The answer comes when the lease has ended, at the latest. If the
/// coroutine is destroyed meanwhile, the release goes on.
UnlockAwaitable unlock_async(Lock lock);

/// As `Client::owner`, without blocking.
OwnerAwaitable owner_async(const Client& client, std::string name);

}  // namespace simba
