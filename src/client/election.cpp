#include "simba/client/election.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "client/client_core.hpp"
#include "client/health_record.hpp"
#include "simba/core/contender_id_generator.hpp"
#include "simba/core/mutex_contender.hpp"
#include "simba/core/ownership_signal.hpp"

namespace simba {

/// The contender of an election.
///
/// Lifetime: shared with what it has queued, and ended by the handle.
class Election::Impl final : public MutexContender, public std::enable_shared_from_this<Impl> {
 public:
  Impl(std::string mutex, const std::shared_ptr<engine::LeaseServiceFactory>& factory,
       const std::shared_ptr<const ContentionPlan>& plan,
       std::shared_ptr<const engine::LockOperations> operations, ElectionOptions options,
       std::shared_ptr<Executor> executor)
      : mutex_{std::move(mutex)},
        contender_id_{options.id.empty() ? ContenderIdGenerator::unique().generate() : options.id},
        options_{std::move(options)},
        runtime_{factory->runtime()},
        operations_{std::move(operations)},
        rest_{plan->ttl},
        drain_limit_{plan->drain_limit},
        executor_{executor ? executor : runtime_->callbacks},
        line_{make_line()},
        service_{factory->create_mutex_contend_service(*this, {.executor = std::move(executor)},
                                                       plan)} {}

  void start() {
    timer_ = runtime_->timers->create([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->tick();
    });
    service_->start();
  }

  void stop() {
    if (fork_guard_.in_child()) return;
    const LocalTime deadline = runtime_->clock->now() + drain_limit_;
    {
      const std::lock_guard no_start{mutex_of_start_};
      const std::lock_guard lock{mutex_of_life_};
      over_ = true;
      if (timer_) arm(never);
    }
    // With no lock held: a callback that is waited for may call this, too.
    stop_service([this, deadline] { finish(deadline); });
  }

  void step_down(Loss why) {
    if (fork_guard_.in_child()) return;
    {
      const std::lock_guard lock{mutex_of_life_};
      if (over_ || resting_ || !service_->is_owner()) return;
      resting_ = true;
      stopped_because_ = why;
      arm(never);
    }
    if (why == Loss::max_hold) {
      runtime_->log->log(LogLevel::warn,
                         fmt::format("mutex [{}], contender [{}]: leader for as long as max_hold "
                                     "allows; stepping down",
                                     mutex_, contender_id_));
    }
    stop_service([this, why] { has_stepped_down(why); });
  }

  Health health() const noexcept { return health_.health(*service_); }

  const MutexContendService& service() const noexcept { return *service_; }
  bool in_forked_child() const noexcept { return fork_guard_.in_child(); }

  const std::string& mutex() const noexcept override { return mutex_; }
  const std::string& contender_id() const noexcept override { return contender_id_; }

  void on_acquired(const MutexState& state) override {
    const auto self = shared_from_this();  // the callback may destroy the election
    health_.note_acquired();
    const std::stop_token lost = service_->lost();
    {
      const std::lock_guard lock{mutex_of_life_};
      elected_in_ = std::this_thread::get_id();
      owes_on_deposed_ = true;
      if (options_.max_hold && !options_.max_hold->is_forever()) {
        const LocalTime now = runtime_->clock->now();
        const auto span = options_.max_hold->nanoseconds();
        if (!over_ && !resting_) arm(span < never - now ? now + span : never);
      }
    }
    try {
      if (options_.on_elected) options_.on_elected(leadership(state.after().fencing_token(), lost));
    } catch (const std::exception& e) {
      give_up(e.what());
    } catch (...) {
      give_up("unknown exception");
    }
    {
      const std::lock_guard lock{mutex_of_life_};
      elected_in_ = {};
      rest();
    }
    catch_up();
  }

  void on_released(const MutexState& /*state*/) override {
    const auto self = shared_from_this();
    Loss why{};
    {
      const std::lock_guard lock{mutex_of_life_};
      owes_on_deposed_ = false;
      why = lost_because_.value_or(stopped_because_);
      lost_because_.reset();
      if (!resting_ && !over_ && timer_) arm(never);
    }
    if (options_.on_deposed) options_.on_deposed(why);
  }

  void on_event(const ContentionEvent& event) override {
    health_.note(event, runtime_->clock->now());
    const auto* lost = std::get_if<OwnershipLost>(&event);
    if (lost == nullptr) return;
    const std::lock_guard lock{mutex_of_life_};
    lost_because_ = detail::loss_of(lost->reason);
  }

 private:
  /// `then` is called when it has been stopped.
  void stop_service(const std::function<void()>& then) {
    try {
      if (!OwnershipSignal::any_firing_in_this_thread()) {
        service_->close();
      } else {
        // In a stop callback of our own signal it cannot wait for ours: one may wait for that one.
        service_->stop();
        if (service_->status() != ServiceStatus::initial) {
          runtime_->workers->execute([self = shared_from_this(), then] {
            self->service_->close();
            then();
          });
          return;
        }
      }
    } catch (...) {  // no thread to be had
      service_->close();
    }
    then();
  }

