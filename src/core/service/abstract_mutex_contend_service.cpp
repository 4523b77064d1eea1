#include "simba/core/abstract_mutex_contend_service.hpp"

#include <algorithm>
#include <utility>

#include "simba/core/abstract_mutex_contender.hpp"

namespace simba {

AbstractMutexContendService::AbstractMutexContendService(MutexContender& contender,
                                                         std::shared_ptr<Executor> executor,
                                                         std::shared_ptr<const Runtime> runtime,
                                                         std::chrono::nanoseconds drain_limit)
    : AbstractMutexRetrievalService{contender, std::move(executor), std::move(runtime),
                                    drain_limit},
      contender_{contender} {}

bool AbstractMutexContendService::is_owner() const noexcept {
  return status() == ServiceStatus::running &&
         mutex_state().after().is_in_transition_of(contender_id());
}

bool AbstractMutexContendService::is_in_ttl() const noexcept {
  return status() == ServiceStatus::running && mutex_state().after().is_in_ttl(contender_id());
}

LocalTime AbstractMutexContendService::lease_until() const noexcept {
  const MutexOwner owner = mutex_state().after();
  return owner.is_owner(contender_id()) ? owner.local_lease().transition_at : LocalTime::min();
}

std::chrono::nanoseconds AbstractMutexContendService::lease_left() const noexcept {
  const LocalTime now = runtime()->clock->now();
  return std::max(lease_until(), now) - now;
}

std::stop_token AbstractMutexContendService::lost() const {
  return in_forked_child() ? OwnershipSignal{}.token() : signal_.token();
}

FencingToken AbstractMutexContendService::fencing_token() const noexcept {
  return signal_.fencing_token();
}

void AbstractMutexContendService::notify_owner(MutexOwner owner) {
  const bool was_ours = mutex_state().is_owner(contender_id());
  const bool is_ours = owner.is_owner(contender_id());
  if (is_ours && !was_ours) signal_.begin(owner.fencing_token());
  if (was_ours && !is_ours) signal_.fire(signal_.source());
  AbstractMutexRetrievalService::notify_owner(std::move(owner));
}

void AbstractMutexContendService::start_retrieval() {
  if (auto* const contender = dynamic_cast<AbstractMutexContender*>(&contender_)) {
    contender->served_with(runtime()->log);
  }
  start_contend();
}

void AbstractMutexContendService::stop_retrieval() { stop_contend(); }

}  // namespace simba
