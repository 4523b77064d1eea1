#include "schedule/abstract_scheduler_impl.hpp"

#include <algorithm>
#include <utility>

#include "core/log_exception.hpp"
#include "simba/core/contender_id_generator.hpp"
#include "simba/core/error.hpp"
#include "simba/core/ownership_signal.hpp"

namespace simba {

namespace detail {

LocalTime later(LocalTime moment, std::chrono::nanoseconds span) noexcept {
  // A moment before the epoch cannot overflow, and `never - moment` would.
  if (moment.time_since_epoch().count() <= 0) return moment + span;
  return span < never - moment ? moment + span : never;
}

LocalTime next_run(const ScheduleConfig& config, LocalTime first, LocalTime now) noexcept {
  if (config.strategy == ScheduleConfig::Strategy::fixed_delay) return later(now, config.period);
  if (first > now) return first;
  const auto begun = (now - first) / config.period;
  return later(first + begun * config.period, config.period);
}

}  // namespace detail

namespace {

/// How late, at most, a schedule notices that the wall clock was set.
constexpr std::chrono::nanoseconds longest_sleep = std::chrono::seconds{30};

bool has_hooks(const SchedulerOptions& options) { return options.on_state || options.on_event; }

std::unique_ptr<DelayMonitor::Line> line_of_work(const Runtime& runtime, const std::string& mutex,
                                                 const Executor& executor) {
  if (!runtime.delays) return nullptr;
  return std::make_unique<DelayMonitor::Line>(
      runtime.delays, "the work of scheduler [" + mutex + "]", &executor,
      &executor == runtime.workers.get()
          ? "make work return sooner or raise RuntimeOptions::max_worker_threads"
          : "its executor is busy or has stopped");
}

std::shared_ptr<MutexRecords> records_for(const ScheduleConfig& config, const std::string& mutex,
                                          MutexContendServiceFactory& factory) {
  if (config.strategy != ScheduleConfig::Strategy::slots) return nullptr;
  const auto* const both = dynamic_cast<const MutexServiceFactory*>(&factory);
  auto records = both != nullptr ? both->records() : nullptr;
  if (records) return records;
  throw Error{ErrorKind::unsupported,
              "schedule [" + mutex +
                  "] cannot share its slots: the store keeps no records beside its mutexes; use "
                  "another store, or a schedule that counts for each leader (rate, delay)"};
}

/// Without hooks nothing in the callbacks blocks, so any thread may run them.
std::shared_ptr<detail::WorkGate> make_gate(const Runtime& runtime, const std::string& mutex,
                                            bool may_block,
                                            const std::shared_ptr<Executor>& callbacks) {
  if (!may_block) return std::make_shared<detail::WorkGate>(make_inline_executor());
  std::unique_ptr<DelayMonitor::Line> line;
  if (runtime.delays) {
    line = std::make_unique<DelayMonitor::Line>(
        runtime.delays, "a hook of scheduler [" + mutex + "]", callbacks.get(),
        "make callbacks return sooner or raise RuntimeOptions::max_callback_threads");
  }
  return std::make_shared<detail::WorkGate>(callbacks, std::move(line));
}

}  // namespace

AbstractScheduler::Impl::Impl(std::string mutex, MutexContendServiceFactory& factory,
                              ScheduleConfig config, RunWork work, SchedulerOptions options,
                              Hooks hooks)
    : AbstractMutexContender{std::move(mutex),
                             options.contender_id.empty()
                                 ? ContenderIdGenerator::unique().generate()
                                 : std::move(options.contender_id),
                             factory.runtime()->log},
      runtime_{factory.runtime()},
      config_{std::move(config)},
      work_{std::move(work)},
      callbacks_{hooks == Hooks::share_executor && options.executor ? options.executor
                                                                    : runtime_->callbacks},
      gate_{make_gate(*runtime_, this->mutex(), hooks != Hooks::are_prompt && has_hooks(options),
                      callbacks_)},
      on_state_{std::move(options.on_state)},
      on_event_{std::move(options.on_event)},
      executor_{options.executor ? options.executor : runtime_->workers},
      line_{line_of_work(*runtime_, this->mutex(), *executor_)},
      on_slot_{std::move(options.on_slot)},
      records_{records_for(config_, this->mutex(), factory)},
      slots_{records_ ? std::make_unique<detail::SlotMachine>(this->mutex(), contender_id(),
                                                              config_, *runtime_->random)
                      : nullptr},
      service_{factory.create_mutex_contend_service(
          *this, {.executor = gate_, .after_loss = AfterLoss::contend_again})} {}

std::shared_ptr<AbstractScheduler::Impl> AbstractScheduler::Impl::make(
    std::string mutex, MutexContendServiceFactory& factory, ScheduleConfig config, RunWork work,
    SchedulerOptions options, Hooks hooks) {
  config.check();
  if (!work) throw InvalidArgumentError{"the work of scheduler [" + mutex + "] is empty"};
  auto impl = std::make_shared<Impl>(std::move(mutex), factory, std::move(config), std::move(work),
                                     std::move(options), hooks);
  impl->timer_ = impl->runtime_->timers->create([weak = std::weak_ptr{impl}] {
    if (const auto self = weak.lock()) self->on_due();
  });
  return impl;
}

// ---- life ------------------------------------------------------------------------------------

void AbstractScheduler::Impl::start() {
  if (in_forked_child()) {
    throw IllegalStateError{"scheduler [" + mutex() +
                            "] cannot be started: it belongs to the parent process; create a new "
                            "factory and scheduler after fork()"};
  }
  {
    const Lock lock{mutex_};
    if (phase_ != Phase::idle) throw IllegalStateError{refusal()};
    phase_ = Phase::starting;
  }
  try {
    service_->start();
  } catch (...) {
    end_stop();
    throw;
  }
  {
    const Lock lock{mutex_};
    if (phase_ == Phase::starting) phase_ = Phase::started;  // else a hook has stopped it
    changed_.notify_all();
  }
  stop_if_due();  // the first run may be over already
}

void AbstractScheduler::Impl::stop() {
  if (in_signal_while_stopping() || !claim_stop()) return;
  try {
    service_->stop();
  } catch (...) {
    end_stop();
    throw;
  }
  if (service_->running()) {
    stop_later();
  } else {
    end_stop();
  }
}

void AbstractScheduler::Impl::close() noexcept {
  if (!claim_stop()) return;
  service_->close();
  end_stop();
}

/// Whoever stops it waits for the work, and the work may wait for the signal to have fired.
bool AbstractScheduler::Impl::in_signal_while_stopping() const noexcept {
  if (in_forked_child() || !OwnershipSignal::any_firing_in_this_thread()) return false;
  const Lock lock{mutex_};
  return phase_ == Phase::stopping;
}

/// True: the caller must stop the service now, even if we are idle: a hook that has stopped us may
/// still be running, and a caller outside it has to wait for it. False: the service is stopped, or
/// will be once the hook or the work that called us has returned.
bool AbstractScheduler::Impl::claim_stop() noexcept {
  if (in_forked_child()) return false;
  Lock lock{mutex_};
  if (in_work()) {
    if (phase_ == Phase::starting || phase_ == Phase::started) stop_from_work(std::move(lock));
    return false;
  }
  if (stopper_ == std::this_thread::get_id()) return false;  // in a signal that our stop fired
  if (gate_->running_in_this_thread()) {
    // In a hook: whoever stops it waits for this very hook. start() has done its part, even if it
    // has not returned.
    if (phase_ == Phase::stopping || phase_ == Phase::idle) return false;
  } else {
    runtime_->waiter->wait_until(lock, changed_, never, [this] {
      return phase_ == Phase::idle || phase_ == Phase::started;
    });
  }
  begin_stop(lock);
  return true;
}

/// In a callback of its loss signal a service stops only after that; then we do.
void AbstractScheduler::Impl::stop_later() noexcept {
  {
    const Lock lock{mutex_};
    phase_ = Phase::started;
    stopper_ = {};
    stop_due_ = true;
    changed_.notify_all();
  }
  try {
    runtime_->workers->execute([self = shared_from_this()] { self->stop_if_due(); });
  } catch (...) {
    detail::log_current_exception(
        *runtime_->log,
        "scheduler [" + mutex() +
            "] cannot stop in the background; it stops at the next stop() or close()");
  }
}

/// The service goes on, and so keeps the mutex, until the work has returned.
void AbstractScheduler::Impl::stop_from_work(Lock lock) noexcept {
  stop_due_ = true;
  end_term();
  std::stop_source stop_work = stop_work_;
  lock.unlock();
  stop_work.request_stop();
}

/// Does what the work, or a loss signal, has asked for, unless somebody else does it.
void AbstractScheduler::Impl::stop_if_due() noexcept {
  Lock lock{mutex_};
  if (!stop_due_ || phase_ != Phase::started || runner_ != std::thread::id{}) return;
  begin_stop(lock);
  service_->close();
  end_stop();
}

void AbstractScheduler::Impl::begin_stop(Lock& lock) noexcept {
  phase_ = Phase::stopping;
  stopper_ = std::this_thread::get_id();
  end_term();
  lock.unlock();
}

void AbstractScheduler::Impl::end_stop() noexcept {
  const Lock lock{mutex_};
  phase_ = Phase::idle;
  stopper_ = {};
  stop_due_ = false;
  changed_.notify_all();
}

bool AbstractScheduler::Impl::running() const noexcept {
  if (in_forked_child()) return false;
  const Lock lock{mutex_};
  return phase_ == Phase::started && !stop_due_;
}

std::string AbstractScheduler::Impl::refusal() const {
  const auto state = [this]() -> std::string_view {
    switch (phase_) {
      case Phase::idle:
        return "it is not started";
      case Phase::starting:
        return "it is being started";
      case Phase::started:
        return stop_due_ ? "it is being stopped" : "it is already started";
      case Phase::stopping:
        return "it is being stopped";
    }
    return "its state is unknown";
  };
  return "scheduler [" + mutex() + "] cannot be started: " + std::string{state()};
}

// ---- terms and runs --------------------------------------------------------------------------

template <typename Hook, typename News>
void AbstractScheduler::Impl::tell(const Hook& hook, const News& news) noexcept {
  try {
    if (hook) hook(*service_, news);
  } catch (...) {
    detail::log_current_exception(*runtime_->log, "a hook of scheduler [" + mutex() + "] threw");
  }
}

void AbstractScheduler::Impl::notify_owner(const MutexState& state) {
  const auto self = shared_from_this();  // the hook may destroy the scheduler
  tell(on_state_, state);
  AbstractMutexContender::notify_owner(state);
}

void AbstractScheduler::Impl::on_event(const ContentionEvent& event) {
  const auto self = shared_from_this();
  tell(on_event_, event);
}

void AbstractScheduler::Impl::on_acquired(const MutexState& state) {
  if (!service_->is_owner()) return;  // the hook has stopped it, or has outlasted the lease
  AbstractMutexContender::on_acquired(state);
  std::stop_token lost = service_->lost();
  Lock lock{mutex_};
  if (stop_due_ || phase_ == Phase::stopping || phase_ == Phase::idle) return;
  ++term_;
  leading_ = true;
  token_ = state.after().fencing_token();
  lost_ = std::move(lost);
  if (slots_) {
    const auto actions = slots_->lead(token_, runtime_->clock->now());
    lost = lost_;
    lock.unlock();
    loss_callback_.emplace(std::move(lost), [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->on_loss();
    });
    if (actions.request) send(*actions.request);
    return;
  }
  if (config_.cron) return arm_for_slot(*config_.cron);
  first_ = detail::later(runtime_->clock->now(), config_.initial_delay);
  arm(first_);
}

/// The work is not running: the gate lets this in after it.
void AbstractScheduler::Impl::on_released(const MutexState& state) {
  AbstractMutexContender::on_released(state);
  loss_callback_.reset();
  const Lock lock{mutex_};
  end_term();
  if (slots_) slots_->end_term();
}

void AbstractScheduler::Impl::end_term() {
  if (line_) line_->is_empty();
  leading_ = false;
  arm(slots_ ? runtime_->clock->now() : never);  // what has begun is brought to its end
}

void AbstractScheduler::Impl::arm(LocalTime due) {
  due_ = due;
  timer_->arm(due);
}

void AbstractScheduler::Impl::arm_next(std::uint64_t term) {
  if (!leading_ || term != term_) return;
  if (config_.cron) return arm_for_slot(*config_.cron);
  arm(detail::next_run(config_, first_, runtime_->clock->now()));
}

/// The wall clock may be set meanwhile, and no timer hears of that, so it is looked at now and
/// then. Nothing is repeated if it was set back.
void AbstractScheduler::Impl::arm_for_slot(const Cron& cron) {
  const auto wall = runtime_->clock->wall_now();
  const auto next = cron.next(std::max(last_slot_, std::chrono::floor<std::chrono::seconds>(wall)));
  if (!next) return arm(never);
  slot_ = *next;
  arm(detail::later(runtime_->clock->now(),
                    std::min<std::chrono::nanoseconds>(slot_ - wall, longest_sleep)));
}

bool AbstractScheduler::Impl::slot_is_due() const noexcept {
  return runtime_->clock->wall_now() >= slot_;
}

void AbstractScheduler::Impl::on_due() {
  if (slots_) return pump_slots();
  std::uint64_t term = 0;
  {
    const Lock lock{mutex_};
    if (due_ == never) return;
    if (runtime_->clock->now() < due_) {
      arm(due_);
      return;
    }
    if (config_.cron) {
      if (!slot_is_due()) return arm_for_slot(*config_.cron);
      last_slot_ = slot_;
    }
    due_ = never;
    term = term_;
  }
  submit(term);
}

// Often on the thread of all timers, so an executor of the user is not entered here.
void AbstractScheduler::Impl::submit(std::uint64_t term) {
  if (line_) line_->waits();
  if (executor_ == runtime_->workers) return hand_over(term);
  try {
    runtime_->callbacks->execute([self = shared_from_this(), term] { self->hand_over(term); });
  } catch (...) {
    if (line_) line_->is_empty();
    detail::log_current_exception(*runtime_->log, "skipped a run of scheduler [" + mutex() + "]");
    const Lock lock{mutex_};
    arm_next(term);
  }
}

void AbstractScheduler::Impl::hand_over(std::uint64_t term) {
  {
    const Lock lock{mutex_};
    if (over(term)) return;
  }
  try {
    // Weak: an executor that has stopped may keep its tasks, and this keeps the executor.
    executor_->execute([weak = weak_from_this(), term] {
      if (const auto self = weak.lock()) self->run(term);
    });
  } catch (...) {
    if (line_) line_->is_empty();
    detail::log_current_exception(
        *runtime_->log, "skipped a run of scheduler [" + mutex() + "]: its executor rejected it");
    const Lock lock{mutex_};
    arm_next(term);
  }
}

/// A run of this term is not wanted any more, nor waited for. With mutex_ held.
bool AbstractScheduler::Impl::over(std::uint64_t term) noexcept {
  if (leading_ && term == term_) return false;
  if (line_ && !leading_) line_->is_empty();
  return true;
}

void AbstractScheduler::Impl::run(std::uint64_t term) {
  std::stop_source stop_work;
  std::stop_token lost;
  FencingToken token = 0;
  {
    const Lock lock{mutex_};
    if (over(term)) return;
    if (!gate_->try_enter([self = shared_from_this(), term] { self->submit(term); })) return;
    if (line_) line_->begins();
    runner_ = std::this_thread::get_id();
    stop_work_ = stop_work;
    lost = lost_;
    token = token_;
  }
  {
    const std::stop_callback on_loss{lost, [&stop_work] { stop_work.request_stop(); }};
    // The clock knows of a loss before anyone has told us, e.g. when this machine has just woken.
    if (service_->is_owner() && !stop_work.stop_requested()) {
      call_work(token, stop_work.get_token(), std::nullopt);
    }
  }
  {
    const Lock lock{mutex_};
    if (line_) line_->ends();
    runner_ = {};
    stop_work_ = std::stop_source{std::nostopstate};
    arm_next(term);
  }
  gate_->leave();
  stop_if_due();
}

detail::RunEnd AbstractScheduler::Impl::call_work(FencingToken token, std::stop_token stop,
                                                  std::optional<Slot> slot) noexcept {
  detail::RunEnd end;
  try {
    work_(Run{token, stop,
              [weak = weak_from_this()] {
                const auto self = weak.lock();
                return self ? self->service_->lease_left() : std::chrono::nanoseconds::zero();
              },
              slot});
  } catch (const RunFailure& failure) {
    end = {RunOutcome::failed, failure.exit_code(), failure.what(), failure.output()};
  } catch (const std::exception& error) {
    end = {RunOutcome::failed, {}, error.what(), {}};
  } catch (...) {
    end = {RunOutcome::failed, {}, "an exception that is not a std::exception", {}};
  }
  // How the run of a slot has failed is an event, which is logged.
  if (end.outcome == RunOutcome::failed && !slot) {
    runtime_->log->log(LogLevel::error, "the work of scheduler [" + mutex() +
                                            "] threw; the schedule continues: " + end.message);
  }
  if (stop.stop_requested()) end.outcome = RunOutcome::cancelled;
  return end;
}

// ---- shared slots ----------------------------------------------------------------------------

/// In the thread that fires the signal, so the rest is left to that of the timers.
void AbstractScheduler::Impl::on_loss() noexcept {
  const Lock lock{mutex_};
  leading_ = false;
  arm(runtime_->clock->now());
}

void AbstractScheduler::Impl::send(const detail::SlotMachine::Request& request) noexcept {
  auto answered = [weak = weak_from_this(), id = request.id](RecordResult result) {
    if (const auto self = weak.lock()) self->on_answer(id, std::move(result));
  };
  try {
    if (request.write) {
      records_->write(*request.write, std::move(answered));
    } else {
      records_->read(mutex(), std::move(answered));
    }
  } catch (const std::exception& error) {
    on_answer(request.id, Error{ErrorKind::in_doubt, error.what()});
  } catch (...) {
    on_answer(request.id, Error{ErrorKind::in_doubt, "the store threw an unknown exception"});
  }
}

void AbstractScheduler::Impl::on_answer(std::uint64_t request, RecordResult result) {
  {
    const Lock lock{mutex_};
    answers_.emplace_back(request, std::move(result));
  }
  pump_slots();
}

/// Lets the machine act as long as there is something to do. Answers may come inside the call that
/// requests them, and from other threads meanwhile: they are left to the thread that is at it.
void AbstractScheduler::Impl::pump_slots() {
  Lock lock{mutex_};
  if (pumping_) {
    pump_again_ = true;
    return;
  }
  pumping_ = true;
  do {
    pump_again_ = false;
    try {
      while (step_slots(lock)) {
      }
    } catch (...) {
      slots_interrupted(lock);
    }
  } while (pump_again_);
  pumping_ = false;
  arm_slots();
}

/// In a handler of the exception.
void AbstractScheduler::Impl::slots_interrupted(Lock& lock) noexcept {
  detail::log_current_exception(*runtime_->log, "schedule [" + mutex() + "] was interrupted");
  if (!lock.owns_lock()) lock.lock();
  slots_->interrupted(runtime_->clock->now());
}

/// One step of the machine; false: there is none. With mutex_ held, but not all the time.
bool AbstractScheduler::Impl::step_slots(Lock& lock) {
  waits_for_gate_ = false;
  if (telling_) return false;  // goes on when that is told
  const LocalTime now = runtime_->clock->now();
  if (!leading_) {
    if (service_->lease_left() == std::chrono::nanoseconds::zero()) {
      slots_->end_term();
      if (handed_ != 0) begun_.reset();
      handed_ = 0;
    } else {
      slots_->stop(now);
    }
  }
  const bool not_started = !leading_ && handed_ != 0;
  if (not_started || !answers_.empty() || now >= slots_->wake_at()) {
    if (!inside_) {
      inside_ = gate_->try_enter([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->pump_slots();
      });
      waits_for_gate_ = !inside_;
      if (!inside_) return false;
    }
    detail::SlotMachine::Actions actions;
    if (not_started) {
      if (line_) line_->is_empty();
      handed_ = 0;
      begun_.reset();
      actions = slots_->not_started(now);
    } else if (!answers_.empty()) {
      const auto [request, result] = std::move(answers_.front());
      answers_.pop_front();
      actions = slots_->answer(request, result, now);
    } else {
      actions = slots_->due(now);
    }
    const bool over = actions.over;
    carry_out(std::move(actions), lock);
    if (!over) return true;
  }
  if (!inside_ || telling_ || begun_ || slots_->busy()) return false;
  inside_ = false;
  lock.unlock();
  gate_->leave();
  lock.lock();
  return true;
}

/// With mutex_ held, but not while it asks others to do something.
void AbstractScheduler::Impl::carry_out(detail::SlotMachine::Actions actions, Lock& lock) {
  std::stop_source stop_work{std::nostopstate};
  if (actions.cancel) stop_work = stop_work_;
  const bool tells = !actions.events.empty() && on_slot_;
  for (const SlotEvent& event : actions.events) {
    // Slots are skipped as often as runs take longer than the period.
    const bool usual = event.kind == SlotEvent::Kind::skipped;
    runtime_->log->log(usual ? LogLevel::info : LogLevel::warn, to_string(event));
  }
  if (tells) {
    untold_ = std::move(actions.events);
    telling_ = true;
  }
  std::uint64_t run = 0;
  if (actions.begun) {
    begun_ = actions.begun;
    stop_work_ = std::stop_source{};
    run = handed_ = ++runs_;
  }
  lock.unlock();
  stop_work.request_stop();
  if (actions.request) send(*actions.request);
  if (tells) {
    tell_later();
  } else if (run != 0) {
    submit_slot(run);
  }
  lock.lock();
}

void AbstractScheduler::Impl::arm_slots() {
  if (telling_ || waits_for_gate_) return arm(never);  // what comes then goes on
  LocalTime wake = slots_->wake_at();
  // The end of the lease ends the wait for an answer.
  if (!leading_ && slots_->busy()) wake = std::min(wake, service_->lease_until());
  arm(wake);
}

void AbstractScheduler::Impl::tell_later() {
  try {
    callbacks_->execute([self = shared_from_this()] { self->tell_slots(); });
  } catch (...) {
    detail::log_current_exception(*runtime_->log,
                                  "a hook of scheduler [" + mutex() + "] was not called");
    std::uint64_t run = 0;
    {
      const Lock lock{mutex_};
      untold_.clear();
      telling_ = false;
      run = handed_;
    }
    if (run != 0) submit_slot(run);
  }
}

void AbstractScheduler::Impl::tell_slots() noexcept {
  std::vector<SlotEvent> events;
  {
    const Lock lock{mutex_};
    events = std::exchange(untold_, {});
    runner_ = std::this_thread::get_id();
  }
  const auto wanted = [this] {
    const Lock lock{mutex_};
    // Else stop() has returned: it was called in the hook, or has given up waiting for it.
    return phase_ != Phase::idle && !stop_due_;
  };
  for (const SlotEvent& event : events) {
    if (!wanted()) break;
    try {
      on_slot_(event);
    } catch (...) {
      detail::log_current_exception(*runtime_->log, "a hook of scheduler [" + mutex() + "] threw");
    }
  }
  std::uint64_t run = 0;
  {
    const Lock lock{mutex_};
    runner_ = {};
    telling_ = false;
    if (leading_) run = handed_;
  }
  if (run != 0) submit_slot(run);
  pump_slots();
  stop_if_due();
}

/// As `submit`.
void AbstractScheduler::Impl::submit_slot(std::uint64_t run) {
  if (line_) line_->waits();
  if (executor_ == runtime_->workers) return hand_over_slot(run);
  try {
    runtime_->callbacks->execute([self = shared_from_this(), run] { self->hand_over_slot(run); });
  } catch (...) {
    reject_slot(run);
  }
}

void AbstractScheduler::Impl::hand_over_slot(std::uint64_t run) {
  try {
    executor_->execute([weak = weak_from_this(), run] {
      if (const auto self = weak.lock()) self->run_slot(run);
    });
  } catch (...) {
    reject_slot(run);
  }
}

/// In a handler of the exception.
void AbstractScheduler::Impl::reject_slot(std::uint64_t run) {
  detail::log_current_exception(
      *runtime_->log, "a run of scheduler [" + mutex() + "] failed: its executor rejected it");
  Lock lock{mutex_};
  if (handed_ != run) return;
  if (line_) line_->is_empty();
  handed_ = 0;
  begun_.reset();
  auto actions = slots_->work_ended(
      {RunOutcome::failed, {}, "the executor of the work rejected it", {}}, runtime_->clock->now());
  carry_out(std::move(actions), lock);
  lock.unlock();
  pump_slots();
}

void AbstractScheduler::Impl::run_slot(std::uint64_t run) {
  std::stop_source stop_work{std::nostopstate};
  std::stop_token lost;
  std::optional<Slot> slot;
  FencingToken token = 0;
  {
    const Lock lock{mutex_};
    if (handed_ != run) return;  // the term has ended meanwhile
    handed_ = 0;
    if (line_) line_->begins();
    runner_ = std::this_thread::get_id();
    stop_work = stop_work_;
    lost = lost_;
    slot = begun_;
    token = token_;
  }
  std::optional<detail::RunEnd> end;
  if (stop_work.stop_requested()) {  // by `BusySlots::cancel_running`
    end = {RunOutcome::cancelled, {}, "cancelled before it was started", {}};
  }
  {
    const std::stop_callback on_loss{lost, [&stop_work] { stop_work.request_stop(); }};
    // The clock knows of a loss before anyone has told us, e.g. when this machine has just woken.
    if (service_->is_owner() && !stop_work.stop_requested()) {
      end = call_work(token, stop_work.get_token(), slot);
    }
  }
  {
    Lock lock{mutex_};
    if (line_) line_->ends();
    runner_ = {};
    stop_work_ = std::stop_source{std::nostopstate};
    begun_.reset();
    const LocalTime now = runtime_->clock->now();
    try {
      carry_out(end ? slots_->work_ended(*end, now) : slots_->not_started(now), lock);
    } catch (...) {
      slots_interrupted(lock);
    }
  }
  pump_slots();
  stop_if_due();
}

}  // namespace simba
