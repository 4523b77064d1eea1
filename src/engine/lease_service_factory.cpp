#include "simba/engine/lease_service_factory.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "engine/alarms.hpp"
#include "engine/attachment.hpp"
#include "engine/checked_records.hpp"
#include "engine/lease_contention.hpp"
#include "engine/lease_retrieval_service.hpp"
#include "engine/lock_operation.hpp"
#include "engine/succession.hpp"
#include "simba/core/error.hpp"

namespace simba::engine {

namespace {

template <class T>
std::shared_ptr<T> given(std::shared_ptr<T> part, const char* what) {
  if (!part) throw InvalidArgumentError{std::string{"a factory needs "} + what + " (got nullptr)"};
  return part;
}

std::shared_ptr<const Runtime> complete(std::shared_ptr<const Runtime> runtime) {
  given(runtime, "a runtime");
  given(runtime->clock, "a runtime with a clock");
  given(runtime->timers, "a runtime with timers");
  given(runtime->callbacks, "a runtime with an executor for callbacks");
  given(runtime->workers, "a runtime with an executor for work");
  given(runtime->signals, "a runtime with an executor for loss signals");
  given(runtime->waiter, "a runtime with a waiter");
  given(runtime->random, "a runtime with randomness");
  given(runtime->log, "a runtime with a log");
  return runtime;
}

}  // namespace

LeaseServiceFactory::LeaseServiceFactory(std::shared_ptr<LeaseStore> store,
                                         std::shared_ptr<const Runtime> runtime,
                                         const ContentionOptions& options)
    : store_{given(std::move(store), "a store")},
      attachment_{std::make_shared<Attachment>(store_->attach())},
      runtime_{complete(std::move(runtime))},
      options_{options},
      plan_{std::make_shared<const ContentionPlan>(options_)},
      renew_phase_{runtime_->random->between(std::chrono::nanoseconds{0}, plan_->ttl)},
      successions_{std::make_shared<Successions>()},
      alarms_{std::make_shared<Alarms>(runtime_->timers)},
      instance_{runtime_->random->next() | 1U} {}

std::unique_ptr<MutexContendService> LeaseServiceFactory::create_mutex_contend_service(
    MutexContender& contender, const ContendServiceOptions& options) {
  return create_mutex_contend_service(contender, options, plan_);
}

std::unique_ptr<MutexContendService> LeaseServiceFactory::create_mutex_contend_service(
    MutexContender& contender, const ContendServiceOptions& options,
    std::shared_ptr<const ContentionPlan> plan) {
  check_process();
  given(plan, "a plan");
  const NameLimits limits = store_->name_limits();
  check_name("mutex name", contender.mutex(), limits.mutex);
  check_name("contender id", contender.contender_id(), limits.contender_id);
  store_->check_names(contender.mutex(), contender.contender_id());
  LeaseParts parts = this->parts();
  parts.plan = std::move(plan);
  return std::make_unique<LeaseContendService>(contender, options, parts);
}

std::unique_ptr<MutexRetrievalService> LeaseServiceFactory::create_mutex_retrieval_service(
    MutexRetriever& retriever, const RetrievalServiceOptions& options) {
  check_process();
  check_name("mutex name", retriever.mutex(), store_->name_limits().mutex);
  store_->check_names(retriever.mutex(), {});
  return std::make_unique<LeaseRetrievalService>(retriever, options, store_, attachment_, runtime_,
                                                 plan_);
}

std::shared_ptr<const ContentionPlan> LeaseServiceFactory::plan_with(
    std::optional<std::chrono::milliseconds> ttl) const {
  if (!ttl) return plan_;
  if (store_->owner_watch() == OwnerWatch::kept) {
    throw Error{ErrorKind::unsupported,
                "ttl must not be set for a single mutex on this store, whose leases last as long "
                "as its session (got " +
                    std::to_string(ttl->count()) +
                    " ms); set the session timeout in the options of the store"};
  }
  ContentionOptions options = options_;
  options.ttl = *ttl;
  return std::make_shared<const ContentionPlan>(options);
}

std::shared_ptr<MutexRecords> LeaseServiceFactory::records() const {
  check_process();
  if (store_->records() == nullptr) return nullptr;
  return std::make_shared<CheckedRecords>(store_, attachment_, runtime_);
}

LeaseParts LeaseServiceFactory::parts() const {
  check_process();
  return LeaseParts{.store = store_,
                    .attachment = attachment_,
                    .runtime = runtime_,
                    .plan = plan_,
                    .renew_phase = renew_phase_,
                    .successions = successions_,
                    .alarms = alarms_,
                    .instance = instance_};
}

void LeaseServiceFactory::check_process() const {
  if (!fork_guard_.in_child()) return;
  throw IllegalStateError{
      "this factory belongs to the parent process; create a new factory after fork()"};
}

}  // namespace simba::engine
