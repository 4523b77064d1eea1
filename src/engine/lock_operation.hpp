#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/attachment.hpp"
#include "engine/joint_block.hpp"
#include "engine/lease_contention.hpp"
#include "engine/lease_parts.hpp"
#include "simba/core/error.hpp"
#include "simba/core/mutex_contender.hpp"
#include "simba/core/runtime.hpp"
#include "simba/core/small_function.hpp"

namespace simba::engine {

class LockOperation;

/// A lock that is wanted.
struct LockRequest {
  enum class WaitMode { until_held, ask_once };

  std::string mutex;
  std::string contender_id;
  WaitMode wait_mode = WaitMode::until_held;
  LocalTime deadline = never;  ///< for `until_held`
  std::optional<std::chrono::nanoseconds> max_hold{};
  std::shared_ptr<const ContentionPlan> plan{};  ///< empty: that of the factory
  bool own_id = false;                           ///< made for this lock: nobody else has it
};

/// What came of it.
struct LockAnswer {
  enum class Outcome { held, busy, timed_out, cancelled, failed };

  Outcome outcome = Outcome::held;
  std::string holder{};          ///< who holds it instead, where known
  std::optional<Error> error{};  ///< of `failed`; else the newest that the store gave, if any
  std::exception_ptr thrown{};   ///< of `failed`, instead of `error`: why the store was not asked
};

/// The lock operations of one client that wait, or that are being given back.
///
/// Threads: every function may be called from any thread at the same time.
/// Lifetime: shared by the client and its operations.
class LockOperations : public std::enable_shared_from_this<LockOperations> {
 public:
  /// `executor` runs what `dispatch` is given; empty: `Runtime::callbacks`.
  explicit LockOperations(LeaseParts parts, std::shared_ptr<Executor> executor = {});

  /// Throws InvalidArgumentError if the store does not accept the names, IllegalStateError if
  /// closed, and Error (duplicate_id) if it was found that another process uses the contender id
  /// for the mutex: to go on would be to take turns with it.
  std::shared_ptr<LockOperation> make(LockRequest request);

  /// Ends every wait with an error and makes no more. What is being given back is waited for, up
  /// to the release wait of the plan, and then left to run out. Not waited for, and not left, is
  /// what is signalling its end in this thread, which must go on first. Held locks stay as they
  /// are.
  void close() noexcept;

  /// With the attachment as long as this is not closed.
  LeaseParts parts() const;

  const Runtime& runtime() const noexcept { return *parts_.runtime; }

  /// Runs `task`, which may be code of the user, on the executor, never inside the call. `who`
  /// identifies it in the log if it has to wait. The runtime lives until the executor has it.
  void dispatch(std::string who, std::function<void()> task) const;

 private:
  friend class LockOperation;

  std::shared_ptr<DelayMonitor::Line> make_line(std::string who) const;
  void bar(const std::string& mutex, const std::string& contender_id);
  bool is_barred(const LockRequest& request) const;
  void enter(LockOperation& operation);
  void enter_again(LockOperation& operation) noexcept;
  void add(LockOperation& operation);
  void leave(LockOperation& operation) noexcept;
  std::vector<std::shared_ptr<LockOperation>> open() const;

