#pragma once

#include <chrono>
#include <memory>
#include <stop_token>

#include "simba/core/abstract_mutex_retrieval_service.hpp"
#include "simba/core/mutex_contend_service.hpp"
#include "simba/core/ownership_signal.hpp"

namespace simba {

/// Base class of services that contend. Derived classes implement how, in `start_contend` and
/// `stop_contend`.
///
/// Threads: calls of `notify_owner` must not overlap; otherwise as for every service.
/// Lifetime: a derived class calls `close()` in its destructor, while its overrides still exist.
/// Not guaranteed here: that the loss signal fires when the lease expires. A derived class must
/// publish the end of its lease in time; `is_owner()` itself reads the clock. A class that renews
/// while `on_released` runs also overrides `lease_until()`, which by default returns what was
/// published.
class AbstractMutexContendService : public AbstractMutexRetrievalService,
                                    public MutexContendService {
 public:
  MutexContender& contender() const noexcept final { return contender_; }

  [[nodiscard]] bool is_owner() const noexcept override;
  [[nodiscard]] bool is_in_ttl() const noexcept override;
  [[nodiscard]] LocalTime lease_until() const noexcept override;
  [[nodiscard]] std::chrono::nanoseconds lease_left() const noexcept final;
  [[nodiscard]] std::stop_token lost() const override;
  [[nodiscard]] FencingToken fencing_token() const noexcept override;

 protected:
  AbstractMutexContendService(MutexContender& contender, std::shared_ptr<Executor> executor,
                              std::shared_ptr<const Runtime> runtime,
                              std::chrono::nanoseconds drain_limit);

  /// Starts contending. May throw; the service then returns to INITIAL.
  virtual void start_contend() = 0;

  /// Stops contending and releases the mutex. Must first publish `MutexOwner::none()` and wait for
  /// the callbacks (`dispatcher()->quiesce`), and only then tell the store.
  virtual void stop_contend() = 0;

  /// Publishes that the owner is now `owner`: fires the loss signal if this ends our ownership,
  /// then notifies the contender on its executor.
  void notify_owner(MutexOwner owner);

  bool signalling_in_this_thread() const noexcept override {
    return signal_.firing_in_this_thread();
  }

 private:
  void start_retrieval() final;
  void stop_retrieval() final;

  MutexContender& contender_;
  OwnershipSignal signal_;
};

}  // namespace simba
