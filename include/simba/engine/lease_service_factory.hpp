#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "simba/core/fork_guard.hpp"
#include "simba/core/mutex_service_factory.hpp"
#include "simba/engine/contention_options.hpp"
#include "simba/engine/lease_store.hpp"

namespace simba::engine {

class Alarms;
class Attachment;
struct LeaseParts;
class Successions;

/// Creates the services for any store that implements `LeaseStore`.
///
/// Threads: may be used concurrently from any thread.
class LeaseServiceFactory final : public MutexServiceFactory {
 public:
  /// Throws InvalidArgumentError if an option is out of bounds, or the store, the runtime or a part
  /// of it is null.
  LeaseServiceFactory(std::shared_ptr<LeaseStore> store, std::shared_ptr<const Runtime> runtime,
                      const ContentionOptions& options = {});

  using MutexContendServiceFactory::create_mutex_contend_service;
  using MutexRetrievalServiceFactory::create_mutex_retrieval_service;

  [[nodiscard]] std::unique_ptr<MutexContendService> create_mutex_contend_service(
      MutexContender& contender, const ContendServiceOptions& options) override;

  /// A service with a plan of its own; see `plan_with`.
  [[nodiscard]] std::unique_ptr<MutexContendService> create_mutex_contend_service(
      MutexContender& contender, const ContendServiceOptions& options,
      std::shared_ptr<const ContentionPlan> plan);

  [[nodiscard]] std::unique_ptr<MutexRetrievalService> create_mutex_retrieval_service(
      MutexRetriever& retriever, const RetrievalServiceOptions& options) override;
  [[nodiscard]] std::shared_ptr<const Runtime> runtime() const noexcept override {
    return runtime_;
  }
  [[nodiscard]] std::shared_ptr<MutexRecords> records() const override;

  [[nodiscard]] const ContentionPlan& plan() const noexcept { return *plan_; }

  /// The plan for a contender with this ttl; empty: that of the options. Throws
  /// InvalidArgumentError if an option is out of bounds with this ttl, and Error (unsupported) if
  /// the store has sessions.
  [[nodiscard]] std::shared_ptr<const ContentionPlan> plan_with(
      std::optional<std::chrono::milliseconds> ttl) const;

  [[nodiscard]] WorstCases worst_cases() const { return store_->worst_cases(*plan_); }

  /// What its services are made of, for other parts of Simba. The type is internal.
  [[nodiscard]] LeaseParts parts() const;

 private:
  void check_process() const;

  const std::shared_ptr<LeaseStore> store_;
  const std::shared_ptr<Attachment> attachment_;
  const std::shared_ptr<const Runtime> runtime_;
  const ContentionOptions options_;
  const std::shared_ptr<const ContentionPlan> plan_;  // of the options
  const std::chrono::nanoseconds renew_phase_;
  const std::shared_ptr<Successions> successions_;
  const std::shared_ptr<Alarms> alarms_;
  const std::uint64_t instance_;  // by which a store tells its contenders from namesakes
  const ForkGuard fork_guard_;
};

}  // namespace simba::engine
