#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "simba/core/error.hpp"
#include "simba/core/fork_guard.hpp"

namespace simba::engine {

/// What a store has only while someone is attached to it, such as connections and their threads:
/// the first user opens it, the last one closes it by `T::close()`.
///
/// - If opening throws, nobody was attached.
/// - No lock is held while it closes: requests fail meanwhile, and whoever attaches opens
///   another.
/// - In a forked child nobody attaches or closes, requests fail, and what is open is leaked: its
///   threads, connections and locks are the parent's.
///
/// Threads: every function may be called from any thread at the same time; the last user may leave
/// inside a handler of what it closes.
template <class T>
class OpenWhileAttached {
 public:
  /// `store` names the store in errors, e.g. "Redis".
  explicit OpenWhileAttached(std::string store) : store_{std::move(store)} {}
  ~OpenWhileAttached() {
    if (value_ && fork_guard_.in_child()) detail::leak(value_);
  }
  OpenWhileAttached(const OpenWhileAttached&) = delete;
  OpenWhileAttached& operator=(const OpenWhileAttached&) = delete;

  /// As LeaseStore::attach(). What it returns holds `owner`, of which this is a part. `open`
  /// returns a std::shared_ptr<T>.
  template <class Open>
  std::shared_ptr<void> attach(std::shared_ptr<void> owner, const Open& open) {
    if (fork_guard_.in_child()) return nullptr;
    {
      const std::lock_guard lock{mutex_};
      if (users_ == 0) value_ = open();
      ++users_;
    }
    void* const user = owner.get();
    return {user, [this, held = std::move(owner)](void*) { detach(); }};
  }

  /// Throws Error (unavailable) while nobody is attached, and in a forked child.
  std::shared_ptr<T> get() const {
    if (fork_guard_.in_child()) {
      throw Error{
          ErrorKind::unavailable,
          "this " + store_ + " store belongs to the parent process; create a new one after fork()"};
    }
    const std::lock_guard lock{mutex_};
    if (!value_) throw Error{ErrorKind::unavailable, "the " + store_ + " store is closed"};
    return value_;
  }

 private:
  void detach() noexcept {
    if (fork_guard_.in_child()) return;
    std::shared_ptr<T> last;
    {
      const std::lock_guard lock{mutex_};
      if (--users_ == 0) last = std::move(value_);
    }
    if (last) last->close();
  }

  const std::string store_;
  const ForkGuard fork_guard_;

  mutable std::mutex mutex_;
  // guarded by mutex_
  std::shared_ptr<T> value_;
  std::size_t users_ = 0;
};

}  // namespace simba::engine
