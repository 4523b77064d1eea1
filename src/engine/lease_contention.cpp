#include "engine/lease_contention.hpp"

#include <exception>
#include <limits>
#include <string>
#include <utility>
#include <variant>

namespace simba::engine {

namespace {

// Numbers of loss signals that no signal has.
constexpr std::uint64_t no_firing = 0;
constexpr std::uint64_t any_firing = std::numeric_limits<std::uint64_t>::max();

// Failures that a slow contender has not heard of yet: more of the same would tell it nothing new.
constexpr std::size_t backlog_limit = 8;

/// Ends the part of a contention in its succession.
struct Leave {
  void operator()(LeaseContention* contention) const { contention->leave(); }
};

std::shared_ptr<LeaseRequest> request_of(const MutexContender& contender, const LeaseParts& parts) {
  return std::make_shared<LeaseRequest>(LeaseRequest{.mutex = contender.mutex(),
                                                     .contender_id = contender.contender_id(),
                                                     .ttl = parts.plan->ttl,
                                                     .transition = parts.plan->transition,
                                                     .instance = parts.instance});
}

std::string named(const LeaseRequest& request) {
  return "mutex [" + request.mutex + "], contender [" + request.contender_id + "]: ";
}

RequestKind kind_of(const Request& request) {
  switch (request.kind) {
    case Request::Kind::acquire:
      return RequestKind::acquire;
    case Request::Kind::guard:
      return RequestKind::renew;
    case Request::Kind::release:
      break;
  }
  return RequestKind::release;
}

const Error* failure_of(const ContentionEvent& event) {
  if (const auto* acquire = std::get_if<AcquireFailed>(&event)) return &acquire->error;
  if (const auto* renewal = std::get_if<RenewalFailed>(&event)) return &renewal->error;
  return nullptr;
}

}  // namespace

LeaseContention::LeaseContention(MutexContender& contender,
                                 std::shared_ptr<OwnerDispatcher> dispatcher,
                                 std::shared_ptr<LeaseRequest> request, const LeaseParts& parts,
                                 AfterLoss after_loss, std::shared_ptr<Succession> succession)
    : contender_{contender},
      request_{std::move(request)},
      dispatcher_{std::move(dispatcher)},
      store_{parts.store},
      runtime_{parts.runtime},
      plan_{parts.plan},
      succession_{std::move(succession)},
      alarms_{parts.alarms},
      meter_{runtime_->statistics ? &runtime_->statistics->meter(request_->mutex) : nullptr},
      requests_{runtime_->statistics ? &runtime_->statistics->requests() : nullptr},
      machine_{plan_,
               request_->contender_id,
               after_loss,
               runtime_->random,
               parts.renew_phase,
               store_->owner_watch()} {}

LeaseContention::~LeaseContention() {
  if (counted_waiting_) meter_->ends_waiting();
  if (!fork_guard_.in_child()) {
    if (traced_) traced_->end(*runtime_);
    return;
  }
  detail::leak(traced_);
  static_cast<void>(watch_.release());  // both would touch what belongs to the parent
  alarm_.leak();
}

void LeaseContention::start() {
  log_debug("starts contending");
  // Without one it would never renew: then it does not begin.
  if (!alarm_) alarm_ = alarms_->alarm_for(weak_from_this());
  if (succession_ && !succession_->enter(*this)) {
    throw Error{
        ErrorKind::duplicate_id,
        "contender id [" + request_->contender_id + "] already contends for mutex [" +
            request_->mutex +
            "] on this factory; start this service when stop() of that one has returned, or "
            "give each an id of its own"};
  }
  if (runtime_->tracer) {
    auto traced = TracedContention::begin(*runtime_, request_->mutex, request_->contender_id);
    const std::lock_guard lock{mutex_};
    starting_ = std::move(traced);
  }
  try {
    post(Start{});
  } catch (...) {
    leave();
    throw;
  }
}

void LeaseContention::stop() {
  log_debug("stops contending");
  // Not before the callbacks are over: the store takes the next service of our id for us, and gives
  // it at once what on_released still relies on.
  const std::unique_ptr<LeaseContention, Leave> leaves{this};
  // At once and on this thread: a callback or a worker that waits for it may be what we wait for.
  signal_.fire(signal_.source());
  {
    const std::lock_guard lock{mutex_};
    settled_ = false;
  }
  const LocalTime drain_until = runtime_->clock->now() + plan_->drain_limit;
  mailbox_.post_and_wait(Stop{}, *this, *runtime_->waiter, drain_until);
  signal_.fire(signal_.source());  // of an ownership that began meanwhile
  end_firing(any_firing);  // stop callbacks that still run are not waited for: one of them may be
                           // our caller
  dispatcher_->deliver();
  if (!dispatcher_->quiesce(drain_until)) {
    runtime_->log->log(LogLevel::error, named(*request_) +
                                            "a callback did not return within the drain limit of " +
                                            std::to_string(plan_->drain_limit.count()) +
                                            " ms; no longer renewing the lease, which will expire");
    dispatcher_->discard();
    return;
  }
  std::unique_lock lock{mutex_};
  const bool settled = runtime_->waiter->wait_until(lock, settled_changed_,
                                                    runtime_->clock->now() + plan_->release_wait,
                                                    [&] { return settled_; });
  lock.unlock();
  if (!settled) {
    runtime_->log->log(
        LogLevel::warn,
        named(*request_) + "release not confirmed yet; retrying until the lease ends");
  }
}

void LeaseContention::stop_async(SignalThread thread, Stopped stopped) {
  log_debug("stops contending");
  {
    const std::lock_guard lock{mutex_};
    settled_ = false;
    stopped_ = std::move(stopped);
  }
  if (thread == SignalThread::caller) {
    signal_.fire(signal_.source());
    leave();  // not before: the store takes the next service of our id for us
  }
  post(Stop{});  // fires that of an ownership that has begun meanwhile
}

void LeaseContention::holder_left() {
  {
    const std::lock_guard lock{mutex_};
    holder_left_ = true;
  }
  end_firing(any_firing);
}

void LeaseContention::withhold() {
  if (!fork_guard_.in_child()) post(Withhold{});
}

void LeaseContention::give_up() {
  given_up_ = true;
  post(Tick{});
}

bool LeaseContention::is_owner() const noexcept {
  return !fork_guard_.in_child() && runtime_->clock->now() < owned_until_.load();
}

bool LeaseContention::is_in_ttl() const noexcept {
  return !fork_guard_.in_child() && runtime_->clock->now() < in_ttl_until_.load();
}

LocalTime LeaseContention::lease_until() const noexcept {
  return fork_guard_.in_child() ? LocalTime::min() : lease_until_.load();
}

std::stop_token LeaseContention::lost() const {
  return is_owner() ? signal_.token() : OwnershipSignal{}.token();
}

void LeaseContention::post(MachineEvent event) {
  if (mailbox_.post(std::move(event), *this)) dispatcher_->deliver();
}

void LeaseContention::handle(const MachineEvent& event) {
  try {
    if (succession_ && std::holds_alternative<Start>(event)) succession_->begin(weak_from_this());
    const LocalTime now = runtime_->clock->now();
    Actions actions = machine_.step(event, now);
    if (meter_ != nullptr) count(event, actions, now);
    if (runtime_->tracer) trace(event, actions);
    perform(actions);
  } catch (const std::exception& e) {
    runtime_->log->log(LogLevel::error, named(*request_) + "internal error: " + e.what());
  } catch (...) {
    runtime_->log->log(LogLevel::error, named(*request_) + "internal error: unknown exception");
  }
}

void LeaseContention::trace(const MachineEvent& event, const Actions& actions) noexcept {
  if (std::holds_alternative<Start>(event)) {
    if (traced_) traced_->end(*runtime_);
    const std::lock_guard lock{mutex_};
    traced_ = std::move(starting_);
  }
  if (traced_) traced_->stepped(*runtime_, machine_.phase(), actions);
}

void LeaseContention::count(const MachineEvent& event, const Actions& actions, LocalTime now) {
  if (const auto* answered = std::get_if<Answered>(&event)) {
    const auto& [request, answer] = *answered;
    if (const Error* error = answer.error()) {
      requests_->failed(error->kind());
    } else {
      requests_->answered(kind_of(request), now - request.sent_at, now);
    }
  }
  if (const auto* noticed = std::get_if<Noticed>(&event)) count_notice(noticed->notice, now);
  if (actions.observed) {
    const OwnerView& seen = *actions.observed;
    free_at_ = seen.owner_id.empty() ? never : seen.local_lease.transition_at;
    noticed_at_ = never;
  }
  if (machine_.phase() != counted_) count_phase(actions, now);
  if (actions.granted || actions.renewed) meter_->owns_until(machine_.owned_until());
  if (actions.renewed) meter_->renewed();
  for (const ContentionEvent& happened : actions.events) {
    if (std::holds_alternative<RenewalFailed>(happened)) meter_->failed_to_renew();
    if (const auto* lost = std::get_if<OwnershipLost>(&happened)) meter_->lost(lost->reason);
  }
}

void LeaseContention::count_phase(const Actions& actions, LocalTime now) {
  using Phase = ContentionMachine::Phase;
  const Phase before = std::exchange(counted_, machine_.phase());
  const auto lasted = now - std::exchange(counted_since_, now);
  if (before == Phase::owning) meter_->ends_owning(lasted);
  if (actions.granted) {
    meter_->acquired(actions.granted->fencing_token, lasted);
    if (free_at_ != never) count_succession(now);
  }
  free_at_ = never;
}

void LeaseContention::count_notice(const Notice& notice, LocalTime now) {
  if (counted_ != ContentionMachine::Phase::contending) return;
  if (notice.kind != Notice::Kind::renewed) {
    noticed_at_ = now;
  } else if (notice.record) {
    const LocalTime from = notice.record->counted_from.value_or(now);
    free_at_ = view_of(*notice.record, from).local_lease.transition_at;
  }
}

/// Another has owned it before. A lease that has not run out was given up.
void LeaseContention::count_succession(LocalTime now) {
  if (now >= free_at_) return meter_->taken_over(now - free_at_);
  meter_->handed_over(noticed_at_ == never ? std::chrono::nanoseconds::zero() : now - noticed_at_);
}

/// At rest: whoever is granted the mutex at once has not waited.
void LeaseContention::count_waiting() noexcept {
  const bool waiting = counted_ == ContentionMachine::Phase::contending;
  if (waiting == std::exchange(counted_waiting_, waiting)) return;
  if (waiting) {
    meter_->begins_to_wait(counted_since_);
  } else {
    meter_->ends_waiting();
  }
}

// After the answers that came within the step: an alarm that they make needless is never set.
void LeaseContention::rest() {
  count_waiting();  // never so without a meter
  try {
    if (given_up_) return let_go();
    if (alarm_) alarm_.set(machine_.wake_at());  // none: it has not begun
    // A lease that runs out needs us only where a session would keep it beyond that.
    const bool busy = machine_.phase() == ContentionMachine::Phase::draining ||
                      machine_.phase() == ContentionMachine::Phase::releasing ||
                      (machine_.phase() == ContentionMachine::Phase::expiring &&
                       store_->owner_watch() == OwnerWatch::kept);
    alive_ = busy ? shared_from_this() : nullptr;  // whoever has posted holds us, too
  } catch (const std::exception& e) {
    runtime_->log->log(LogLevel::error, named(*request_) + "internal error: " + e.what());
  }
}

// The order is the one that `Actions` states. Ownership is withdrawn before anything else, believed
// only after its loss signal exists, and told only after it is believed.
void LeaseContention::perform(Actions& actions) {
  if (actions.granted) begin_ownership(*actions.granted);
  owned_until_ = machine_.owned_until();
  in_ttl_until_ = machine_.in_ttl_until();
  lease_until_ = machine_.lease_until();
  if (actions.granted) {
    dispatcher_->publish(to_owner(std::move(*actions.granted), runtime_->clock));
  }
  if (actions.renewed) {
    log_recovery();
    dispatcher_->refresh(to_owner(std::move(*actions.renewed), runtime_->clock));
  }
  note_loss(actions);
  if (actions.drain) fire_loss_signal();
  for (ContentionEvent& event : actions.events) tell(std::move(event));
  if (actions.observed) observe(std::move(*actions.observed));
  if (actions.drain) {
    dispatcher_->post([self = shared_from_this(), drain = *actions.drain] {
      self->post(Drained{.drain = drain});
    });
  }
  if (actions.drain_overrun) {
    runtime_->log->log(LogLevel::error, named(*request_) + "the lease ended " +
                                            (is_of_a_lock() ? "before the lock was given back"
                                                            : "while on_released was still "
                                                              "running") +
                                            "; another contender may own the mutex now");
  }
  if (actions.withheld) {
    runtime_->log->log(
        LogLevel::warn,
        named(*request_) + "not releasing the mutex; its lease expires in " + lease_left_text());
  }
  if (actions.drained_too_long && is_of_a_lock()) {  // else stop() says so
    runtime_->log->log(LogLevel::error,
                       named(*request_) + "the lock was not given back within the drain limit of " +
                           std::to_string(plan_->drain_limit.count()) +
                           " ms; no longer renewing the lease, which expires in " +
                           lease_left_text());
  }
  watch(actions.watching);
  if (actions.give_back) send(*actions.give_back);
  if (actions.send) send(*actions.send);
  if (actions.settled) finish(actions.confirmed);
}

/// Whether a Lock is told by a handler, instead of a contender that stop() waits for.
bool LeaseContention::is_of_a_lock() const {
  const std::lock_guard lock{mutex_};
  return static_cast<bool>(stopped_);
}

std::string LeaseContention::lease_left_text() const {
  const auto left = machine_.lease_until() - runtime_->clock->now();
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(left).count()) + " ms";
}

