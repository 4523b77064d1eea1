#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>

#include "core/statistics/meters.hpp"
#include "engine/alarms.hpp"
#include "engine/attachment.hpp"
#include "engine/contention_machine.hpp"
#include "engine/lease_parts.hpp"
#include "engine/mailbox.hpp"
#include "engine/succession.hpp"
#include "engine/traced_contention.hpp"
#include "simba/core/abstract_mutex_contend_service.hpp"
#include "simba/core/fork_guard.hpp"
#include "simba/core/mutex_contender.hpp"
#include "simba/core/owner_dispatcher.hpp"
#include "simba/core/ownership_signal.hpp"
#include "simba/core/runtime.hpp"
#include "simba/engine/lease_store.hpp"

namespace simba::engine {

/// Performs the actions of a `ContentionMachine` over a `LeaseStore`.
///
/// Threads: every function may be called from any thread. Steps and their actions happen one at a
/// time and in order (see `Mailbox`), on the thread that brought the event; no lock is held during
/// an action.
/// Lifetime: shared with answers under way, and with itself while it still gives a mutex back after
/// its service is gone; that ends with the lease, or with `give_up()`.
class LeaseContention : public std::enable_shared_from_this<LeaseContention> {
 public:
  /// `request` is used by nobody else, but for its names. `succession` is empty if no other ever
  /// contends under this id.
  LeaseContention(MutexContender& contender, std::shared_ptr<OwnerDispatcher> dispatcher,
                  std::shared_ptr<LeaseRequest> request, const LeaseParts& parts,
                  AfterLoss after_loss, std::shared_ptr<Succession> succession);

  ~LeaseContention();

  LeaseContention(const LeaseContention&) = delete;
  LeaseContention& operator=(const LeaseContention&) = delete;

  /// Throws Error (duplicate_id) if another contends for the mutex under the same id already, or
  /// is being stopped.
  void start();

  /// Lets the callbacks end while the lease is still kept, then gives the mutex back; waits for
  /// both within the limits of the plan.
  void stop();

  /// Where the loss signal of the ownership that a stop ends is fired.
  enum class SignalThread {
    caller,   ///< at once, before the store is told
    signals,  ///< on a thread of `Runtime::signals`; the release waits for it
  };

  /// Called once when a stop has ended. It is the last task of the dispatcher and may destroy the
  /// contender.
  using Stopped = OwnerDispatcher::Task;

  /// Like `stop()`, but waits for nothing. For contenders whose dispatcher has an inline executor
  /// and which do not start again. `stopped` is called when the release is confirmed or given up,
  /// at the latest when the lease has ended or by `give_up()`, perhaps inside this call.
  void stop_async(SignalThread thread, Stopped stopped);

  /// Whether the stop that has ended last was confirmed by the store: nothing is held.
  bool release_confirmed() const noexcept { return release_confirmed_.load(); }

  /// Another service may contend under the same id from now on. Only if nothing relies on the mutex
  /// any more. `stop()` does it itself, as does `stop_async` with the loss signal on its caller.
  void leave() {
    if (succession_) succession_->leave(*this);
  }

  /// Something may be due.
  void tick() { post(Tick{}); }

  /// Whoever relied on the mutex has given it up: stop callbacks that still run, now or later, hold
  /// nothing up, since one of them may wait for that.
  void holder_left();

  /// The stop under way does not give the mutex back; its lease runs out.
  void withhold();

  /// Tries no longer to give back what the store has not taken back yet.
  void give_up();

  bool is_owner() const noexcept;
  bool is_in_ttl() const noexcept;
  LocalTime lease_until() const noexcept;
  std::stop_token lost() const;
  bool signalling_in_this_thread() const noexcept { return signal_.firing_in_this_thread(); }
  FencingToken fencing_token() const noexcept { return fencing_token_.load(); }

  /// Why the last ownership was lost; empty: it was not. Set before the loss signal fires.
  std::optional<LossReason> loss() const noexcept {
    const int loss = loss_.load();
    return loss == no_loss ? std::nullopt : std::optional{static_cast<LossReason>(loss)};
  }

 private:
  friend class Mailbox<MachineEvent>;

