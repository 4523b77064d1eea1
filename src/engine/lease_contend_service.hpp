#pragma once

#include <memory>

#include "engine/attachment.hpp"
#include "engine/lease_contention.hpp"
#include "simba/core/abstract_mutex_contend_service.hpp"

namespace simba::engine {

/// The contend service of every store with leases.
class LeaseContendService final : public AbstractMutexContendService {
 public:
  LeaseContendService(MutexContender& contender, const ContendServiceOptions& options,
                      std::shared_ptr<LeaseStore> store, std::shared_ptr<Attachment> attachment,
                      std::shared_ptr<const Runtime> runtime,
                      std::shared_ptr<const ContentionPlan> plan,
                      std::chrono::nanoseconds renew_phase, std::shared_ptr<Succession> succession,
                      std::uint64_t instance);
  ~LeaseContendService() override;

  bool is_owner() const noexcept override { return is_active(status()) && contention_->is_owner(); }
  bool is_in_ttl() const noexcept override {
    return is_active(status()) && contention_->is_in_ttl();
  }
  LocalTime lease_until() const noexcept override { return contention_->lease_until(); }
  void let_lease_run_out() override { contention_->withhold(); }
  std::stop_token lost() const override { return contention_->lost(); }
  FencingToken fencing_token() const noexcept override { return contention_->fencing_token(); }

 private:
  void start_contend() override { contention_->start(); }
  void stop_contend() override { contention_->stop(); }
  bool signalling_in_this_thread() const noexcept override {
    return contention_->signalling_in_this_thread();
  }

  const std::shared_ptr<Attachment> attachment_;
  const std::shared_ptr<LeaseContention> contention_;
};

}  // namespace simba::engine