  void has_stepped_down(Loss why) {
    {
      const std::lock_guard lock{mutex_of_life_};
      stopped_because_ = Loss::given_up;
      if (owes_on_deposed_) overdue_ = why;
      if (elected_in_ != std::thread::id{}) return;  // it goes on when on_elected has returned
      if (!owes_on_deposed_) return rest();
    }
    // on_elected has returned just after it was given up. Weak: an executor that has stopped may
    // keep the task.
    operations_->dispatch(
        fmt::format("a callback of mutex [{}], contender [{}]", mutex_, contender_id_),
        [weak = weak_from_this()] {
          if (const auto self = weak.lock()) self->catch_up();
        });
  }

  /// Waits for an on_deposed of which the service does not know, up to `deadline`, or calls it. As
  /// the service waits for its own: not for the one that this is called in.
  void finish(LocalTime deadline) {
    const bool serves = executor_->running_in_this_thread();  // without a lock: it is the user's
    std::unique_lock lock{mutex_of_life_};
    if (catches_up_in_ == std::this_thread::get_id()) return;
    if (elected_in_ == std::this_thread::get_id()) {
      lock.unlock();
      return catch_up();
    }
    const auto done = [this] { return !owes_on_deposed_ && catches_up_in_ == std::thread::id{}; };
    if (done()) return;
    // Nobody else calls it if this is a thread of the executor, or if that has stopped.
    const LocalTime now = runtime_->clock->now();
    const LocalTime begun_by = serves ? now : std::min(now + DelayMonitor::limit, deadline);
    runtime_->waiter->wait_until(lock, caught_up_, begun_by,
                                 [&] { return done() || catches_up_in_ != std::thread::id{}; });
    if (owes_on_deposed_ && elected_in_ == std::thread::id{}) {
      if (!overdue_) overdue_ = stopped_because_;
      lock.unlock();
      catch_up();
      lock.lock();
    }
    runtime_->waiter->wait_until(lock, caught_up_, deadline, done);
    owes_on_deposed_ = false;
    overdue_.reset();
  }

  /// Tells the end of a leadership that the service could not tell, since on_elected outlasted the
  /// drain limit. Whoever is the first does so.
  void catch_up() {
    Loss why{};
    {
      const std::lock_guard lock{mutex_of_life_};
      if (!overdue_) return;
      why = *overdue_;
      overdue_.reset();
      owes_on_deposed_ = false;
      catches_up_in_ = std::this_thread::get_id();
    }
    try {
      if (options_.on_deposed) options_.on_deposed(why);
    } catch (const std::exception& e) {
      log_thrown(e.what());
    } catch (...) {
      log_thrown("unknown exception");
    }
    {
      const std::lock_guard lock{mutex_of_life_};
      catches_up_in_ = {};
      rest();
    }
    caught_up_.notify_all();
  }

  void log_thrown(const char* what) {
    runtime_->log->log(LogLevel::error,
                       fmt::format("mutex [{}], contender [{}]: on_deposed threw: {}", mutex_,
                                   contender_id_, what));
  }

  /// Under mutex_of_life_, before it contends again. Whoever waits for the mutex comes first, even
  /// if the lease must run out. Does nothing before on_deposed has been called: whoever does so
  /// calls this again.
  void rest() {
    if (over_ || !resting_ || owes_on_deposed_) return;
    arm(std::max(runtime_->clock->now(), service_->lease_until()) + rest_);
  }

  void give_up(const char* what) {
    runtime_->log->log(
        LogLevel::error,
        fmt::format("mutex [{}], contender [{}]: on_elected threw: {}; stepping down", mutex_,
                    contender_id_, what));
    step_down(Loss::given_up);
  }

  Leadership leadership(FencingToken token, const std::stop_token& lost) const {
    return Leadership{token, lost, [weak = weak_from_this(), token] {
                        const auto self = weak.lock();
                        const bool ended = !self || self->service_->fencing_token() != token;
                        return ended ? std::chrono::nanoseconds::zero()
                                     : self->service_->lease_left();
                      }};
  }

  std::unique_ptr<DelayMonitor::Line> make_line() const {
    if (!runtime_->delays) return nullptr;
    return std::make_unique<DelayMonitor::Line>(
        runtime_->delays,
        fmt::format("the end of a leadership, or of the pause after it, of mutex [{}], contender "
                    "[{}]",
                    mutex_, contender_id_),
        runtime_->workers.get(),
        "make work return sooner or raise RuntimeOptions::max_worker_threads");
  }

  /// Under mutex_of_life_: calls on one timer must not overlap.
  void arm(LocalTime due) {
    due_ = due;
    timer_->arm(due);
  }

