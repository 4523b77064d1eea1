#include "simba/locker/simba_locker.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "simba/core/abstract_mutex_contender.hpp"
#include "simba/core/contender_id_generator.hpp"
#include "simba/core/error.hpp"
#include "simba/core/fork_guard.hpp"
#include "simba/core/mutex_service_factory.hpp"

namespace simba {

namespace detail {

enum class WaitMode { until_held, ask_once };

/// What came of an acquire that ended without an error.
struct LockAttempt {
  bool held = false;
  std::string holder;               ///< who held the mutex instead, where known
  std::optional<Error> last_error;  ///< the newest that the store gave instead of an answer
};

}  // namespace detail

/// The contender of a locker. Its callbacks run on whatever thread brings the news, so all they do
/// is to note it.
class SimbaLocker::Impl final : public AbstractMutexContender {
 public:
  Impl(std::string mutex, std::string contender_id, MutexContendServiceFactory& factory);

  detail::LockAttempt acquire(LocalTime deadline, detail::WaitMode mode,
                              const std::stop_token& stop);
  detail::LockAttempt acquire_within(std::chrono::nanoseconds timeout);
  void close() noexcept;

  bool in_forked_child() const noexcept { return fork_guard_.in_child(); }
  const MutexContendService& service() const noexcept { return *service_; }
  FencingToken fencing_token() const noexcept { return fencing_token_.load(); }
  std::stop_token lost() const;
  TimeoutError timeout_error(std::chrono::nanoseconds timeout,
                             const detail::LockAttempt& attempt) const;

  void notify_owner(const MutexState& state) override;
  void on_event(const ContentionEvent& event) override;

 private:
  using Lock = std::unique_lock<std::mutex>;

  enum class Use {
    free,
    starting,   // the service is being started: short
    acquiring,  // somebody waits in acquire()
    held,       // until close(), also after a loss
    closing,    // the service is being stopped
  };

  /// Wakes a waiting acquire().
  struct Wake {
    Impl& impl;
    void operator()() const {
      { const Lock lock{impl.mutex_}; }  // whoever is about to wait does so by now
      impl.changed_.notify_all();
    }
  };

  std::uint64_t begin();
  void start_service();
  bool has_outcome(detail::WaitMode mode) const;
  void close_service(Lock& lock) noexcept;
  void set_use(Use use) noexcept;
  std::string names() const;
  Error with_names(const Error& error) const;

  // constant after construction
  const ForkGuard fork_guard_;
  const std::shared_ptr<const Runtime> runtime_;

  std::atomic<FencingToken> fencing_token_{0};

  std::mutex mutex_;
  std::condition_variable changed_;
  // guarded by mutex_
  Use use_ = Use::free;
  std::uint64_t life_ = 0;               // grows with each acquire and each close
  std::thread::id closer_{};             // while closing
  std::optional<FencingToken> granted_;  // in this life, as are the next two
  std::string holder_;                   // somebody else, maybe under our id
  std::optional<Error> last_error_;
  bool duplicate_ = false;  // another process uses our id: to go on would be to take turns with it

