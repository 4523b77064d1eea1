#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "schedule/slot_machine.hpp"
#include "schedule/work_gate.hpp"
#include "simba/core/abstract_mutex_contender.hpp"
#include "simba/core/fork_guard.hpp"
#include "simba/core/runtime.hpp"
#include "simba/schedule/abstract_scheduler.hpp"
#include "simba/schedule/schedule_config.hpp"

namespace simba::detail {

/// `moment + span`, or `never` where that does not fit. `span` is not negative.
LocalTime later(LocalTime moment, std::chrono::nanoseconds span) noexcept;

/// When the run after one that ended `now` is due. `first` is when the first one was.
LocalTime next_run(const ScheduleConfig& config, LocalTime first, LocalTime now) noexcept;

}  // namespace simba::detail

namespace simba {

/// The contender of a scheduler, and its clockwork. While it leads (a term), a timer is armed for
/// the next run, or that run is queued, or it runs.
///
/// With shared slots a machine decides instead when runs begin. It acts only inside the gate, and
/// stays there from the request that begins a slot until it is recorded how the run ended, or the
/// lease is over; so the mutex is not given back in between. Hooks are told of slots inside the
/// gate, too, like work.
///
/// Threads: every function may be called from any thread; no lock is held while the work, the hooks
/// and the signals of users are called.
/// Lifetime: shared between the scheduler, its runs and its hooks, so that one that does not end in
/// time, or that destroys the scheduler, finds everything in its place.
class AbstractScheduler::Impl final : public AbstractMutexContender,
                                      public std::enable_shared_from_this<Impl> {
 public:
  using RunWork = simba::Work;

  static std::shared_ptr<Impl> make(std::string mutex, MutexContendServiceFactory& factory,
                                    ScheduleConfig config, RunWork work, SchedulerOptions options,
                                    Hooks hooks = Hooks::may_block);

  /// For `make`.
  Impl(std::string mutex, MutexContendServiceFactory& factory, ScheduleConfig config, RunWork work,
       SchedulerOptions options, Hooks hooks);

  void start();
  void stop();
  void close() noexcept;

  bool running() const noexcept;
  bool in_forked_child() const noexcept { return fork_guard_.in_child(); }
  const MutexContendService& service() const noexcept { return *service_; }

  void notify_owner(const MutexState& state) override;
  void on_event(const ContentionEvent& event) override;
  void on_acquired(const MutexState& state) override;
  void on_released(const MutexState& state) override;

 private:
  using Lock = std::unique_lock<std::mutex>;

  enum class Phase { idle, starting, started, stopping };

  void stop_from_work(Lock lock) noexcept;
  void stop_if_due() noexcept;
  bool in_signal_while_stopping() const noexcept;
  bool claim_stop() noexcept;
  void begin_stop(Lock& lock) noexcept;
  void stop_later() noexcept;
  void end_stop() noexcept;
  std::string refusal() const;

  template <typename Hook, typename News>
  void tell(const Hook& hook, const News& news) noexcept;
  void end_term();
  void arm(LocalTime due);
  void arm_next(std::uint64_t term);
  void arm_for_slot(const Cron& cron);
  bool slot_is_due() const noexcept;
  void on_due();
  void submit(std::uint64_t term);
  void hand_over(std::uint64_t term);
  bool over(std::uint64_t term) noexcept;
  void run(std::uint64_t term);
  detail::RunEnd call_work(FencingToken token, std::stop_token stop,
                           std::optional<Slot> slot) noexcept;

  void on_loss() noexcept;
  void on_answer(std::uint64_t request, RecordResult result);
  void send(const detail::SlotMachine::Request& request) noexcept;
  void pump_slots();
  void slots_interrupted(Lock& lock) noexcept;
  bool step_slots(Lock& lock);
  void carry_out(detail::SlotMachine::Actions actions, Lock& lock);
  void arm_slots();
  void tell_later();
  void tell_slots() noexcept;
  void submit_slot(std::uint64_t run);
  void hand_over_slot(std::uint64_t run);
  void reject_slot(std::uint64_t run);
  void run_slot(std::uint64_t run);

  bool in_work() const noexcept { return runner_ == std::this_thread::get_id(); }

  // constant after construction
  const ForkGuard fork_guard_;
  const std::shared_ptr<const Runtime> runtime_;
  const ScheduleConfig config_;
  const RunWork work_;
  const std::shared_ptr<Executor> callbacks_;  // calls hooks that may block
  const std::shared_ptr<detail::WorkGate> gate_;
  const decltype(SchedulerOptions::on_state) on_state_;
  const decltype(SchedulerOptions::on_event) on_event_;
  const std::shared_ptr<Executor> executor_;
  const std::unique_ptr<DelayMonitor::Line> line_;  // where the runtime has a monitor
  const decltype(SchedulerOptions::on_slot) on_slot_;
  const std::shared_ptr<MutexRecords> records_;  // with shared slots

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // guarded by mutex_
  Phase phase_ = Phase::idle;
  bool stop_due_ = false;      // the work has called stop(), or a loss signal: done after it
  std::thread::id stopper_{};  // while stopping
  bool leading_ = false;
  std::uint64_t term_ = 0;   // a run of another term counts for nothing
  FencingToken token_ = 0;   // of this term
  std::stop_token lost_;     // the same
  LocalTime first_ = never;  // when the first run of this term is, or was, due
  LocalTime due_ = never;    // what the timer is armed for
  Cron::Time slot_{};        // of a wall clock schedule: the next time of its expression,
  Cron::Time last_slot_ = Cron::Time::min();      // and that of the last run, of whichever term
  std::thread::id runner_{};                      // while the work runs, or `on_slot_`
  std::stop_source stop_work_{std::nostopstate};  // of the work, or of the slot that has begun
  std::unique_ptr<Timer> timer_;

  // guarded by mutex_, with shared slots
  const std::unique_ptr<detail::SlotMachine> slots_;
  std::deque<std::pair<std::uint64_t, RecordResult>> answers_;
  bool pumping_ = false;     // a thread lets the machine act,
  bool pump_again_ = false;  // and there is more for it to do
  bool inside_ = false;      // the gate
  bool waits_for_gate_ = false;
  std::vector<SlotEvent> untold_;
  bool telling_ = false;
  std::optional<Slot> begun_;  // to be handed over, or handed over, or run
  std::uint64_t handed_ = 0;   // the run that waits for a thread; 0: none does
  std::uint64_t runs_ = 0;

  // used by callbacks of the service, which come one at a time
  std::optional<std::stop_callback<std::function<void()>>> loss_callback_;

  // The last, so that it is closed while everything that it calls is there.
  const std::unique_ptr<MutexContendService> service_;
};

}  // namespace simba