void LeaseContention::begin_ownership(const OwnerView& view) {
  log_recovery();
  signal_.begin(view.fencing_token);
  fencing_token_ = view.fencing_token;
}

// On a thread that does nothing else, since it runs callbacks of the user; on_released, and with it
// the release, waits until they have returned.
void LeaseContention::fire_loss_signal() {
  std::stop_source source = signal_.source();
  if (source.stop_requested()) return;  // by stop(), on the thread of its caller
  std::uint64_t firing = no_firing;
  {
    const std::lock_guard lock{mutex_};
    if (!holder_left_) {
      dispatcher_->hold();
      firing = firing_ = ++firings_;
    }
  }
  auto fire = [self = shared_from_this(), source, firing] {
    self->signal_.fire(source);
    if (firing != no_firing) self->end_firing(firing);
  };
  try {
    runtime_->signals->execute(watched(fire));
  } catch (...) {  // rather on this thread than not at all
    fire();
  }
}

/// `fire`, and where it waits long for a thread, or keeps one, that is noticed.
std::function<void()> LeaseContention::watched(std::function<void()> fire) const {
  if (!runtime_->delays) return fire;
  auto line = std::make_shared<DelayMonitor::Line>(
      runtime_->delays,
      "the loss signal of mutex [" + request_->mutex + "], contender [" + request_->contender_id +
          "]",
      runtime_->signals.get(),
      "make stop callbacks return sooner or raise RuntimeOptions::max_callback_threads");
  line->waits();
  return [line = std::move(line), fire = std::move(fire)] {
    line->begins();
    fire();
  };
}

