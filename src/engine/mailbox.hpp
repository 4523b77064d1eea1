#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "simba/core/waiter.hpp"

namespace simba::engine {

/// Hands events to a handler one at a time and in order, on the thread that posts them: whoever
/// posts first handles what others post meanwhile. No lock is held during a handler, and a handler
/// may post.
///
/// A handler has `handle(const Event&)`, and `rest()`, called when nothing is left to handle, for
/// what need not be done after every single event. Both must not throw, and never run at the same
/// time. All callers pass the same handler.
///
/// Threads: every function may be called from any thread.
template <class Event>
class Mailbox {
 public:
  /// Says whether this call has handled the event, and all that came meanwhile. If not, the thread
  /// that is in a handler now does it later.
  template <class Handler>
  bool post(Event event, Handler& handler) {
    std::unique_lock lock{mutex_};
    return run(lock, std::move(event), handler);
  }

  /// Also waits, at most until `deadline`, until the event has been handled, perhaps by another
  /// thread. Does not wait inside a handler: the event comes after it then.
  template <class Handler>
  void post_and_wait(Event event, Handler& handler, Waiter& waiter, LocalTime deadline) {
    std::unique_lock lock{mutex_};
    const std::uint64_t ticket = posted_ + 1;
    run(lock, std::move(event), handler);
    if (runner_ == std::this_thread::get_id()) return;
    waiter.wait_until(lock, handled_changed_, deadline, [&] { return handled_ >= ticket; });
  }

  /// Whether this thread is in a handler now.
  bool handling_in_this_thread() const {
    const std::lock_guard lock{mutex_};
    return runner_ == std::this_thread::get_id();
  }

 private:
  template <class Handler>
  bool run(std::unique_lock<std::mutex>& lock, Event event, Handler& handler) {
    ++posted_;
    if (runner_ != std::thread::id{}) {
      if (*next_ || !events_.empty()) {
        events_.push_back(std::move(event));
      } else {
        *next_ = std::move(event);
      }
      return false;
    }
    runner_ = std::this_thread::get_id();
    std::optional<Event> now{std::move(event)};
    std::optional<Event> next;
    // cppcheck-suppress danglingLifetime ; used while there is a runner
    next_ = &next;
    while (now) {
      lock.unlock();
      // NOLINTNEXTLINE(bugprone-unchecked-optional-access): the loop ends where there is none
      handler.handle(*now);
      now.reset();  // without the lock: an event may be the last to hold what posts at its end
      lock.lock();
      if (!next && events_.empty()) {
        lock.unlock();
        handler.rest();
        lock.lock();
      }
      ++handled_;
      handled_changed_.notify_all();
      if (!next && !events_.empty()) {
        next = std::move(events_.front());
        events_.pop_front();
      }
      now.swap(next);
    }
    runner_ = std::thread::id{};
    next_ = nullptr;
    return true;
  }

  mutable std::mutex mutex_;
  std::condition_variable handled_changed_;
  // guarded by mutex_
  std::thread::id runner_{};
  std::optional<Event>* next_ =
      nullptr;               // of the runner: mostly there is one, which needs no queue
  std::list<Event> events_;  // after that
  std::uint64_t posted_ = 0;
  std::uint64_t handled_ = 0;
};

}  // namespace simba::engine