  // constant after construction
  const LeaseParts parts_;  // without the attachment
  const std::shared_ptr<Executor> executor_;
  const std::shared_ptr<Executor> inline_;
  const ForkGuard fork_guard_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // guarded by mutex_
  std::shared_ptr<Attachment> attachment_;  // empty: closed
  std::vector<LockOperation*> open_;        // each at its `place_`, and alive until it leaves
  std::deque<std::pair<std::string, std::string>> barred_;  // mutexes and ids, the newest last
};

/// One lock, from the request to its end: a contender over a `LeaseContention` of its own, with no
/// thread and no blocking call. Everything that waits for a lock stands on it.
///
/// ```
///             granted            unlock               confirmed, or the lease is over
///   waiting ----------> held ------------> unlocking ---------------------------------> released
///      |                  | max_hold           ^  ^
///      |                  +------> overdue ----+  |
///      +------------------------------------------+
///          timed out, cancelled, busy, refused, closed
/// ```
///
/// Which of two that happen at once (a grant, the deadline, a cancellation, the client's end)
/// counts is decided once, under `mutex_`, by who leaves `waiting`. A grant that comes later finds
/// a contention that has been stopped, and is given back by it.
///
/// Threads: every function may be called from any thread. Handlers are called with no lock held, on
/// the thread at hand, which may be that of a timer or a store, or inside the call: they only pass
/// the news on. Lifetime: shared; keeps itself alive while it waits or is being given back.
class LockOperation final : public MutexContender,
                            public std::enable_shared_from_this<LockOperation> {
 public:
  using Answered =
      detail::SmallFunction<void(const std::shared_ptr<LockOperation>& operation, LockAnswer)>;
  using Ended = detail::SmallFunction<void(bool confirmed)>;

  /// Its parts are made in `block`, as it is itself.
  LockOperation(std::shared_ptr<LockOperations> all, LockRequest request, JointBlock& block);
  ~LockOperation() override;
  LockOperation(const LockOperation&) = delete;
  LockOperation& operator=(const LockOperation&) = delete;

  /// Asks the store. `answered` is called exactly once: also, inside this call, if it cannot be
  /// asked, since another one contends under the same id (Error, duplicate_id), or the client was
  /// closed.
  void start(Answered answered);

  /// Ends the wait, if it still waits. The answer comes within this call, or within `start()` if
  /// that has not returned yet, even if it has not been called.
  void cancel();

  /// Gives the lock back. `ended` is told when the store knows, or never will: at the latest when
  /// the lease has ended. Only once, and only if the answer was `held`.
  void unlock(Ended ended);

  /// No longer waits for the store to confirm the release.
  void abandon() noexcept;

  /// True while the lock is held by its local deadline and neither unlocked nor overdue.
  bool held() const noexcept;

  std::chrono::nanoseconds lease_left() const noexcept;
  FencingToken fencing_token() const noexcept { return contention_->fencing_token(); }

  /// Fires when the lock is no longer held, for whatever reason; has fired if it is not.
  std::stop_token lost() const;

  /// Why the store's side of it was lost; empty: it was not.
  std::optional<LossReason> loss() const noexcept { return contention_->loss(); }

  /// Whether `max_hold` has ended it.
  bool overdue() const noexcept { return overdue_.load(); }

  /// With the plan of this lock and, until it is released, with the attachment.
  LeaseParts parts() const;

  bool in_forked_child() const noexcept { return fork_guard_.in_child(); }

  const LockOperations& all() const noexcept { return *all_; }

  /// Has the names of both, and may outlive it.
  std::shared_ptr<const LeaseRequest> names() const noexcept { return names_; }

  // MutexContender
  const std::string& mutex() const noexcept override { return names_->mutex; }
  const std::string& contender_id() const noexcept override { return names_->contender_id; }
  void on_acquired(const MutexState& /*state*/) override {}
  void on_released(const MutexState& /*state*/) override {}
  void notify_owner(const MutexState& state) override;
  void on_event(const ContentionEvent& event) override;

 private:
  friend class LockOperations;

  enum class State { waiting, held, overdue, unlocking, released };

  void close();
  bool calls_us() const noexcept { return signals_in_ == std::this_thread::get_id(); }
  void end_wait(LockAnswer answer);
  void answer(LockAnswer answer);
  void tick();
  void arm(LocalTime due);
  void stop_contention(LeaseContention::SignalThread thread);
  void end();

  static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

  // constant after construction
  const std::shared_ptr<LockOperations> all_;
  const std::shared_ptr<LeaseRequest> names_;
  const LockRequest::WaitMode wait_mode_;
  const LocalTime deadline_;
  const std::optional<std::chrono::nanoseconds> max_hold_;
  const std::shared_ptr<const ContentionPlan> plan_;
  const ForkGuard fork_guard_;
  const std::shared_ptr<OwnerDispatcher> dispatcher_;
  const std::shared_ptr<LeaseContention> contention_;

  std::stop_token lost_;                      // set before the answer `held`, constant from then on
  std::atomic<State> state_{State::waiting};  // written under mutex_
  std::atomic<bool> overdue_{false};          // written under mutex_
  std::atomic<std::thread::id> signals_in_{};  // the thread of an unlock() that fires lost()

  std::size_t place_ = nowhere;  // among the open ones of all_; guarded by the mutex of that

  mutable std::mutex mutex_;
  // guarded by mutex_
  Answered answered_;
  Ended ended_;
  bool starting_ = true;                // the contention has not begun: it cannot be stopped yet
  std::optional<LockAnswer> deferred_;  // what ended the wait meanwhile
  std::string holder_;                  // somebody else, maybe under our id
  std::optional<Error> last_error_;     // the newest that the store gave instead of an answer
  std::unique_ptr<Timer> timer_;        // of the deadline, later of max_hold
  LocalTime due_ = never;
  bool confirmed_ = false;                  // once released
  std::shared_ptr<Attachment> attachment_;  // until released
  std::shared_ptr<LockOperation> alive_;    // while it waits or is being given back
};

/// The owner of a mutex, or why it is not known.
struct OwnerAnswer {
  MutexOwner owner{};
  std::optional<Error> error{};
};
using OwnerAnswered = std::function<void(OwnerAnswer)>;

/// One look at the owner of a mutex. `answered` is called exactly once, on any thread, perhaps
/// inside the call, with an error of kind `timeout` if the store does not answer in time. Throws
/// InvalidArgumentError if the store does not accept the name.
void retrieve_owner(LeaseParts parts, const std::string& mutex, OwnerAnswered answered);

}  // namespace simba::engine
