#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "simba/core/abstract_mutex_contender.hpp"
#include "simba/core/error.hpp"
#include "simba/core/fork_guard.hpp"
#include "simba/core/mutex_service_factory.hpp"
#include "simba/locker/simba_locker.hpp"

namespace simba {

namespace detail {

enum class Patience { until_held, ask_once };

/// What came of an acquire that ended without an error.
struct LockAttempt {
  bool held = false;
  std::string holder;               ///< who held the mutex instead, where known
  std::optional<Error> last_error;  ///< the newest that the store gave instead of an answer
};

}  // namespace detail

/// The contender of a locker. Its callbacks run on whatever thread brings the news, so all they do
/// is to note it.
class SimbaLocker::Impl final : public AbstractMutexContender {
 public:
  Impl(std::string mutex, std::string contender_id, MutexContendServiceFactory& factory);

  detail::LockAttempt acquire(LocalTime deadline, detail::Patience patience,
                              const std::stop_token& stop);
  detail::LockAttempt acquire_within(std::chrono::nanoseconds timeout);
  void close() noexcept;

  bool in_forked_child() const noexcept { return fork_guard_.in_child(); }
  const MutexContendService& service() const noexcept { return *service_; }
  FencingToken fencing_token() const noexcept { return fencing_token_.load(); }
  std::stop_token lost() const;
  TimeoutError timeout_error(std::chrono::nanoseconds timeout,
                             const detail::LockAttempt& attempt) const;

  void notify_owner(const MutexState& state) override;
  void on_event(const ContentionEvent& event) override;

 private:
  using Lock = std::unique_lock<std::mutex>;

  enum class Use {
    free,
    starting,   // the service is being started: short
    acquiring,  // somebody waits in acquire()
    held,       // until close(), also after a loss
    closing,    // the service is being stopped
  };

  /// Wakes a waiting acquire().
  struct Wake {
    Impl& impl;
    void operator()() const {
      { const Lock lock{impl.mutex_}; }  // whoever is about to wait does so by now
      impl.changed_.notify_all();
    }
  };

  std::uint64_t begin();
  void start_service();
  bool has_outcome(detail::Patience patience) const;
  void close_service(Lock& lock) noexcept;
  void set_use(Use use) noexcept;
  std::string names() const;
  Error with_names(const Error& error) const;

  // constant after construction
  const ForkGuard fork_guard_;
  const std::shared_ptr<const Runtime> runtime_;

  std::atomic<FencingToken> fencing_token_{0};

  std::mutex mutex_;
  std::condition_variable changed_;
  // guarded by mutex_
  Use use_ = Use::free;
  std::uint64_t life_ = 0;               // grows with each acquire and each close
  std::thread::id closer_{};             // while closing
  std::optional<FencingToken> granted_;  // in this life, as are the next two
  std::string holder_;                   // somebody else
  std::optional<Error> last_error_;
  bool duplicate_ = false;  // another process uses our id: to go on would be to take turns with it

  // The last, so that it is closed while everything that it calls is there.
  const std::unique_ptr<MutexContendService> service_;
};

}  // namespace simba
