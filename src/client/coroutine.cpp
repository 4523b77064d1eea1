#include "simba/client/coroutine.hpp"

#include <type_traits>
#include <utility>

namespace simba {

namespace {

template <class T>
T same(std::type_identity_t<T>&& value) {
  return std::move(value);
}

Lock lock_of(LockResult&& result) { return *std::move(result); }

template <class Result>
Awaitable<LockResult, Result> await_lock(detail::PreparedLock prepared, std::stop_token stop,
                                         typename Awaitable<LockResult, Result>::Take take) {
  if (prepared.failure) return {{}, {}, {}, {}, prepared.failure, take};
  return {[prepared](detail::Handler<LockResult> handler) { prepared.start(std::move(handler)); },
          [prepared] { prepared.cancel(); },
          prepared.dispatch(),
          std::move(stop),
          {},
          take};
}

}  // namespace

LockAwaitable lock_async(const Client& client, std::string name, LockOptions options,
                         std::stop_token stop) {
  return await_lock<Lock>(
      detail::prepare_lock(client, detail::LockCall::lock, std::move(name), std::move(options)),
      std::move(stop), &lock_of);
}

TryLockAwaitable try_lock_async(const Client& client, std::string name, LockOptions options,
                                std::stop_token stop) {
  return await_lock<LockResult>(
      detail::prepare_lock(client, detail::LockCall::try_lock, std::move(name), std::move(options)),
      std::move(stop), &same<LockResult>);
}

UnlockAwaitable unlock_async(Lock lock) {
  if (!lock) return {{}, {}, {}, {}, {}, &same<bool>, true};
  detail::Dispatch dispatch = detail::dispatch_of(lock);
  const auto held = std::make_shared<Lock>(std::move(lock));
  return {[held](detail::Handler<bool> handler) {
            detail::start_unlock(std::move(*held), [handler = std::move(handler)](bool confirmed) {
              handler({.value = confirmed});
            });
          },
          {},
          std::move(dispatch),
          {},
          {},
          &same<bool>};
}

OwnerAwaitable owner_async(const Client& client, std::string name) {
  detail::Dispatch dispatch;
  try {
    dispatch = detail::dispatch_of(client, name);
  } catch (...) {
    return {{}, {}, {}, {}, std::current_exception(), &same<MutexOwner>};
  }
  return {[client, name = std::move(name)](detail::Handler<MutexOwner> handler) {
            detail::start_owner(client, name, std::move(handler));
          },
          {},
          std::move(dispatch),
          {},
          {},
          &same<MutexOwner>};
}

}  // namespace simba
