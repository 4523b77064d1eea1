#include "engine/lock_operation.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <utility>
#include <variant>

#include "engine/owner_view.hpp"
#include "engine/request_count.hpp"
#include "engine/retry.hpp"
#include "simba/core/names.hpp"

namespace simba::engine {

namespace {

using Outcome = LockAnswer::Outcome;

// So many are remembered; more are a program that makes up ids which others have.
constexpr std::size_t most_barred = 256;

constexpr std::size_t room_of_a_lock =
    JointBlock::room_of<LockOperation> + JointBlock::room_of<LeaseRequest> +
    JointBlock::room_of<OwnerDispatcher> + JointBlock::room_of<LeaseContention>;

std::shared_ptr<LeaseRequest> make_names(JointBlock& block, LockRequest& request,
                                         const LeaseParts& parts) {
  auto names = block.make<LeaseRequest>();
  names->mutex = std::move(request.mutex);
  names->contender_id = std::move(request.contender_id);
  names->ttl = request.plan->ttl;
  names->transition = request.plan->transition;
  names->instance = parts.instance;
  return names;
}

LeaseParts with_plan(LeaseParts parts, std::shared_ptr<const ContentionPlan> plan) {
  parts.plan = std::move(plan);
  return parts;
}

bool is_duplicate(const ContentionEvent& event) {
  const auto* failed = std::get_if<AcquireFailed>(&event);
  const auto* lost = std::get_if<OwnershipLost>(&event);
  return (failed != nullptr && failed->error.kind() == ErrorKind::duplicate_id) ||
         (lost != nullptr && lost->reason == LossReason::duplicate_id);
}

}  // namespace

// ---- all of a client -------------------------------------------------------------------------

LockOperations::LockOperations(LeaseParts parts, std::shared_ptr<Executor> executor)
    : parts_{.store = parts.store,
             .attachment = nullptr,
             .runtime = parts.runtime,
             .plan = parts.plan,
             .renew_phase = parts.renew_phase,
             .successions = parts.successions,
             .alarms = parts.alarms,
             .instance = parts.instance},
      executor_{std::move(executor)},
      inline_{make_inline_executor()},
      attachment_{std::move(parts.attachment)} {}

std::shared_ptr<LockOperation> LockOperations::make(LockRequest request) {
  const NameLimits limits = parts_.store->name_limits();
  check_name("mutex name", request.mutex, limits.mutex);
  check_name("contender id", request.contender_id, limits.contender_id);
  parts_.store->check_names(request.mutex, request.contender_id);
  if (is_barred(request)) {
    throw Error{ErrorKind::duplicate_id,
                "mutex [" + request.mutex + "], contender [" + request.contender_id +
                    "]: " + duplicate_id_error(request.contender_id).what()};
  }
  if (!request.plan) request.plan = parts_.plan;
  JointBlock block{room_of_a_lock};
  return block.make<LockOperation>(shared_from_this(), std::move(request), block);
}

void LockOperations::dispatch(std::string who, std::function<void()> task) const {
  const auto& runtime = parts_.runtime;
  const auto line = make_line(std::move(who));
  if (line) line->waits();
  // Without the runtime: an executor that has stopped may keep it.
  const auto run = [weak_log = std::weak_ptr{runtime->log}, line, task = std::move(task)] {
    const auto log = weak_log.lock();
    const auto tell = [&log](const std::string& what) {
      if (log) log->log(LogLevel::error, "a callback of a client threw: " + what);
    };
    if (line) line->begins();
    try {
      task();
    } catch (const std::exception& e) {
      tell(e.what());
    } catch (...) {
      tell("unknown exception");
    }
    if (line) line->ends();
  };
  const auto pass_on = [runtime, executor = executor_, run] {
    if (!executor) return run();
    try {
      executor->execute(run);
      return;
    } catch (const std::exception& e) {
      runtime->log->log(LogLevel::error, std::string{"the executor of a client rejected a task: "} +
                                             e.what() +
                                             "; running it on the runtime's own executor");
    } catch (...) {
      runtime->log->log(LogLevel::error,
                        "the executor of a client rejected a task: unknown exception; running it "
                        "on the runtime's own executor");
    }
    run();
  };
  // Not on this thread, which may be that of all timers: who knows how long it takes. But rather
  // there than never.
  try {
    runtime->callbacks->execute(pass_on);
  } catch (...) {
    run();
  }
}

std::shared_ptr<DelayMonitor::Line> LockOperations::make_line(std::string who) const {
  const Runtime& runtime = *parts_.runtime;
  if (!runtime.delays) return nullptr;
  return std::make_shared<DelayMonitor::Line>(
      runtime.delays, std::move(who), executor_ ? executor_.get() : runtime.callbacks.get(),
      executor_ ? "its executor is busy or has stopped"
                : "make callbacks return sooner or raise RuntimeOptions::max_callback_threads");
}

LeaseParts LockOperations::parts() const {
  LeaseParts parts = parts_;
  const std::lock_guard lock{mutex_};
  parts.attachment = attachment_;
  return parts;
}

void LockOperations::bar(const std::string& mutex, const std::string& contender_id) {
  const std::lock_guard lock{mutex_};
  std::pair pair{mutex, contender_id};
  if (std::find(barred_.begin(), barred_.end(), pair) != barred_.end()) return;
  barred_.push_back(std::move(pair));
  if (barred_.size() > most_barred) barred_.pop_front();
}

bool LockOperations::is_barred(const LockRequest& request) const {
  const std::lock_guard lock{mutex_};
  return std::any_of(barred_.begin(), barred_.end(), [&](const auto& pair) {
    return pair.first == request.mutex && pair.second == request.contender_id;
  });
}

void LockOperations::enter(LockOperation& operation) {
  const std::lock_guard lock{mutex_};
  if (!attachment_) throw IllegalStateError{"the client was closed"};
  operation.attachment_ = attachment_;
  add(operation);
}

void LockOperations::enter_again(LockOperation& operation) noexcept {
  try {
    const std::lock_guard lock{mutex_};
    add(operation);
  } catch (const std::exception& e) {  // then nobody waits for it
    parts_.runtime->log->log(LogLevel::error, std::string{"internal error: "} + e.what());
  }
}

/// Under mutex_.
void LockOperations::add(LockOperation& operation) {
  open_.push_back(&operation);
  operation.place_ = open_.size() - 1;
}

void LockOperations::leave(LockOperation& operation) noexcept {
  {
    const std::lock_guard lock{mutex_};
    const std::size_t place = operation.place_;
    if (place == LockOperation::nowhere) return;
    open_[place] = open_.back();
    open_[place]->place_ = place;
    open_.pop_back();
    operation.place_ = LockOperation::nowhere;
  }
  changed_.notify_all();
}

std::vector<std::shared_ptr<LockOperation>> LockOperations::open() const {
  std::vector<std::shared_ptr<LockOperation>> open;
  const std::lock_guard lock{mutex_};
  open.reserve(open_.size());
  for (LockOperation* operation : open_) open.push_back(operation->shared_from_this());
  return open;
}

void LockOperations::close() noexcept {
  if (fork_guard_.in_child()) return;
  try {
    std::shared_ptr<Attachment> attachment;  // dropped last
    {
      const std::lock_guard lock{mutex_};
      attachment.swap(attachment_);
    }
    std::size_t our_callers = 0;
    for (const auto& operation : open()) {
      operation->close();
      if (operation->calls_us()) ++our_callers;
    }
    {
      std::unique_lock lock{mutex_};
      const LocalTime deadline = parts_.runtime->clock->now() + parts_.plan->release_wait;
      const auto ended = [&] { return open_.size() <= our_callers; };
      if (!ended()) parts_.runtime->waiter->wait_until(lock, changed_, deadline, ended);
    }
    for (const auto& operation : open()) {
      if (!operation->calls_us()) operation->abandon();
    }
  } catch (const std::exception& e) {
    parts_.runtime->log->log(LogLevel::error, std::string{"failed to close a client: "} + e.what());
  }
}

// ---- one lock --------------------------------------------------------------------------------

LockOperation::LockOperation(std::shared_ptr<LockOperations> all, LockRequest request,
                             JointBlock& block)
    : all_{std::move(all)},
      names_{make_names(block, request, all_->parts_)},
      wait_mode_{request.wait_mode},
      deadline_{request.deadline},
      max_hold_{request.max_hold},
      plan_{std::move(request.plan)},
      dispatcher_{block.make<OwnerDispatcher>(*this, all_->inline_, all_->parts_.runtime)},
      contention_{block.make<LeaseContention>(
          *this, dispatcher_, names_, with_plan(all_->parts_, plan_), AfterLoss::stay_out,
          request.own_id ? nullptr : all_->parts_.successions->of(mutex(), contender_id()))} {}

LockOperation::~LockOperation() {
  if (!fork_guard_.in_child()) return;
  static_cast<void>(timer_.release());  // all of it belongs to the parent
  detail::leak(dispatcher_);
  detail::leak(contention_);
  detail::leak(attachment_);
  detail::leak(all_);
}

void LockOperation::start(Answered answered) {
  const auto self = shared_from_this();
  std::optional<LockAnswer> deferred;
  {
    const std::lock_guard lock{mutex_};
    deferred.swap(deferred_);
    if (deferred) state_ = State::released;
  }
  if (deferred) return answered(self, std::move(*deferred));  // the store need not know
  try {
    {
      const std::lock_guard lock{mutex_};
      if (deadline_ != never || max_hold_) {
        timer_ = all_->parts_.runtime->timers->create([weak = weak_from_this()] {
          if (const auto locked = weak.lock()) locked->tick();
        });
        arm(deadline_);
      }
      answered_ = std::move(answered);
      alive_ = self;
    }
    all_->enter(*this);
    contention_->start();
  } catch (...) {
    std::shared_ptr<Attachment> attachment;
    {
      const std::lock_guard lock{mutex_};
      state_ = State::released;
      starting_ = false;
      alive_.reset();
      attachment.swap(attachment_);
      if (answered_) answered.swap(answered_);  // else it was not taken yet
      if (timer_) arm(never);
    }
    all_->leave(*this);
    if (answered) answered(self, {.outcome = Outcome::failed, .thrown = std::current_exception()});
    return;
  }
  {
    const std::lock_guard lock{mutex_};
    starting_ = false;
    deferred.swap(deferred_);
  }
  if (deferred) answer(std::move(*deferred));
}

void LockOperation::cancel() {
  if (fork_guard_.in_child()) return;
  end_wait({.outcome = Outcome::cancelled});
}

void LockOperation::close() {
  end_wait({.outcome = Outcome::failed,
            .holder = {},
            .error = IllegalStateError{"the client was closed while waiting"}});
}

/// From outside, perhaps before the contention has begun.
void LockOperation::end_wait(LockAnswer answer) {
  {
    const std::lock_guard lock{mutex_};
    if (state_ != State::waiting) return;
    if (starting_) {
      if (!deferred_) deferred_ = std::move(answer);
      return;
    }
  }
  this->answer(std::move(answer));
}

/// Whoever comes first ends the wait.
void LockOperation::answer(LockAnswer answer) {
  bool is_held = false;
  Answered answered;
  std::shared_ptr<LockOperation> self;
  {
    const std::lock_guard lock{mutex_};
    if (state_ != State::waiting) return;
    if (auto earlier = std::exchange(deferred_, std::nullopt)) answer = std::move(*earlier);
    is_held = answer.outcome == Outcome::held;
    state_ = is_held ? State::held : State::unlocking;
    answered.swap(answered_);
    self = is_held ? std::move(alive_) : alive_;
    if (is_held && max_hold_) {
      const LocalTime now = all_->parts_.runtime->clock->now();
      arm(*max_hold_ < never - now ? now + *max_hold_ : never);
    } else if (timer_) {
      arm(never);
    }
    if (!is_held) {
      if (answer.holder.empty()) answer.holder = holder_;
      if (!answer.error) answer.error = last_error_;
    }
  }
  if (is_held) {
    all_->leave(*this);
  } else {
    stop_contention(LeaseContention::SignalThread::caller);
  }
  answered(self, std::move(answer));
}

/// Under mutex_: calls on one timer must not overlap.
void LockOperation::arm(LocalTime due) {
  due_ = due;
  timer_->arm(due);
}

void LockOperation::tick() {
  State state{};
  {
    const std::lock_guard lock{mutex_};
    if (all_->parts_.runtime->clock->now() < due_) return;
    due_ = never;
    state = state_;
    if (state == State::held && contention_->loss()) return;  // it has ended already
    if (state == State::held) {
      state_ = State::overdue;
      overdue_ = true;
      dispatcher_->hold();  // until it is unlocked: what is done under it goes on
    }
  }
  if (state == State::waiting) end_wait({.outcome = Outcome::timed_out});
  if (state != State::held) return;
  all_->parts_.runtime->log->log(
      LogLevel::warn, "mutex [" + mutex() + "], contender [" + contender_id() +
                          "]: held for longer than max_hold; telling the holder, and renewing the "
                          "lease for the drain limit at most");
  stop_contention(LeaseContention::SignalThread::signals);
}

void LockOperation::unlock(Ended ended) {
  State before{};
  bool confirmed = false;
  // The event that tells it may still be on its way.
  if (contention_->loss() == LossReason::duplicate_id) {
    all_->bar(mutex(), contender_id());
  }
  {
    const std::lock_guard lock{mutex_};
    before = state_;
    if (before == State::held || before == State::overdue) {
      state_ = State::unlocking;
      ended_.swap(ended);
      alive_ = shared_from_this();
      if (timer_) arm(never);
    }
    confirmed = confirmed_;
  }
  if (before == State::held) {
    all_->enter_again(*this);
    signals_in_ = std::this_thread::get_id();
    stop_contention(LeaseContention::SignalThread::caller);
    signals_in_ = std::thread::id{};
    contention_->holder_left();
  } else if (before == State::overdue) {
    all_->enter_again(*this);
    contention_->leave();
    contention_->holder_left();
    dispatcher_->resume();
  } else if (ended) {
    ended(confirmed);
  }
}

void LockOperation::stop_contention(LeaseContention::SignalThread thread) {
  contention_->stop_async(thread, [this] { end(); });
}

void LockOperation::abandon() noexcept {
  std::shared_ptr<Attachment> attachment;
  {
    const std::lock_guard lock{mutex_};
    if (state_ != State::unlocking) return;  // granted meanwhile, or about to end by itself
    attachment.swap(attachment_);
  }
  if (attachment) attachment->leave_behind(contention_);
}

/// The last that is heard of the contention.
void LockOperation::end() {
  const auto self = shared_from_this();  // until here the holder or `alive_` has kept it alive
  const bool confirmed = contention_->release_confirmed();
  Ended ended;
  std::shared_ptr<Attachment> attachment;
  {
    const std::lock_guard lock{mutex_};
    state_ = State::released;
    confirmed_ = confirmed;
    ended.swap(ended_);
    attachment.swap(attachment_);
    alive_.reset();
  }
  attachment.reset();  // first: whoever waits for the end may count on it
  all_->leave(*this);
  if (ended) ended(confirmed);
}

void LockOperation::notify_owner(const MutexState& state) {
  const MutexOwner& owner = state.after();
  if (state.is_acquired(contender_id())) {
    lost_ = contention_->lost();
    answer({.outcome = Outcome::held});
    return;
  }
  if (owner.is_owner(contender_id()) || owner.owner_id().empty()) return;
  {
    const std::lock_guard lock{mutex_};
    holder_ = owner.owner_id();
  }
  if (wait_mode_ == LockRequest::WaitMode::ask_once) {
    answer({.outcome = Outcome::busy, .holder = owner.owner_id()});
  }
}

void LockOperation::on_event(const ContentionEvent& event) {
  if (is_duplicate(event)) all_->bar(mutex(), contender_id());
  const auto* failed = std::get_if<AcquireFailed>(&event);
  if (failed == nullptr) return;
  {
    const std::lock_guard lock{mutex_};
    last_error_ = failed->error;
    if (failed->namesake) holder_ = contender_id();
  }
  const bool asks_once = wait_mode_ == LockRequest::WaitMode::ask_once;
  if (asks_once && failed->namesake) {
    answer({.outcome = Outcome::busy, .holder = contender_id()});
  } else if (asks_once || is_duplicate(event) || !failed->error.is_transient()) {
    answer({.outcome = Outcome::failed, .holder = {}, .error = failed->error});
  }
}

bool LockOperation::held() const noexcept {
  return state_.load() == State::held && contention_->is_owner();
}

// Who asks afresh is told at once, even if no timer has run since the lease ended.
std::stop_token LockOperation::lost() const { return held() ? lost_ : OwnershipSignal{}.token(); }

std::chrono::nanoseconds LockOperation::lease_left() const noexcept {
  const State state = state_.load();
  if (state != State::held && state != State::overdue) return std::chrono::nanoseconds{0};
  const LocalTime now = all_->parts_.runtime->clock->now();
  return std::max(contention_->lease_until(), now) - now;
}

LeaseParts LockOperation::parts() const {
  LeaseParts parts = with_plan(all_->parts_, plan_);
  const std::lock_guard lock{mutex_};
  parts.attachment = attachment_;
  return parts;
}

// ---- one look --------------------------------------------------------------------------------

namespace {

/// Answers once: by the store or by the time.
class OneLook : public std::enable_shared_from_this<OneLook> {
 public:
  OneLook(LeaseParts parts, OwnerAnswered answered)
      : parts_{std::move(parts)}, answered_{std::move(answered)} {}

