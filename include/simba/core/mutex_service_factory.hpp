#pragma once

#include <memory>

#include "simba/core/executor.hpp"
#include "simba/core/mutex_contend_service.hpp"
#include "simba/core/mutex_retrieval_service.hpp"
#include "simba/core/runtime.hpp"

namespace simba {

/// What a service does once it has lost the mutex against its wish and `on_released` has returned.
enum class AfterLoss {
  contend_again,  ///< what a candidate for leadership wants
  stay_out,       ///< what a lock wants: lost is lost until it is stopped and started again
};

struct ContendServiceOptions {
  std::shared_ptr<Executor> executor{};  ///< calls the contender; empty: `Runtime::callbacks`
  AfterLoss after_loss = AfterLoss::contend_again;
};

struct RetrievalServiceOptions {
  std::shared_ptr<Executor> executor{};  ///< calls the retriever; empty: `Runtime::callbacks`
};

/// Makes services that contend.
///
/// Threads: may be used from any thread at the same time.
/// Lifetime: a service holds what it needs of its factory, so either may be destroyed first. The
/// contender must outlive the service.
class MutexContendServiceFactory {
 public:
  virtual ~MutexContendServiceFactory() = default;

  /// Throws InvalidArgumentError where the store cannot take the contender's names.
  virtual std::unique_ptr<MutexContendService> create_mutex_contend_service(
      MutexContender& contender, const ContendServiceOptions& options) = 0;

  std::unique_ptr<MutexContendService> create_mutex_contend_service(MutexContender& contender) {
    return create_mutex_contend_service(contender, ContendServiceOptions{});
  }

  /// What the services of this factory run on. Never empty.
  virtual std::shared_ptr<const Runtime> runtime() const noexcept = 0;
};

/// Makes services that observe and do not contend.
///
/// Threads and lifetime: as for `MutexContendServiceFactory`.
class MutexRetrievalServiceFactory {
 public:
  virtual ~MutexRetrievalServiceFactory() = default;

  /// Throws InvalidArgumentError where the store cannot take the mutex name.
  virtual std::unique_ptr<MutexRetrievalService> create_mutex_retrieval_service(
      MutexRetriever& retriever, const RetrievalServiceOptions& options) = 0;

  std::unique_ptr<MutexRetrievalService> create_mutex_retrieval_service(MutexRetriever& retriever) {
    return create_mutex_retrieval_service(retriever, RetrievalServiceOptions{});
  }
};

/// Both: what every store of Simba provides.
class MutexServiceFactory : public MutexContendServiceFactory,
                            public MutexRetrievalServiceFactory {};

}  // namespace simba
