#pragma once

#include <memory>

#include "simba/core/abstract_mutex_retrieval_service.hpp"
#include "simba/core/mutex_service_factory.hpp"
#include "simba/engine/contention_options.hpp"
#include "simba/engine/lease_store.hpp"

namespace simba::engine {

class LeaseRetrieval;

/// The retrieval service of every store with leases: observes and never contends.
class LeaseRetrievalService final : public AbstractMutexRetrievalService {
 public:
  LeaseRetrievalService(MutexRetriever& retriever, const RetrievalServiceOptions& options,
                        std::shared_ptr<LeaseStore> store, std::shared_ptr<void> attachment,
                        std::shared_ptr<const Runtime> runtime,
                        std::shared_ptr<const ContentionPlan> plan);
  ~LeaseRetrievalService() override;

 private:
  void start_retrieval() override;
  void stop_retrieval() override;

  const std::shared_ptr<void> attachment_;  // of the store
  const std::shared_ptr<LeaseRetrieval> retrieval_;
};

}  // namespace simba::engine
