#include "simba/locker/simba_locker.hpp"

#include <utility>

#include "locker/simba_locker_impl.hpp"
#include "simba/core/contender_id_generator.hpp"

namespace simba {

using detail::LockAttempt;
using detail::Patience;

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

void SimbaLocker::acquire() { impl_->acquire(never, Patience::until_held, {}); }

void SimbaLocker::acquire(std::chrono::nanoseconds timeout) {
  const LockAttempt attempt = impl_->acquire_within(timeout);
  if (!attempt.held) throw impl_->timeout_error(timeout, attempt);
}

bool SimbaLocker::acquire(std::stop_token stop) {
  return impl_->acquire(never, Patience::until_held, stop).held;
}

bool SimbaLocker::try_acquire() { return impl_->acquire(never, Patience::ask_once, {}).held; }

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