  void post(MachineEvent event);
  void handle(const MachineEvent& event);
  void rest();
  void perform(Actions& actions);
  void count(const MachineEvent& event, const Actions& actions, LocalTime now);
  void trace(const MachineEvent& event, const Actions& actions) noexcept;
  void count_phase(const Actions& actions, LocalTime now);
  void count_notice(const Notice& notice, LocalTime now);
  void count_succession(LocalTime now);
  void count_waiting() noexcept;
  bool is_of_a_lock() const;
  std::string lease_left_text() const;
  void begin_ownership(const OwnerView& view);
  void fire_loss_signal();
  std::function<void()> watched(std::function<void()> fire) const;
  void end_firing(std::uint64_t firing);
  void observe(OwnerView view);
  void watch(Actions::Watching watching);
  void send(const Request& request);
  void hand_over(const Request& request, AnswerHandler handler);
  bool leave_to_successor(const Request& request);
  void tell(ContentionEvent event);
  void log_failure(const ContentionEvent& event);
  void log_staying_out(const Error& error);
  void log_recovery();
  void log_debug(std::string_view what);
  void let_go();
  void note_loss(const Actions& actions) noexcept;
  void finish(bool confirmed);

  // constant after construction
  MutexContender& contender_;
  // but for takes_over and waiting_since, which the handler of mailbox_ sets
  const std::shared_ptr<LeaseRequest> request_;
  const std::shared_ptr<OwnerDispatcher> dispatcher_;
  const std::shared_ptr<LeaseStore> store_;
  const std::shared_ptr<const Runtime> runtime_;
  const std::shared_ptr<const ContentionPlan> plan_;
  const std::shared_ptr<Succession> succession_;  // empty: it is alone
  const std::shared_ptr<Alarms> alarms_;
  detail::MutexMeter* const meter_;       // of the runtime; null: nothing is counted
  detail::RequestMeter* const requests_;  // the same
  const ForkGuard fork_guard_;

  Mailbox<MachineEvent> mailbox_;
  // touched by the handler of mailbox_ only
  ContentionMachine machine_;
  std::unique_ptr<Watch> watch_;
  Alarms::Alarm alarm_;               // since before the first event
  std::optional<ErrorKind> failing_;  // logged already
  ContentionMachine::Phase counted_ = ContentionMachine::Phase::idle;
  LocalTime counted_since_{};                 // when that phase began
  bool counted_waiting_ = false;              // among those that wait
  std::shared_ptr<TracedContention> traced_;  // empty: this one is not
  LocalTime free_at_ = never;     // when the lease of another ends; never: it was not seen
  LocalTime noticed_at_ = never;  // when it was noticed last that it has given up
  std::shared_ptr<LeaseContention> alive_;  // while something is left to give back

  std::atomic<bool> given_up_{false};
  std::atomic<bool> release_confirmed_{false};

  OwnershipSignal signal_;
  std::atomic<LocalTime> owned_until_{LocalTime::min()};
  std::atomic<LocalTime> in_ttl_until_{LocalTime::min()};
  std::atomic<LocalTime> lease_until_{LocalTime::min()};
  std::atomic<FencingToken> fencing_token_{0};
  static constexpr int no_loss = -1;
  std::atomic<int> loss_{no_loss};  // as a number: Clang has no atomic optional without libatomic

  mutable std::mutex mutex_;
  std::condition_variable settled_changed_;
  // guarded by mutex_
  bool settled_ = true;
  Stopped stopped_;  // of the asynchronous stop under way
  std::uint64_t firings_ = 0;
  std::uint64_t firing_ = 0;  // the loss signal that holds the callbacks; 0: none does
  bool holder_left_ = false;
  std::shared_ptr<TracedContention> starting_;  // of the start under way
};

/// The contend service of every store with leases.
class LeaseContendService final : public AbstractMutexContendService {
 public:
  LeaseContendService(MutexContender& contender, const ContendServiceOptions& options,
                      const LeaseParts& parts);
  ~LeaseContendService() override;

  bool is_owner() const noexcept override { return is_active(status()) && contention_->is_owner(); }
  bool is_in_ttl() const noexcept override {
    return is_active(status()) && contention_->is_in_ttl();
  }
  LocalTime lease_until() const noexcept override { return contention_->lease_until(); }
  void let_lease_run_out() override { contention_->withhold(); }
  std::stop_token lost() const override { return contention_->lost(); }
  FencingToken fencing_token() const noexcept override { return contention_->fencing_token(); }

 private:
  void start_contend() override { contention_->start(); }
  void stop_contend() override { contention_->stop(); }
  bool signalling_in_this_thread() const noexcept override {
    return contention_->signalling_in_this_thread();
  }

  const std::shared_ptr<Attachment> attachment_;
  const std::shared_ptr<LeaseContention> contention_;
};

}  // namespace simba::engine
