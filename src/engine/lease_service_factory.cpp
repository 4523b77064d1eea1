#include "simba/engine/lease_service_factory.hpp"

#include <utility>

#include "engine/lease_contend_service.hpp"
#include "engine/lease_retrieval_service.hpp"

namespace simba::engine {

LeaseServiceFactory::LeaseServiceFactory(std::shared_ptr<LeaseStore> store,
                                         std::shared_ptr<const Runtime> runtime,
                                         const ContentionOptions& options)
    : store_{std::move(store)},
      runtime_{std::move(runtime)},
      plan_{std::make_shared<const ContentionPlan>(options)},
      renew_phase_{runtime_->random->between(std::chrono::nanoseconds{0}, plan_->ttl)} {}

std::unique_ptr<MutexContendService> LeaseServiceFactory::create_mutex_contend_service(
    MutexContender& contender, const ContendServiceOptions& options) {
  const NameLimits limits = store_->name_limits();
  check_name("mutex name", contender.mutex(), limits.mutex);
  check_name("contender id", contender.contender_id(), limits.contender_id);
  return std::make_unique<LeaseContendService>(contender, options, store_, runtime_, plan_,
                                               renew_phase_);
}

std::unique_ptr<MutexRetrievalService> LeaseServiceFactory::create_mutex_retrieval_service(
    MutexRetriever& retriever, const RetrievalServiceOptions& options) {
  check_name("mutex name", retriever.mutex(), store_->name_limits().mutex);
  return std::make_unique<LeaseRetrievalService>(retriever, options, store_, runtime_, plan_);
}

}  // namespace simba::engine
