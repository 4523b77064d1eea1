#include "core/threads/timers.hpp"

#include <cstdint>
#include <mutex>
#include <utility>

#include "core/fork/leaked_in_child.hpp"
#include "core/threads/event_loop.hpp"
#include "simba/core/error.hpp"

namespace simba::detail {
namespace {

/// What a timer shares with the wait that Asio has of it.
///
/// Lazy: a wait that is due no later than what is wanted is left alone; when it is over it looks
/// what is wanted by then. So a lock that is taken and given back ten thousand times a second, each
/// time with an alarm seconds ahead, costs one wake-up every few seconds and no system call.
class TimerState {
 public:
  TimerState(EventLoop& loop, std::function<void()> on_due)
      : loop_{loop}, on_due_{std::move(on_due)}, timer_{loop.io().get_executor()} {}

  /// `self` is this object. Passed on rather than kept: there may be many thousands of timers.
  void arm(const std::shared_ptr<TimerState>& self, LocalTime due) {
    const std::lock_guard lock{mutex_};
    wanted_ = due;
    if (wanted_ < waiting_until_) wait(self);
  }

  /// Gives the memory back now instead of when the wait is over.
  void close() {
    const std::lock_guard lock{mutex_};
    wanted_ = never;
    ++wait_id_;
    timer_.cancel();
  }

 private:
  /// Begins a wait until `wanted_` in place of the present one. With mutex_ held.
  void wait(const std::shared_ptr<TimerState>& self) {
    waiting_until_ = never;
    // A wait that is over but has not been heard yet cannot be cancelled: it is told by its id.
    const auto id = ++wait_id_;
    timer_.expires_at(wanted_);
    timer_.async_wait([self, id](const auto&) { self->waited(self, id); });
    waiting_until_ = wanted_;
  }

  void waited(const std::shared_ptr<TimerState>& self, std::uint64_t id) {
    loop_.leave_in_child();
    {
      const std::lock_guard lock{mutex_};
      if (id != wait_id_) return;
      waiting_until_ = never;
      if (wanted_ == never) return;
      if (wanted_ > BootClock::now()) {
        wait(self);
        return;
      }
      wanted_ = never;
    }
    on_due_();
  }

  // constant after construction
  EventLoop& loop_;
  const std::function<void()> on_due_;

  std::mutex mutex_;
  // guarded by mutex_
  LocalTime wanted_ = never;
  LocalTime waiting_until_ = never;  // never: no wait under way
  std::uint64_t wait_id_ = 0;
  BootTimer timer_;
};

class AsioTimers final : public TimerService, public std::enable_shared_from_this<AsioTimers> {
 public:
  AsioTimers(std::shared_ptr<const ThreadGroup> group, std::shared_ptr<Logger> log)
      : thread_{"simba-timer", "a timer callback threw", std::move(group), std::move(log)} {}

  std::unique_ptr<Timer> create(std::function<void()> on_due) override;

  bool in_forked_child() const noexcept { return thread_.in_forked_child(); }

 private:
  LoopThread thread_;
};

class AsioTimer final : public Timer {
 public:
  AsioTimer(std::shared_ptr<AsioTimers> timers, std::shared_ptr<TimerState> state)
      : parts_{std::move(timers), std::move(state)} {}

  void arm(LocalTime due) override {
    if (!parts_->in_forked_child()) parts_->state->arm(parts_->state, due);
  }

 private:
  struct Parts {
    Parts(std::shared_ptr<AsioTimers> the_timers, std::shared_ptr<TimerState> the_state)
        : timers{std::move(the_timers)}, state{std::move(the_state)} {}
    ~Parts() { state->close(); }
    Parts(const Parts&) = delete;
    Parts& operator=(const Parts&) = delete;
    bool in_forked_child() const noexcept { return timers->in_forked_child(); }

    std::shared_ptr<AsioTimers> timers;  // outlives the state, which is in the io_context of it
    std::shared_ptr<TimerState> state;
  };

  LeakedInChild<Parts> parts_;
};

std::unique_ptr<Timer> AsioTimers::create(std::function<void()> on_due) {
  if (in_forked_child()) {
    throw IllegalStateError{
        "the timer thread belongs to the parent process; create a new runtime after fork()"};
  }
  return std::make_unique<AsioTimer>(
      shared_from_this(), std::make_shared<TimerState>(*thread_.loop(), std::move(on_due)));
}

}  // namespace

std::shared_ptr<TimerService> make_asio_timers(std::shared_ptr<const ThreadGroup> group,
                                               std::shared_ptr<Logger> log) {
  return std::make_shared<AsioTimers>(std::move(group), std::move(log));
}

}  // namespace simba::detail
