#include "simba/core/owner_dispatcher.hpp"

#include <exception>
#include <string>
#include <utility>

#include "core/threads/prompt_executor.hpp"
#include "simba/core/mutex_contender.hpp"

namespace simba {

namespace {

void log_escaped(Logger& log, const std::string& mutex, std::string_view what) {
  log.log(LogLevel::error, "callback of mutex [" + mutex + "] threw: " + std::string{what} +
                               "; the exception is ignored and contention continues");
}

void log_refused(Logger& log, const std::string& mutex, std::string_view what) {
  log.log(LogLevel::error, "the executor for callbacks of mutex [" + mutex + "] rejected a task: " +
                               std::string{what} + "; running it on the runtime's own executor");
}

}  // namespace

OwnerDispatcher::OwnerDispatcher(MutexRetriever& retriever, std::shared_ptr<Executor> executor,
                                 std::shared_ptr<const Runtime> runtime)
    : retriever_{retriever},
      executor_{executor ? executor : runtime->callbacks},
      runtime_{std::move(runtime)},
      threads_{threads_of(*executor_, *runtime_)},
      mutex_name_{retriever.mutex()},
      line_{make_line()} {}

OwnerDispatcher::Threads OwnerDispatcher::threads_of(const Executor& executor,
                                                     const Runtime& runtime) {
  if (&executor == runtime.callbacks.get()) return Threads::runtime;
  const auto* const prompt = dynamic_cast<const detail::PromptExecutor*>(&executor);
  if (prompt == nullptr) return Threads::given;
  return prompt->is_inline() ? Threads::caller : Threads::prompt;
}

MutexState OwnerDispatcher::state() const {
  const std::lock_guard lock{mutex_};
  return {before_, after_};
}

void OwnerDispatcher::publish(MutexOwner after) {
  const std::lock_guard lock{mutex_};
  set(std::move(after));
  enqueue_state();
}

void OwnerDispatcher::refresh(MutexOwner after) {
  const std::lock_guard lock{mutex_};
  set(std::move(after));
}

void OwnerDispatcher::update(MutexOwner after) {
  const std::lock_guard lock{mutex_};
  set(std::move(after));
  if (before_.owner_id() != after_.owner_id()) enqueue_state();
}

void OwnerDispatcher::reset() {
  const std::lock_guard lock{mutex_};
  before_ = MutexOwner::none();
  after_ = MutexOwner::none();
}

/// Under mutex_, as the next.
void OwnerDispatcher::set(MutexOwner after) { before_ = std::exchange(after_, std::move(after)); }

void OwnerDispatcher::enqueue_state() {
  if (!discarding_) queue_.push_back(MutexState{before_, after_});
}

void OwnerDispatcher::post(Task task) {
  const std::lock_guard lock{mutex_};
  if (!discarding_) queue_.push_back(std::move(task));
}

void OwnerDispatcher::post_first(Task task) {
  const std::lock_guard lock{mutex_};
  if (!discarding_) queue_.push_front(std::move(task));
}

void OwnerDispatcher::discard() {
  detail::ShortQueue<Entry> dropped;  // destroyed with no lock held
  const std::lock_guard lock{mutex_};
  discarding_ = true;
  std::swap(dropped, queue_);
  if (line_) line_->is_empty();
}

void OwnerDispatcher::open() {
  const std::lock_guard lock{mutex_};
  discarding_ = false;
}

void OwnerDispatcher::hold() {
  const std::lock_guard lock{mutex_};
  ++holds_;
}

void OwnerDispatcher::resume() {
  {
    const std::lock_guard lock{mutex_};
    --holds_;
    idle_.notify_all();
  }
  deliver();
}

std::size_t OwnerDispatcher::backlog() const {
  const std::lock_guard lock{mutex_};
  return queue_.size();
}

bool OwnerDispatcher::running_in_this_thread() const {
  const std::lock_guard lock{mutex_};
  return runner_ == std::this_thread::get_id();
}

bool OwnerDispatcher::serves_this_thread() const {
  return running_in_this_thread() || executor_->running_in_this_thread();
}

void OwnerDispatcher::deliver() {
  {
    const std::lock_guard lock{mutex_};
    if (holds_ > 0 || queue_.empty()) return;
    if (line_) line_->waits();
    if (std::exchange(scheduled_, true)) return;
  }
  // From here on someone else may run the queue: the service, and with it the retriever, may be
  // gone any moment.
  if (threads_ == Threads::caller) {
    if (const auto self = weak_from_this().lock()) self->run_queue();
    return;
  }
  if (threads_ != Threads::given) return hand_over();
  // Not on this thread, which may be that of all timers: who knows how long it takes.
  try {
    runtime_->callbacks->execute([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->hand_over();
    });
  } catch (...) {
    give_up_run();
  }
}

void OwnerDispatcher::hand_over() {
  {
    const std::lock_guard lock{mutex_};
    if (queue_.empty()) {  // a caller of quiesce() has run it
      scheduled_ = false;
      return;
    }
  }
  // Weak: an executor that has stopped may keep its tasks, and this keeps the executor.
  const auto run = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->run_queue();
  };
  try {
    executor_->execute(run);
    return;
  } catch (const std::exception& e) {
    log_refused(*runtime_->log, mutex_name_, e.what());
  } catch (...) {
    log_refused(*runtime_->log, mutex_name_, "unknown exception");
  }
  try {
    runtime_->callbacks->execute(run);
  } catch (...) {
    give_up_run();
  }
}