/// Lets the callbacks go on, unless they do already. `any_firing`: whichever signal holds them.
void LeaseContention::end_firing(std::uint64_t firing) {
  {
    const std::lock_guard lock{mutex_};
    if (firing_ == no_firing || (firing != any_firing && firing != firing_)) return;
    firing_ = no_firing;
  }
  dispatcher_->resume();
}

void LeaseContention::observe(OwnerView view) {
  if (!view.owner_id.empty()) log_recovery();
  if (given_up_) return;  // the contender may be gone
  dispatcher_->update(to_owner(std::move(view), runtime_->clock));
}

void LeaseContention::watch(Actions::Watching watching) {
  if (watching == Actions::Watching::end) watch_.reset();
  if (watching != Actions::Watching::begin) return;
  try {
    watch_ = store_->watch(*request_,
                           [weak = weak_from_this(), life = machine_.life()](const Notice& notice) {
                             if (const auto self = weak.lock())
                               self->post(Noticed{.notice = notice, .life = life});
                           });
  } catch (const std::exception& e) {  // only a hint: without it a release is noticed later
    runtime_->log->log(LogLevel::warn, named(*request_) + "cannot watch the mutex: " + e.what());
  }
}

void LeaseContention::send(const Request& request) {
  const auto handler = [self = shared_from_this(), request](LeaseAnswer answer) {
    self->post(Answered{.request = request, .answer = std::move(answer)});
  };
  if (request.kind == Request::Kind::release && leave_to_successor(request)) {
    handler(LeaseRecord{});  // whatever is held under our name is not ours any more
    return;
  }
  try {
    hand_over(request, handler);
  } catch (const std::exception& e) {
    handler(Error{ErrorKind::internal, std::string{"the store threw: "} + e.what()});
  }
}

