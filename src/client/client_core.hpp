#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "engine/lock_operation.hpp"
#include "simba/client/client.hpp"
#include "simba/client/completion.hpp"
#include "simba/client/lock.hpp"
#include "simba/core/mutex_service_factory.hpp"
#include "simba/engine/lease_service_factory.hpp"

namespace simba::detail {

Loss loss_of(LossReason reason) noexcept;

/// The ttl that an option asks for, in the unit of the stores.
std::optional<std::chrono::milliseconds> ttl_of(const std::optional<Span>& option) noexcept;

/// What the handles of a client share.
///
/// Threads: every function may be called from any thread at the same time.
/// Lifetime: held by the handles alone, not by operations under way: its destructor closes.
class ClientCore {
 public:
  using MakeFactory = std::function<std::shared_ptr<MutexServiceFactory>(
      const std::shared_ptr<const Runtime>& runtime)>;

  ClientCore(MakeFactory make, ClientOptions options);
  ~ClientCore();
  ClientCore(const ClientCore&) = delete;
  ClientCore& operator=(const ClientCore&) = delete;

  static const std::shared_ptr<ClientCore>& of(const Client& client) { return client.core_; }
  static const std::shared_ptr<engine::LockOperation>& of(const Lock& lock) noexcept {
    return lock.operation_;
  }
  static std::shared_ptr<engine::LockOperation> take(Lock& lock) noexcept {
    return std::exchange(lock.operation_, nullptr);
  }

  /// Opens it at the first call.
  std::shared_ptr<engine::LeaseServiceFactory> factory();
  std::shared_ptr<engine::LockOperations> operations();

  /// Where callbacks of this client run; empty: where the runtime's do.
  const std::shared_ptr<Executor>& executor() const noexcept { return options_.executor; }

  /// Ready to be started.
  std::shared_ptr<engine::LockOperation> request(LockCall call, std::string name,
                                                 const LockOptions& options);

  /// Blocks until there is a result. Throws what the store refuses for good. `told_wait` is what
  /// messages say instead of `options.wait`.
  LockResult wait_for(LockCall call, std::string name, const LockOptions& options,
                      const std::stop_token& stop, std::optional<Span> told_wait = std::nullopt);

  /// Throws the error of `answer`, if it is one. Takes the lock of `operation`.
  static LockResult result_of(const std::shared_ptr<engine::LockOperation>& operation,
                              const engine::LockAnswer& answer);

  /// The error that `lock` throws for a result without a lock.
  static void throw_if_none(const engine::LockOperation& operation, const std::optional<Span>& wait,
                            const engine::LockAnswer& answer);

  void close() noexcept;

 private:
  void check_process() const;
  void open();

  // constant after construction
  const MakeFactory make_;
  const ClientOptions options_;
  const ForkGuard fork_guard_;

  std::mutex mutex_;
  // guarded by mutex_
  bool closed_ = false;
  std::shared_ptr<engine::LeaseServiceFactory> factory_;  // empty: not open
  std::shared_ptr<engine::LockOperations> operations_;
};

/// Waits for what comes later, by the waiter of a runtime.
template <class T>
class Later {
 public:
  /// May be called on any thread.
  void set(T value) {
    {
      const std::lock_guard lock{mutex_};
      value_ = std::move(value);
    }
    changed_.notify_all();
  }

  /// Empty if that has not come until `deadline`.
  std::optional<T> wait_until(Waiter& waiter, LocalTime deadline) {
    std::unique_lock lock{mutex_};
    const auto ready = [this] { return value_.has_value(); };
    if (!ready()) waiter.wait_until(lock, changed_, deadline, ready);
    return std::exchange(value_, std::nullopt);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<T> value_;  // guarded by mutex_
};

}  // namespace simba::detail
