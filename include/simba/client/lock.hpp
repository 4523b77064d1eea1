#pragma once

#include <chrono>
#include <iosfwd>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "simba/client/contender_id.hpp"
#include "simba/client/span.hpp"
#include "simba/core/error.hpp"
#include "simba/core/time.hpp"

namespace simba {

namespace engine {
class LockOperation;
}  // namespace engine

namespace detail {
class ClientCore;
}  // namespace detail

/// How a lock is requested. A plain value that owns no memory.
struct LockOptions {
  /// How long to wait for it. Not set: `lock` waits forever, `try_lock` asks the store once. Zero
  /// also asks once. If negative, InvalidArgumentError is thrown.
  std::optional<Span> wait{};

  /// How long it may be held. At the end of this time `lost()` fires and `held()` is false. The
  /// lease is renewed until the lock is given back, but for no longer than the drain limit of the
  /// store's options; then it expires. It is never released while the Lock exists. Not set: no
  /// limit. If not positive, InvalidArgumentError is thrown.
  std::optional<Span> max_hold{};

  /// The contender id, which everyone sees as the owner. It must be unique among all that contend
  /// for this mutex. Empty: a globally unique one (`ContenderIdGenerator::unique()`).
  ContenderId id{};

  /// The ttl of this lock, instead of that of the store's options: how long others wait if this
  /// process crashes, and how long it keeps the lock while the store cannot be reached. The
  /// transition, which stays as configured, is added to both. Rounded up to milliseconds. Options
  /// that are derived from the ttl are derived from this one. InvalidArgumentError is thrown if it
  /// does not fit the other options, and Error of kind `unsupported` on a store with sessions, such
  /// as ZooKeeper.
  std::optional<Span> ttl{};

  friend bool operator==(const LockOptions&, const LockOptions&) = default;
};

/// What is set, e.g. "wait 10s, id a"; "defaults" if nothing is.
std::string to_string(const LockOptions& options);
std::ostream& operator<<(std::ostream& out, const LockOptions& options);

/// Why a lock or leadership has ended.
enum class Loss {
  expired,       ///< no renewal succeeded before the local deadline
  taken_over,    ///< the store reports another owner, or none
  revoked,       ///< the session with the store has ended
  duplicate_id,  ///< another process uses the same contender id
  max_hold,      ///< it was held for as long as `max_hold` allows
  given_up,      ///< by its holder: unlocked, stopped, or stepped down
};

/// E.g. "taken over".
std::string_view to_string(Loss loss) noexcept;
std::ostream& operator<<(std::ostream& out, Loss loss);

/// A lock that this object holds, or nothing.
///
/// Not guaranteed: that it is still held when the next line runs. A process can be paused at any
/// point. Pass `fencing_token()` to the protected resource, and watch `lost()`.
///
/// Threads: the const functions may be called from any thread at the same time; the others need the
/// same care as those of `std::unique_ptr`. Stop callbacks on `lost()` run on a thread of the
/// runtime, or within `unlock()` and the destructor.
/// Lifetime: the destructor gives the lock back, and never waits: it hands the release to the
/// client, which retries it until the lease ends. A Lock may outlive all clients. Then nobody waits
/// for its release when the program ends: call `unlock_confirmed()`.
/// Errors: a Lock that has nothing (default-constructed, moved from, unlocked) returns the values
/// given below for "without a lock".
class [[nodiscard]] Lock {
 public:
  Lock() noexcept = default;
  ~Lock();
  Lock(Lock&& other) noexcept = default;
  Lock& operator=(Lock&& other) noexcept;  ///< gives back what it had
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  /// Whether there is a lock to give back, held or lost. Does not read the clock: that is `held()`.
  explicit operator bool() const noexcept { return operation_ != nullptr; }

  /// True while it is held by the local deadline. Reads the clock: a process that was paused past
  /// its lease gets `false` as soon as it resumes.
  [[nodiscard]] bool held() const noexcept;

  /// Grows with every change of owner of the mutex and never repeats; 0 without a lock.
  [[nodiscard]] FencingToken fencing_token() const noexcept;

  /// Fires when the lock is no longer held: on a loss, before anyone else can hold it; at the end
  /// of `max_hold`; and when it is given back. Already fired without a lock, and if `held()` is
  /// false.
  [[nodiscard]] std::stop_token lost() const;

  /// Why it is no longer held; empty while it is, as far as anyone has noticed, and without a lock.
  [[nodiscard]] std::optional<Loss> loss() const noexcept;

  /// How long nobody else can hold it even if it is never renewed again; zero without a lock.
  [[nodiscard]] std::chrono::nanoseconds lease_left() const noexcept;

  /// The name of the mutex; empty without a lock.
  [[nodiscard]] const std::string& name() const noexcept;

  /// The contender id under which it is held; empty without a lock.
  [[nodiscard]] const std::string& owner_id() const noexcept;

  /// Asks the store who holds the mutex, and returns whether that is this lock, and it is still
  /// held by the local deadline. False without a lock. Blocks, for the request timeout at most.
  /// Throws Error if the store does not answer. Even `true` may be out of date: see above.
  [[nodiscard]] bool verify() const;

  /// Gives the lock back and does not wait: afterwards it has none. Does nothing without a lock.
  void unlock() noexcept;

  /// The same, and waits for the store, for the release wait of its options at most. Returns
  /// whether the store has confirmed that it is released. If not, the release is retried in the
  /// background, and the lease ends at the latest when it would have ended anyway. True without a
  /// lock.
  bool unlock_confirmed();

 private:
  friend class detail::ClientCore;

  explicit Lock(std::shared_ptr<engine::LockOperation> operation) noexcept
      : operation_{std::move(operation)} {}

  std::shared_ptr<engine::LockOperation> operation_;
};

/// What came of a request for a lock that may fail.
enum class LockOutcome {
  held,       ///< the lock is held
  busy,       ///< the store was asked once, and somebody else holds it
  timed_out,  ///< not held within `LockOptions::wait`
  cancelled,  ///< a stop was requested first
};

/// E.g. "timed out".
std::string_view to_string(LockOutcome outcome) noexcept;
std::ostream& operator<<(std::ostream& out, LockOutcome outcome);

/// A lock, or why there is none. Used like a pointer to the lock.
class [[nodiscard]] LockResult {
 public:
  /// No lock: `LockOutcome::cancelled`.
  LockResult() noexcept = default;

  /// Whether there is a lock: `outcome() == LockOutcome::held`.
  explicit operator bool() const noexcept { return static_cast<bool>(lock_); }

  [[nodiscard]] LockOutcome outcome() const noexcept { return outcome_; }

  /// Who holds the mutex instead, if known; else empty.
  [[nodiscard]] const std::string& holder() const noexcept { return holder_; }

  /// The lock, which has nothing if `outcome()` is not `held`.
  Lock& operator*() & noexcept { return lock_; }
  const Lock& operator*() const& noexcept { return lock_; }
  Lock&& operator*() && noexcept { return std::move(lock_); }
  Lock* operator->() noexcept { return &lock_; }
  const Lock* operator->() const noexcept { return &lock_; }

 private:
  friend class detail::ClientCore;

  LockResult(Lock lock, LockOutcome outcome, std::string holder) noexcept
      : lock_{std::move(lock)}, outcome_{outcome}, holder_{std::move(holder)} {}

  Lock lock_;
  LockOutcome outcome_ = LockOutcome::cancelled;
  std::string holder_;
};

/// `lock` was told to stop waiting. Of kind `illegal_state`.
class CancelledError : public Error {
 public:
  explicit CancelledError(const std::string& message);
};

}  // namespace simba
