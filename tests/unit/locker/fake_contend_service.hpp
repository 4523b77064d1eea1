#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "simba/core/error.hpp"
#include "simba/core/mutex_service_factory.hpp"
#include "simba/core/ownership_signal.hpp"
#include "simba/testkit/manual_runtime.hpp"

namespace simba::locker_test {

/// A contend service without a store: the test says what happens, and when.
class FakeContendService final : public MutexContendService {
 public:
  struct Script {
    std::function<void(FakeContendService&)> on_start;
    std::function<void(FakeContendService&)> on_stop;  ///< before anything is stopped
  };

  FakeContendService(MutexContender& contender, const Script& script,
                     std::shared_ptr<const Clock> clock)
      : contender_{contender}, script_{script}, clock_{std::move(clock)} {}
  ~FakeContendService() override { close(); }
  FakeContendService(const FakeContendService&) = delete;
  FakeContendService& operator=(const FakeContendService&) = delete;

  void grant(FencingToken token) {
    signal_.begin(token);
    become({contender_id(), {}, lease(), token, clock_});
  }
  void observe(const std::string& owner) { become({owner, {}, lease(), 1, clock_}); }
  void lose() {
    signal_.source().request_stop();
    become(MutexOwner::none());
  }
  void fail(ErrorKind kind, const std::string& message) {
    contender_.on_event(AcquireFailed{Error{kind, message}});
  }

  MutexContender& contender() const noexcept override { return contender_; }
  ServiceStatus status() const noexcept override { return status_; }
  MutexState mutex_state() const override { return state_; }
  bool is_owner() const noexcept override {
    return status_ == ServiceStatus::running && state_.is_owner(contender_id());
  }
  bool is_in_ttl() const noexcept override { return is_owner(); }
  LocalTime lease_until() const noexcept override {
    return is_owner() ? state_.after().local_lease().transition_at : LocalTime::min();
  }
  std::chrono::nanoseconds lease_left() const noexcept override {
    return is_owner() ? lease_until() - clock_->now() : std::chrono::nanoseconds::zero();
  }
  void let_lease_run_out() override {}
  std::stop_token lost() const override { return signal_.token(); }
  FencingToken fencing_token() const noexcept override { return signal_.fencing_token(); }

  void start() override {
    if (status_ != ServiceStatus::initial) throw IllegalStateError{"started twice"};
    status_ = ServiceStatus::starting;
    try {
      if (script_.on_start) script_.on_start(*this);
    } catch (...) {
      status_ = ServiceStatus::initial;
      throw;
    }
    status_ = ServiceStatus::running;
  }

  void stop() override {
    if (status_ != ServiceStatus::running) throw IllegalStateError{"not running"};
    close();
  }

  void close() noexcept override {
    if (status_ != ServiceStatus::running) return;
    if (script_.on_stop) script_.on_stop(*this);
    status_ = ServiceStatus::stopping;
    lose();
    state_ = MutexState::none();
    status_ = ServiceStatus::initial;
  }

 private:
  LocalLease lease() const {
    const LocalTime now = clock_->now();
    return {now, now + std::chrono::seconds{10}, now + std::chrono::seconds{16}};
  }
  void become(MutexOwner owner) {
    state_ = MutexState{state_.after(), std::move(owner)};
    contender_.notify_owner(state_);
  }

  MutexContender& contender_;
  const Script& script_;
  const std::shared_ptr<const Clock> clock_;
  ServiceStatus status_ = ServiceStatus::initial;
  MutexState state_;
  OwnershipSignal signal_;
};

/// Calls a function of the test, once, where others would block; after it the time is over.
class ScriptedWaiter final : public Waiter {
 public:
  bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& /*changed*/,
                  LocalTime until, const std::function<bool()>& ready) override {
    deadline = until;
    ++waits;
    lock.unlock();
    if (const auto now = std::exchange(meanwhile, nullptr)) {
      try {
        now();
      } catch (...) {
        lock.lock();
        throw;
      }
    }
    lock.lock();
    return ready();
  }

  std::function<void()> meanwhile;
  LocalTime deadline{};
  int waits = 0;
};

/// Makes `FakeContendService`s and remembers the last one.
class FakeFactory final : public MutexContendServiceFactory {
 public:
  std::unique_ptr<MutexContendService> create_mutex_contend_service(
      MutexContender& contender, const ContendServiceOptions& given) override {
    options = given;
    auto made = std::make_unique<FakeContendService>(contender, script, runtime()->clock);
    service = made.get();
    return made;
  }
  std::shared_ptr<const Runtime> runtime() const noexcept override { return runtime_; }

  FakeContendService::Script script;
  ContendServiceOptions options;
  FakeContendService* service = nullptr;
  const std::shared_ptr<ScriptedWaiter> waiter = std::make_shared<ScriptedWaiter>();
  testkit::ManualRuntime manual;

 private:
  std::shared_ptr<const Runtime> with_waiter() const {
    auto runtime = std::make_shared<Runtime>(*manual.runtime());
    runtime->waiter = waiter;
    return runtime;
  }

  const std::shared_ptr<const Runtime> runtime_ = with_waiter();
};

}  // namespace simba::locker_test