  void start(const std::string& mutex) {
    {
      const std::lock_guard lock{mutex_};
      timer_ = parts_.runtime->timers->create([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->tick();
      });
      asked_at_ = parts_.runtime->clock->now();
      timer_->arm(asked_at_ + parts_.plan->request_timeout);
    }
    LeaseRequest request;
    request.mutex = mutex;
    const AnswerHandler handler = [self = shared_from_this()](const LeaseAnswer& answer) {
      self->receive(answer);
    };
    try {
      parts_.store->retrieve(request, handler);
    } catch (const std::exception& e) {
      handler(Error{ErrorKind::internal, std::string{"the store threw: "} + e.what()});
    }
  }

 private:
  void receive(const LeaseAnswer& answer) {
    count(parts_.runtime->statistics.get(), *parts_.runtime->clock, RequestKind::look, asked_at_,
          answer.error());
    if (const Error* error = answer.error()) {
      finish({.owner = {}, .error = *error});
      return;
    }
    const LeaseRecord& record = *answer.record();
    finish({.owner = to_owner(view_of(record, record.counted_from.value_or(asked_at_)),
                              parts_.runtime->clock),
            .error = {}});
  }

  void tick() {
    if (parts_.runtime->clock->now() < asked_at_ + parts_.plan->request_timeout) return;
    finish({.owner = {}, .error = no_answer("retrieve", *parts_.plan)});
  }

  void finish(OwnerAnswer answer) {
    OwnerAnswered answered;
    std::shared_ptr<Attachment> attachment;
    {
      const std::lock_guard lock{mutex_};
      if (!answered_) return;
      answered.swap(answered_);
      attachment.swap(parts_.attachment);
      timer_->cancel();
    }
    attachment.reset();  // first: whoever waits for the answer may count on it
    answered(std::move(answer));
  }

  LeaseParts parts_;  // the attachment is guarded by mutex_, the rest constant
  LocalTime asked_at_{};

  std::mutex mutex_;
  // guarded by mutex_
  OwnerAnswered answered_;
  std::unique_ptr<Timer> timer_;
};

}  // namespace

void retrieve_owner(LeaseParts parts, const std::string& mutex, OwnerAnswered answered) {
  check_name("mutex name", mutex, parts.store->name_limits().mutex);
  parts.store->check_names(mutex, {});
  std::make_shared<OneLook>(std::move(parts), std::move(answered))->start(mutex);
}

}  // namespace simba::engine