  // The last, so that it is closed while everything that it calls is there.
  const std::unique_ptr<MutexContendService> service_;
};

using detail::LockAttempt;
using detail::WaitMode;

namespace {

/// In the largest unit that needs no fraction.
std::string to_text(std::chrono::nanoseconds span) {
  const std::int64_t count = span.count();
  if (count % 1'000'000'000 == 0) return std::to_string(count / 1'000'000'000) + " s";
  if (count % 1'000'000 == 0) return std::to_string(count / 1'000'000) + " ms";
  if (count % 1'000 == 0) return std::to_string(count / 1'000) + " us";
  return std::to_string(count) + " ns";
}

}  // namespace

SimbaLocker::Impl::Impl(std::string mutex, std::string contender_id,
                        MutexContendServiceFactory& factory)
    : AbstractMutexContender{std::move(mutex), std::move(contender_id), factory.runtime()->log},
      runtime_{factory.runtime()},
      service_{factory.create_mutex_contend_service(
          *this, {.executor = make_inline_executor(), .after_loss = AfterLoss::stay_out})} {}

void SimbaLocker::Impl::notify_owner(const MutexState& state) {
  {
    const Lock lock{mutex_};
    const MutexOwner& owner = state.after();
    if (state.is_acquired(contender_id())) granted_ = owner.fencing_token();
    if (!owner.is_owner(contender_id())) holder_ = owner.owner_id();
  }
  changed_.notify_all();
}

void SimbaLocker::Impl::on_event(const ContentionEvent& event) {
  const auto* failed = std::get_if<AcquireFailed>(&event);
  const auto* lost = std::get_if<OwnershipLost>(&event);
  const bool is_duplicate =
      (failed != nullptr && failed->error.kind() == ErrorKind::duplicate_id) ||
      (lost != nullptr && lost->reason == LossReason::duplicate_id);
  if (failed == nullptr && !is_duplicate) return;
  {
    const Lock lock{mutex_};
    if (failed != nullptr) last_error_ = failed->error;
    if (failed != nullptr && failed->namesake) holder_ = contender_id();
    if (is_duplicate) duplicate_ = true;
  }
  changed_.notify_all();
}

LockAttempt SimbaLocker::Impl::acquire(LocalTime deadline, WaitMode mode,
                                       const std::stop_token& stop) {
  const std::uint64_t life = begin();
  if (stop.stop_requested()) {
    set_use(Use::free);
    return {};
  }
  start_service();

  // Made and destroyed with no lock held: it may run at once, and its end waits for its function.
  std::optional<std::stop_callback<Wake>> on_stop;
  if (stop.stop_possible()) on_stop.emplace(stop, Wake{*this});

  Lock lock{mutex_};
  const auto ended = [&] { return life_ != life || has_outcome(mode) || stop.stop_requested(); };
  try {
    if (!ended()) runtime_->waiter->wait_until(lock, changed_, deadline, ended);
  } catch (...) {
    if (life_ == life) close_service(lock);
    throw;
  }

  if (life_ != life) throw IllegalStateError{names() + ": closed while acquiring"};
  // Granted at the very end of the time is granted: nothing would be won by giving it back.
  if (granted_) {
    use_ = Use::held;
    fencing_token_ = *granted_;
    return {.held = true, .holder = {}, .last_error = {}};
  }
  LockAttempt attempt{.held = false, .holder = holder_, .last_error = last_error_};
  close_service(lock);
  if (const auto& error = attempt.last_error) {
    const bool asked_in_vain = mode == WaitMode::ask_once && attempt.holder.empty();
    if (asked_in_vain || !error->is_transient()) throw with_names(*error);
  }
  return attempt;
}

LockAttempt SimbaLocker::Impl::acquire_within(std::chrono::nanoseconds timeout) {
  if (timeout <= std::chrono::nanoseconds::zero()) return acquire(never, WaitMode::ask_once, {});
  const LocalTime now = runtime_->clock->now();
  return acquire(timeout < never - now ? now + timeout : never, WaitMode::until_held, {});
}

/// Makes this instance ours. Returns the number of the life that begins.
std::uint64_t SimbaLocker::Impl::begin() {
  if (in_forked_child()) {
    throw IllegalStateError{names() +
                            ": this locker belongs to the parent process; create a new factory and "
                            "locker after fork()"};
  }
  const Lock lock{mutex_};
  switch (use_) {
    case Use::free:
      break;
    case Use::starting:
    case Use::acquiring:
      throw IllegalStateError{names() + ": another acquire is in progress"};
    case Use::held:
      throw IllegalStateError{names() + ": already acquired; call close() first"};
    case Use::closing:
      throw IllegalStateError{names() + ": close() is still in progress"};
  }
  if (duplicate_) throw with_names(duplicate_id_error(contender_id()));
  use_ = Use::starting;
  granted_.reset();
  holder_.clear();
  last_error_.reset();
  return ++life_;
}

void SimbaLocker::Impl::start_service() {
  try {
    service_->start();
  } catch (...) {
    set_use(Use::free);
    throw;
  }
  set_use(Use::acquiring);
}

bool SimbaLocker::Impl::has_outcome(WaitMode mode) const {
  if (granted_) return true;
  if (mode == WaitMode::ask_once) return !holder_.empty() || last_error_;
  return last_error_ && !last_error_->is_transient();
}

void SimbaLocker::Impl::close() noexcept {
  if (in_forked_child()) return;
  const auto wait = [this](Lock& lock, const auto& ready) {
    runtime_->waiter->wait_until(lock, changed_, never, ready);
  };
  Lock lock{mutex_};
  if (use_ == Use::starting) wait(lock, [this] { return use_ != Use::starting; });
  if (use_ == Use::acquiring || use_ == Use::held) {
    close_service(lock);
  } else if (use_ == Use::closing && closer_ != std::this_thread::get_id()) {
    wait(lock, [this, life = life_] { return use_ != Use::closing || life_ != life; });
  }
}

/// Ends this life, so that nothing is held and nothing runs.
void SimbaLocker::Impl::close_service(Lock& lock) noexcept {
  use_ = Use::closing;
  ++life_;
  closer_ = std::this_thread::get_id();
  changed_.notify_all();
  lock.unlock();
  service_->close();
  lock.lock();
  use_ = Use::free;
  closer_ = {};
  changed_.notify_all();
}

void SimbaLocker::Impl::set_use(Use use) noexcept {
  const Lock lock{mutex_};
  use_ = use;
  changed_.notify_all();
}

std::stop_token SimbaLocker::Impl::lost() const {
  if (!in_forked_child()) return service_->lost();
  std::stop_source fired;
  fired.request_stop();
  return fired.get_token();
}

std::string SimbaLocker::Impl::names() const {
  return "mutex [" + mutex() + "], contender [" + contender_id() + "]";
}

Error SimbaLocker::Impl::with_names(const Error& error) const {
  return Error{error.kind(), names() + ": " + error.what()};
}

TimeoutError SimbaLocker::Impl::timeout_error(std::chrono::nanoseconds timeout,
                                              const LockAttempt& attempt) const {
  std::string message = names() + ": not acquired within " + to_text(timeout);
  if (!attempt.holder.empty()) message += "; held by [" + attempt.holder + "]";
  if (attempt.last_error) {
    message += "; last store error: ";
    message += attempt.last_error->what();
  }
  return TimeoutError{message};
}

SimbaLocker::SimbaLocker(std::string mutex, MutexContendServiceFactory& factory)
    : SimbaLocker{std::move(mutex), factory, ContenderIdGenerator::unique().generate()} {}

SimbaLocker::SimbaLocker(std::string mutex, MutexContendServiceFactory& factory,
                         std::string contender_id)
    : impl_{std::make_unique<Impl>(std::move(mutex), std::move(contender_id), factory)} {}

SimbaLocker::~SimbaLocker() {
  if (impl_->in_forked_child()) {
    // A thread of the parent may have held a lock of it, or waited on it, when the child was
    // forked. Nobody there can end that, so the child leaks it.
    static_cast<void>(impl_.release());
    return;
  }
  impl_->close();
}

void SimbaLocker::acquire() { impl_->acquire(never, WaitMode::until_held, {}); }

void SimbaLocker::acquire(std::chrono::nanoseconds timeout) {
  const LockAttempt attempt = impl_->acquire_within(timeout);
  if (!attempt.held) throw impl_->timeout_error(timeout, attempt);
}

bool SimbaLocker::try_acquire(std::stop_token stop) {
  return impl_->acquire(never, WaitMode::until_held, stop).held;
}

bool SimbaLocker::try_acquire() { return impl_->acquire(never, WaitMode::ask_once, {}).held; }

bool SimbaLocker::acquire_for(std::chrono::nanoseconds timeout) {
  return impl_->acquire_within(timeout).held;
}

void SimbaLocker::close() noexcept { impl_->close(); }

bool SimbaLocker::is_held() const noexcept { return impl_->service().is_owner(); }

std::chrono::nanoseconds SimbaLocker::lease_left() const noexcept {
  return impl_->service().lease_left();
}

FencingToken SimbaLocker::fencing_token() const noexcept { return impl_->fencing_token(); }

std::stop_token SimbaLocker::lost() const { return impl_->lost(); }

const std::string& SimbaLocker::mutex() const noexcept { return impl_->mutex(); }

const std::string& SimbaLocker::contender_id() const noexcept { return impl_->contender_id(); }

}  // namespace simba