bool LeaseContention::leave_to_successor(const Request& request) {
  const auto successor = succession_ ? succession_->successor_of(*this) : nullptr;
  if (!successor) return false;
  successor->post(Inherited{.token = request.token});
  return true;
}

void LeaseContention::hand_over(const Request& request, AnswerHandler handler) {
  switch (request.kind) {
    case Request::Kind::acquire:
      log_debug("requests the mutex");
      request_->takes_over = request.token;
      request_->waiting_since = request.waiting_since;
      store_->acquire(*request_, std::move(handler));
      break;
    case Request::Kind::guard:
      log_debug("renews its lease");
      store_->guard(*request_, std::move(handler));
      break;
    case Request::Kind::release:
      log_debug("releases the mutex or leaves the queue");
      store_->release(*request_, request.token, std::move(handler));
      break;
  }
}

void LeaseContention::tell(ContentionEvent event) {
  log_failure(event);
  if (given_up_) return;  // the contender may be gone
  const Error* const failure = failure_of(event);
  const bool repeats = failure != nullptr && failure->kind() != ErrorKind::duplicate_id;
  if (repeats && dispatcher_->backlog() >= backlog_limit) return;
  dispatcher_->post(
      [&contender = contender_, event = std::move(event)] { contender.on_event(event); });
}

