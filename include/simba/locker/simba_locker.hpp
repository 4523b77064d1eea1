#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

#include "simba/core/mutex_service_factory.hpp"
#include "simba/core/saturated.hpp"
#include "simba/locker/locker.hpp"

namespace simba {

/// A blocking, RAII lock over any store; also a standard TimedLockable, so `std::unique_lock` and
/// `std::scoped_lock` work with it.
///
/// Not guaranteed: that the lock is still held when the next line runs. A process can be paused at
/// any point. Pass `fencing_token()` to the protected resource, and watch `lost()`.
///
/// If another process uses the same contender id, whichever of the two notices first loses the
/// lock, and every further acquire of that instance throws Error (duplicate_id).
///
/// Threads: `close()`, `unlock()` and the queries may be called from any thread. An instance is one
/// lock: a second acquire, from any thread, throws until `close()`. Neither construction nor
/// acquiring starts a thread. Lifetime: the destructor closes. The factory may be destroyed first.
class SimbaLocker final : public Locker {
 public:
  /// Throws InvalidArgumentError if the store does not accept the names. The default contender id
  /// is globally unique (`ContenderIdGenerator::unique()`).
  SimbaLocker(std::string mutex, MutexContendServiceFactory& factory);
  SimbaLocker(std::string mutex, MutexContendServiceFactory& factory, std::string contender_id);
  ~SimbaLocker() override;

  SimbaLocker(const SimbaLocker&) = delete;
  SimbaLocker& operator=(const SimbaLocker&) = delete;

  void acquire() override;
  void acquire(std::chrono::nanoseconds timeout) override;
  [[nodiscard]] bool try_acquire() override;
  [[nodiscard]] bool try_acquire(std::stop_token stop) override;
  void close() noexcept override;

  /// Takes any other duration. One that does not fit is the longest wait; a negative one, no wait.
  template <class Rep, class Period>
  void acquire(const std::chrono::duration<Rep, Period>& timeout) {
    acquire(to_nanoseconds(timeout));
  }

  /// True while the lock is held according to its local deadline.
  [[nodiscard]] bool is_held() const noexcept;

  /// How long nobody else can hold the lock even if it is never renewed again; zero while it is not
  /// held.
  [[nodiscard]] std::chrono::nanoseconds lease_left() const noexcept;

  [[nodiscard]] FencingToken fencing_token() const noexcept override;
  [[nodiscard]] std::stop_token lost() const override;

  [[nodiscard]] const std::string& mutex() const noexcept;
  [[nodiscard]] const std::string& contender_id() const noexcept;

  // The names of the standard library.
  void lock() { acquire(); }
  [[nodiscard]] bool try_lock() { return try_acquire(); }
  void unlock() noexcept { close(); }

  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& timeout) {
    return acquire_for(to_nanoseconds(timeout));
  }

  template <class TimePointClock, class Duration>
  [[nodiscard]] bool try_lock_until(
      const std::chrono::time_point<TimePointClock, Duration>& deadline) {
    const auto now = TimePointClock::now();
    return deadline > now ? try_lock_for(deadline - now) : try_acquire();
  }

 private:
  class Impl;

  bool acquire_for(std::chrono::nanoseconds timeout);

  /// No less than zero.
  template <class Rep, class Period>
  static std::chrono::nanoseconds to_nanoseconds(const std::chrono::duration<Rep, Period>& span) {
    return std::max(detail::saturated(span), std::chrono::nanoseconds::zero());
  }

  std::unique_ptr<Impl> impl_;
};

}  // namespace simba