void OwnerDispatcher::give_up_run() {
  const std::lock_guard lock{mutex_};
  scheduled_ = false;
}

// A caller of quiesce() may be running the queue already: it will then see what is left.
void OwnerDispatcher::run_queue() {
  {
    std::unique_lock lock{mutex_};
    while (!queue_.empty() && holds_ == 0 && runner_ == std::thread::id{}) run_one(lock);
    scheduled_ = false;
  }
  idle_.notify_all();  // without the lock, which the one that wakes takes at once
}

void OwnerDispatcher::run_one(std::unique_lock<std::mutex>& lock) {
  Entry entry = queue_.pop_front();
  const std::thread::id outer = std::exchange(runner_, std::this_thread::get_id());
  if (line_) {
    line_->begins();
    if (!queue_.empty()) line_->waits();
  }
  lock.unlock();
  try {
    if (const auto* const state = std::get_if<MutexState>(&entry)) {
      retriever_.notify_owner(*state);
    } else {
      std::get<Task>(entry)();
    }
  } catch (const std::exception& e) {
    log_escaped(*runtime_->log, mutex_name_, e.what());
  } catch (...) {
    log_escaped(*runtime_->log, mutex_name_, "unknown exception");
  }
  entry = Task{};
  lock.lock();
  runner_ = outer;
  if (line_ && outer == std::thread::id{}) line_->ends();
}

bool OwnerDispatcher::quiesce(LocalTime deadline) {
  bool helps = serves_this_thread();  // asks the executor, which may be the user's, without a lock
  std::unique_lock lock{mutex_};
  const bool nested = runner_ == std::this_thread::get_id();
  const auto may_run = [&] { return nested || runner_ == std::thread::id{}; };
  const auto done = [&] { return queue_.empty() && may_run(); };
  const auto can_help = [&] { return helps && holds_ == 0 && !queue_.empty() && may_run(); };
  while (true) {
    while (can_help()) {
      run_one(lock);
      idle_.notify_all();
    }
    if (done()) return true;
    const LocalTime now = runtime_->clock->now();
    const LocalTime until = !helps && deadline - now > patience() ? now + patience() : deadline;
    const bool ready =
        runtime_->waiter->wait_until(lock, idle_, until, [&] { return done() || can_help(); });
    if (ready) continue;
    if (auto* const prompt = dynamic_cast<detail::PromptExecutor*>(executor_.get())) {
      lock.unlock();
      prompt->run_kept();
      lock.lock();
    } else if (!helps && holds_ == 0 && runner_ == std::thread::id{}) {
      helps = take_over(lock);
      continue;
    }
    if (until == deadline && !done() && !can_help()) return false;
  }
}

/// Nobody has begun what is queued. The executor may do so later: it finds nothing then.
bool OwnerDispatcher::take_over(std::unique_lock<std::mutex>& lock) {
  scheduled_ = false;
  lock.unlock();
  runtime_->log->log(LogLevel::warn,
                     "callbacks of mutex [" + mutex_name_ +
                         "] have not started: their executor is busy or has stopped; running them "
                         "on the thread that stops the service");
  lock.lock();
  return true;
}

std::chrono::nanoseconds OwnerDispatcher::patience() const noexcept {
  using namespace std::chrono_literals;
  return threads_ == Threads::given ? 1s : 100ms;
}

std::unique_ptr<DelayMonitor::Line> OwnerDispatcher::make_line() const {
  if (!runtime_->delays || threads_ == Threads::caller || threads_ == Threads::prompt) {
    return nullptr;
  }
  std::string who = "a callback of mutex [" + mutex_name_ + "]";
  if (const auto* const contender = dynamic_cast<const MutexContender*>(&retriever_)) {
    who += ", contender [" + contender->contender_id() + "]";
  }
  return std::make_unique<DelayMonitor::Line>(
      runtime_->delays, std::move(who), executor_.get(),
      threads_ == Threads::given
          ? "its executor is busy or has stopped"
          : "make callbacks return sooner or raise RuntimeOptions::max_callback_threads");
}

}  // namespace simba
