#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "simba/core/mutex_service_factory.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "simba/testkit/recording_retriever.hpp"
#include "testkit/contract/support.hpp"

namespace simba::testkit::detail {

/// Opens once; threads wait for that.
class Gate {
 public:
  void open();
  bool wait_for(std::chrono::nanoseconds span);
  bool is_open() { return wait_for({}); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;  // guarded by mutex_
};

/// One contender together with its service.
///
/// Threads: every function may be called from any thread.
class Member final : public RecordingContender {
 public:
  using Hook = std::function<void(Member&)>;

  /// What a test does inside the callbacks.
  struct Hooks {
    Hook acquired;
    Hook released;
  };

  Member(const Contract& contract, const std::string& mutex, MutexContendServiceFactory& factory,
         const Hooks& hooks = {}, const ContendServiceOptions& options = {});
  ~Member() override;

  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  MutexContendService& service() const noexcept { return *service_; }
  void start() { service_->start(); }
  void stop() { service_->stop(); }

  /// Waits until `on_acquired` has begun `times` times in all.
  bool has_acquired(std::size_t times = 1) const;
  bool acquires_within(std::chrono::nanoseconds span, std::size_t times = 1) const;
  /// Waits until `on_released` has ended `times` times in all.
  bool has_released(std::size_t times = 1) const;
  /// Waits until this follower knows that `leader` owns the mutex.
  bool sees(const Member& leader) const;
  /// Waits until the service has told of a failed renewal or of risk.
  bool is_told_of_trouble() const;
  /// Waits until the service has told of a loss.
  bool is_told_of_loss() const;

  std::size_t losses() const;
  LocalTime acquired_at() const { return acquired_at_; }  ///< when the last `on_acquired` began
  LocalTime released_at() const { return released_at_; }  ///< when the last `on_released` ended

 private:
  void on_acquired(const MutexState& state) override;
  void on_released(const MutexState& state) override;

  const Contract& contract_;
  std::atomic<LocalTime> acquired_at_{};
  std::atomic<LocalTime> released_at_{};
  std::atomic<std::size_t> finished_releases_{0};
  std::unique_ptr<MutexContendService> service_;
};

/// One observer together with its service.
class Observer final {
 public:
  using Hook = std::function<void(Observer&)>;

  Observer(const Contract& contract, const std::string& mutex,
           MutexRetrievalServiceFactory& factory, const Hook& hook = {});
  ~Observer() { service_->close(); }

  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  MutexRetrievalService& service() const noexcept { return *service_; }

  /// Waits until the last change told says that `owner_id` owns the mutex; empty: nobody.
  bool sees(const std::string& owner_id) const;
  bool sees(const Member& owner) const { return sees(owner.contender_id()); }

  std::vector<MutexState> states() const { return retriever_.states(); }

 private:
  const Contract& contract_;
  RecordingRetriever retriever_;
  std::unique_ptr<MutexRetrievalService> service_;
};

using Members = std::vector<std::unique_ptr<Member>>;

/// The one of `members` that owns the mutex; waits for it. Null when none does in time.
Member* owner_among(const Contract& contract, const Members& members);

/// A span in which somebody owned a mutex by its own account.
struct Visit {
  FencingToken token = 0;
  LocalTime entered{};     ///< after the acquisition
  LocalTime last_owned{};  ///< before it asked for the last time and was told that it still owned
};

/// What contradicts exclusion among these visits, in words; empty when nothing does.
std::string contradiction(std::vector<Visit> visits);

}  // namespace simba::testkit::detail
