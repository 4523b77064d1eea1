#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "simba/core/fork_guard.hpp"
#include "simba/core/mutex_retrieval_service.hpp"
#include "simba/core/owner_dispatcher.hpp"
#include "simba/core/runtime.hpp"

namespace simba {

/// Base class of services: implements their lifecycle and the notification of the retriever, and
/// leaves the store to derived classes. The lowest extension point, for a store that does not fit
/// the `LeaseStore` interface.
///
/// Threads: as for every service; `notify_owner` may be called from any thread.
/// Lifetime: a derived class calls `close()` in its destructor, while its overrides still exist.
class AbstractMutexRetrievalService : public virtual MutexRetrievalService {
 public:
  ~AbstractMutexRetrievalService() override;

  AbstractMutexRetrievalService(const AbstractMutexRetrievalService&) = delete;
  AbstractMutexRetrievalService& operator=(const AbstractMutexRetrievalService&) = delete;

  ServiceStatus status() const noexcept final { return status_.load(); }
  MutexState mutex_state() const final;
  void start() final;
  void stop() final;
  void close() noexcept final;

 protected:
  /// `drain_limit` bounds how long `stop()` waits for callbacks.
  AbstractMutexRetrievalService(MutexRetriever& retriever, std::shared_ptr<Executor> executor,
                                std::shared_ptr<const Runtime> runtime,
                                std::chrono::nanoseconds drain_limit);

  /// Starts following the owner. What it publishes is delivered once the service is RUNNING. May
  /// throw; the service then returns to INITIAL.
  virtual void start_retrieval() = 0;

  /// Stops following the owner. What it publishes before it returns is still delivered;
  /// `notify_owner` must not be called after that.
  virtual void stop_retrieval() = 0;

  /// Publishes that the owner is now `owner`. The retriever is notified on its executor.
  void notify_owner(MutexOwner owner);

  const std::shared_ptr<OwnerDispatcher>& dispatcher() const noexcept { return dispatcher_; }
  const std::shared_ptr<const Runtime>& runtime() const noexcept { return runtime_; }
  std::chrono::nanoseconds drain_limit() const noexcept { return drain_limit_; }

  /// True inside a stop callback of this service's loss signal.
  virtual bool signalling_in_this_thread() const noexcept { return false; }

  /// True in a child process that was forked after this service was created.
  bool in_forked_child() const noexcept { return fork_guard_.in_child(); }

 private:
  void begin_start();
  void set_status(ServiceStatus status);
  void end();
  void stop_checked();

  // constant after construction
  const std::shared_ptr<const Runtime> runtime_;
  const std::shared_ptr<OwnerDispatcher> dispatcher_;
  const std::chrono::nanoseconds drain_limit_;
  const ForkGuard fork_guard_;

  std::mutex mutex_;
  std::condition_variable status_changed_;
  std::atomic<ServiceStatus> status_ = ServiceStatus::initial;  // written under mutex_
  std::thread::id mover_{};  // guarded by mutex_: who starts or stops it now
};

}  // namespace simba