void LeaseContention::log_failure(const ContentionEvent& event) {
  if (const auto* lost = std::get_if<OwnershipLost>(&event)) {
    runtime_->log->log(LogLevel::warn, named(*request_) + "ownership lost (" +
                                           std::string{to_string(lost->reason)} + ")");
    if (lost->reason == LossReason::duplicate_id) {
      log_staying_out(duplicate_id_error(request_->contender_id));
    }
    return;
  }
  if (const auto* risk = std::get_if<AtRisk>(&event);
      risk != nullptr && risk->clock_excess_ppm > 0) {
    runtime_->log->log(
        LogLevel::error,
        named(*request_) + "the store's clock is faster than this host's by " +
            std::to_string(risk->clock_excess_ppm) +
            " ppm more than clock_drift_ppm allows: another contender may have been let in early; "
            "limit how fast time services slew, and never step the store's clock");
    return;
  }
  const Error* error = failure_of(event);
  if (error == nullptr) return;
  if (error->kind() == ErrorKind::duplicate_id) {
    log_staying_out(*error);
    return;
  }
  const bool news = failing_ != error->kind();
  failing_ = error->kind();
  const LogLevel level = news ? LogLevel::warn : LogLevel::debug;
  if (!runtime_->log->enabled(level)) return;
  const bool renewing = std::holds_alternative<RenewalFailed>(event);
  runtime_->log->log(level, named(*request_) + (renewing ? "renewal" : "acquisition") +
                                " failed, retrying: " + error->what());
}

void LeaseContention::log_staying_out(const Error& error) {
  runtime_->log->log(LogLevel::error, named(*request_) + "no longer contending: " + error.what());
}

void LeaseContention::log_debug(std::string_view what) {
  if (!runtime_->log->enabled(LogLevel::debug)) return;
  runtime_->log->log(LogLevel::debug, named(*request_) + std::string{what});
}

void LeaseContention::log_recovery() {
  if (!failing_) return;
  failing_.reset();
  runtime_->log->log(LogLevel::info, named(*request_) + "the store answers again");
}

/// Whoever has posted holds us still.
void LeaseContention::let_go() {
  watch_.reset();
  if (alarm_) alarm_.set(never);
  const auto last_holder = std::exchange(alive_, nullptr);
  finish(false);  // nobody will hear more of it
  // Not where it has just been confirmed: whoever waited for that may have ended us meanwhile.
  const bool unconfirmed = machine_.phase() == ContentionMachine::Phase::draining ||
                           machine_.phase() == ContentionMachine::Phase::releasing;
  if (!last_holder || !unconfirmed) return;
  runtime_->log->log(LogLevel::warn, named(*request_) +
                                         "release not confirmed, and the last factory and service "
                                         "were destroyed; giving up, the lease will expire");
}

void LeaseContention::finish(bool confirmed) {
  Stopped stopped;
  release_confirmed_ = confirmed;
  {
    const std::lock_guard lock{mutex_};
    settled_ = true;
    stopped.swap(stopped_);
  }
  settled_changed_.notify_all();  // without the lock, which the one that wakes takes at once
  // Behind what the contender has not heard yet: nothing is published after this.
  if (stopped) dispatcher_->post(std::move(stopped));
}

// Before the signal fires: whoever hears of the loss may ask why.
void LeaseContention::note_loss(const Actions& actions) noexcept {
  for (const ContentionEvent& event : actions.events) {
    if (const auto* lost = std::get_if<OwnershipLost>(&event)) {
      loss_ = static_cast<int>(lost->reason);
    }
  }
}

LeaseContendService::LeaseContendService(MutexContender& contender,
                                         const ContendServiceOptions& options,
                                         const LeaseParts& parts)
    : AbstractMutexContendService{contender, options.executor, parts.runtime,
                                  parts.plan->drain_limit},
      attachment_{parts.attachment},
      contention_{std::make_shared<LeaseContention>(
          contender, dispatcher(), request_of(contender, parts), parts, options.after_loss,
          parts.successions->of(contender.mutex(), contender.contender_id()))} {}

LeaseContendService::~LeaseContendService() {
  close();
  if (in_forked_child()) {
    detail::leak(contention_);
  } else {
    attachment_->leave_behind(contention_);
  }
}

}  // namespace simba::engine
