// A program that has a store class of its own.
#include <memory>
#include <string>

#include "simba/core/runtime.hpp"
#include "simba/engine/lease_service_factory.hpp"

struct MyStore : simba::engine::LeaseStore {
  explicit MyStore(const std::string& location);
  simba::NameLimits name_limits() const noexcept override;
  void acquire(const simba::engine::LeaseRequest&, simba::engine::AnswerHandler) override;
  void guard(const simba::engine::LeaseRequest&, simba::engine::AnswerHandler) override;
  void release(const simba::engine::LeaseRequest&, simba::FencingToken,
               simba::engine::AnswerHandler) override;
  void retrieve(const simba::engine::LeaseRequest&, simba::engine::AnswerHandler) override;
  std::unique_ptr<simba::engine::Watch> watch(const simba::engine::LeaseRequest&,
                                              simba::engine::NoticeHandler) override;
};

// SNIPPET
