#pragma once

#include <memory>

#include "simba/core/executor.hpp"
#include "simba/core/mutex_contend_service.hpp"
#include "simba/core/mutex_records.hpp"
#include "simba/core/mutex_retrieval_service.hpp"
#include "simba/core/runtime.hpp"

namespace simba {

/// What a service does after it has lost the mutex and `on_released` has returned.
enum class AfterLoss {
  contend_again,  ///< for leader election
  stay_out,       ///< for locks: does not contend until it is stopped and started again
};

struct ContendServiceOptions {
  std::shared_ptr<Executor> executor{};  ///< calls the contender; empty: `Runtime::callbacks`
  AfterLoss after_loss = AfterLoss::contend_again;
};

struct RetrievalServiceOptions {
  std::shared_ptr<Executor> executor{};  ///< calls the retriever; empty: `Runtime::callbacks`
};

/// Creates services that contend.
///
/// Threads: may be used concurrently from any thread.
/// Lifetime: a service holds what it needs of its factory, so either may be destroyed first. The
/// contender must outlive the service.
class MutexContendServiceFactory {
 public:
  virtual ~MutexContendServiceFactory() = default;

  /// Throws InvalidArgumentError if the store does not accept the mutex name or the contender id.
  [[nodiscard]] virtual std::unique_ptr<MutexContendService> create_mutex_contend_service(
      MutexContender& contender, const ContendServiceOptions& options) = 0;

  [[nodiscard]] std::unique_ptr<MutexContendService> create_mutex_contend_service(
      MutexContender& contender) {
    return create_mutex_contend_service(contender, ContendServiceOptions{});
  }

  /// What the services of this factory run on. Never empty.
  [[nodiscard]] virtual std::shared_ptr<const Runtime> runtime() const noexcept = 0;
};

/// Creates services that observe and do not contend.
///
/// Threads and lifetime: as for `MutexContendServiceFactory`.
class MutexRetrievalServiceFactory {
 public:
  virtual ~MutexRetrievalServiceFactory() = default;

  /// Throws InvalidArgumentError if the store does not accept the mutex name.
  [[nodiscard]] virtual std::unique_ptr<MutexRetrievalService> create_mutex_retrieval_service(
      MutexRetriever& retriever, const RetrievalServiceOptions& options) = 0;

  [[nodiscard]] std::unique_ptr<MutexRetrievalService> create_mutex_retrieval_service(
      MutexRetriever& retriever) {
    return create_mutex_retrieval_service(retriever, RetrievalServiceOptions{});
  }
};

/// Both, as every store of Simba provides.
class MutexServiceFactory : public MutexContendServiceFactory, public MutexRetrievalServiceFactory {
 public:
  /// The records of the store's mutexes; empty if it keeps none. Stays attached to the store.
  [[nodiscard]] virtual std::shared_ptr<MutexRecords> records() const { return nullptr; }
};

}  // namespace simba