  // Either the rest is over, or max_hold is.
  void tick() {
    bool rested = false;
    {
      const std::lock_guard lock{mutex_of_life_};
      if (over_ || runtime_->clock->now() < due_) return;
      due_ = never;
      rested = resting_;
    }
    // Both may run callbacks, or wait for them: not on this thread, which is that of all timers.
    try {
      if (line_) line_->waits();
      runtime_->workers->execute([weak = weak_from_this(), rested] {
        const auto self = weak.lock();
        if (!self) return;
        if (self->line_) self->line_->begins();
        if (rested) {
          self->contend_again();
        } else {
          self->step_down(Loss::max_hold);
        }
        if (self->line_) self->line_->ends();
      });
    } catch (const std::exception& e) {  // no thread to be had
      if (line_) line_->is_empty();
      const std::lock_guard lock{mutex_of_life_};
      if (!over_) arm(runtime_->clock->now() + rest_);
      runtime_->log->log(LogLevel::warn, fmt::format("mutex [{}], contender [{}]: trying again "
                                                     "later: {}",
                                                     mutex_, contender_id_, e.what()));
    }
  }

  void contend_again() {
    const std::lock_guard no_stop{mutex_of_start_};
    {
      const std::lock_guard lock{mutex_of_life_};
      if (over_ || !resting_) return;
      if (runtime_->clock->now() < service_->lease_until()) return rest();  // renewed meanwhile
      resting_ = false;
      lost_because_.reset();         // on_released was not told
      if (health_.is_out()) return;  // noticed while it stepped down
    }
    try {
      service_->start();
    } catch (const std::exception& e) {  // still stopping: a callback takes its time
      const std::lock_guard lock{mutex_of_life_};
      if (over_) return;
      resting_ = true;
      arm(runtime_->clock->now() + rest_);
      runtime_->log->log(LogLevel::warn, fmt::format("mutex [{}], contender [{}]: not contending "
                                                     "again yet: {}",
                                                     mutex_, contender_id_, e.what()));
    }
  }

  // constant after construction
  const std::string mutex_;
  const std::string contender_id_;
  const ElectionOptions options_;
  const std::shared_ptr<const Runtime> runtime_;
  const std::shared_ptr<const engine::LockOperations> operations_;
  const std::chrono::nanoseconds rest_;
  const std::chrono::nanoseconds drain_limit_;
  const std::shared_ptr<Executor> executor_;
  const ForkGuard fork_guard_;
  const std::unique_ptr<DelayMonitor::Line> line_;  // where the runtime has a monitor

  detail::HealthRecord health_;

  // Taken first, and never while anything is waited for: no start comes after stop(). A callback
  // within the start may stop it.
  std::recursive_mutex mutex_of_start_;

  std::mutex mutex_of_life_;
  std::condition_variable caught_up_;
  // guarded by mutex_of_life_
  bool over_ = false;
  bool resting_ = false;           // from step_down() until it contends again
  std::thread::id elected_in_;     // the thread of an on_elected
  bool owes_on_deposed_ = false;   // for an on_elected
  std::optional<Loss> overdue_;    // the service does not tell the owed on_deposed any more
  std::thread::id catches_up_in_;  // the thread of an on_deposed that the service does not know of
  Loss stopped_because_ = Loss::given_up;
  std::optional<Loss> lost_because_;
  std::unique_ptr<Timer> timer_;  // made before the start
  LocalTime due_ = never;

  // The last, so that it is closed while everything that it calls is there.
  const std::unique_ptr<MutexContendService> service_;
};

Election::Election() noexcept = default;
Election::Election(std::shared_ptr<Impl> impl) noexcept : impl_{std::move(impl)} {}
Election::Election(Election&& other) noexcept = default;

Election::~Election() { end(); }

Election& Election::operator=(Election&& other) noexcept {
  if (this == &other) return *this;
  end();
  impl_ = std::move(other.impl_);
  return *this;
}

void Election::end() noexcept {
  if (!impl_) return;
  if (impl_->in_forked_child()) detail::leak(impl_);  // its timer is the parent's
  impl_->stop();
}

bool Election::is_leader() const noexcept { return impl_ && impl_->service().is_owner(); }

std::stop_token Election::lost() const {
  return impl_ ? impl_->service().lost() : OwnershipSignal{}.token();
}

FencingToken Election::fencing_token() const noexcept {
  return impl_ ? impl_->service().fencing_token() : 0;
}

std::chrono::nanoseconds Election::lease_left() const noexcept {
  return impl_ ? impl_->service().lease_left() : std::chrono::nanoseconds::zero();
}

Health Election::health() const noexcept { return impl_ ? impl_->health() : Health::out; }

const std::string& Election::id() const noexcept {
  return impl_ ? impl_->contender_id() : MutexOwner::none().owner_id();
}

void Election::step_down() {
  if (impl_) impl_->step_down(Loss::given_up);
}

void Election::stop() {
  if (impl_) impl_->stop();
}

Election Client::elect(std::string name, ElectionOptions options) const {
  if (options.max_hold && options.max_hold->nanoseconds() <= std::chrono::nanoseconds::zero()) {
    throw InvalidArgumentError{fmt::format("max_hold must be positive (got {} ns)",
                                           options.max_hold->nanoseconds().count())};
  }
  const auto factory = core_->factory();
  const auto plan = factory->plan_with(detail::ttl_of(options.ttl));
  const auto impl = std::make_shared<Election::Impl>(
      std::move(name), factory, plan, core_->operations(), std::move(options), core_->executor());
  impl->start();
  return Election{impl};
}

}  // namespace simba
