#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

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
/// Threads: every function may be called from any thread; no lock is held while the work, the hooks
/// and the signals of users are called.
/// Lifetime: shared between the scheduler, its runs and its hooks, so that one that does not end in
/// time, or that destroys the scheduler, finds everything in its place.
class AbstractScheduler::Impl final : public AbstractMutexContender,
                                      public std::enable_shared_from_this<Impl> {
 public:
  static std::shared_ptr<Impl> make(std::string mutex, MutexContendServiceFactory& factory,
                                    ScheduleConfig config, Work work, SchedulerOptions options,
                                    Hooks hooks = Hooks::may_block);

  /// For `make`.
  Impl(std::string mutex, MutexContendServiceFactory& factory, ScheduleConfig config, Work work,
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
  void call_work(std::stop_token stop) noexcept;
  bool in_work() const noexcept { return runner_ == std::this_thread::get_id(); }

  // constant after construction
  const ForkGuard fork_guard_;
  const std::shared_ptr<const Runtime> runtime_;
  const ScheduleConfig config_;
  const Work work_;
  const std::shared_ptr<detail::WorkGate> gate_;
  const decltype(SchedulerOptions::on_state) on_state_;
  const decltype(SchedulerOptions::on_event) on_event_;
  const std::shared_ptr<Executor> executor_;
  const std::unique_ptr<DelayMonitor::Line> line_;  // where the runtime has a monitor

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // guarded by mutex_
  Phase phase_ = Phase::idle;
  bool stop_due_ = false;      // the work has called stop(), or a loss signal: done after it
  std::thread::id stopper_{};  // while stopping
  bool leading_ = false;
  std::uint64_t term_ = 0;   // a run of another term counts for nothing
  std::stop_token lost_;     // of this term
  LocalTime first_ = never;  // when the first run of this term is, or was, due
  LocalTime due_ = never;    // what the timer is armed for
  Cron::Time slot_{};        // of a wall clock schedule: the next time of its expression,
  Cron::Time last_slot_ = Cron::Time::min();  // and that of the last run, of whichever term
  std::thread::id runner_{};                  // while the work runs
  std::stop_source stop_work_{std::nostopstate};
  std::unique_ptr<Timer> timer_;

  // The last, so that it is closed while everything that it calls is there.
  const std::unique_ptr<MutexContendService> service_;
};

}  // namespace simba
