#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "sim/checker.hpp"
#include "sim/slot_rules.hpp"
#include "sim/world/host.hpp"
#include "sim/world/network.hpp"
#include "simba/client/client.hpp"
#include "simba/core/abstract_mutex_contender.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/schedule/scheduler.hpp"

namespace simba::sim {

/// How users behave at present. Numbers are per thousand.
struct Mood {
  int slow_callbacks = 0;
  nanoseconds slow_most{};
  int pause_before_act = 0;
  nanoseconds pause_most{};
  int stop_in_callback = 0;
  int withhold = 0;    ///< on_released lets the lease run out
  int failures = 100;  ///< of runs of slots
  int long_runs = 50;  ///< the same: up to two periods
  nanoseconds work_most{std::chrono::milliseconds{500}};
  nanoseconds rest_most{std::chrono::seconds{10}};  ///< of lockers, between two locks
  bool quiet = false;                               ///< lockers ask for nothing
};

/// What a mutex protects: it refuses a token below the highest that it has seen.
struct Resource {
  FencingToken top = 0;
  std::uint64_t value = 0;
};

/// What the users of one process share.
struct Surroundings {
  Host& host;
  Network& network;
  Checker& checker;
  SlotRules& slots;
  const Mood& mood;
  std::vector<Resource>& resources;
  engine::LeaseServiceFactory& factory;
};

/// Someone who uses the library. All but the constructor runs on simulated threads.
class User {
 public:
  User(Surroundings around, Party& party) : around_{around}, party_{party} {}
  User(const User&) = delete;
  User& operator=(const User&) = delete;
  virtual ~User() = default;

  Party& party() const noexcept { return party_; }
  virtual void start() = 0;
  virtual void stop(bool by_close) = 0;
  /// Stops, and destroys what it has of the library.
  virtual void end() = 0;
  /// Destroys what it has of the library, and makes it anew. Stopped after that.
  virtual void renew() = 0;
  virtual bool running() const = 0;

 protected:
  World& world() const { return around_.host.world(); }
  /// Reads and writes what the mutex protects, with a pause in between.
  void use_resource(FencingToken token);
  /// `what` within `bound` by the clock of the host, not counting its pauses, and callbacks that
  /// this very call runs.
  void timed(Rule rule, const char* words, nanoseconds bound, const std::function<void()>& what);
  /// `body` is a callback.
  void called_back(const std::function<void()>& body);
  /// Destroys what the user has of the library, within its bound.
  void destroy(std::shared_ptr<void> last);

  const Surroundings around_;
  Party& party_;

 private:
  class Stopwatch;
  std::map<const SimThread*, nanoseconds> own_callbacks_;  // within what is timed
};

/// One that is started and stopped by whoever comes.
class Service : public User {
 public:
  using User::User;
  void end() final;
  void renew() final;

 protected:
  virtual void make() = 0;
  /// What it has of the library, out of its hands; null: nothing.
  virtual std::shared_ptr<void> take() = 0;

  int stoppers_ = 0;  // threads that are stopping it
};

/// Contends for leadership by callbacks.
class Candidate final : public Service {
 public:
  Candidate(Surroundings around, Party& party);
  void start() override;
  void stop(bool by_close) override;
  bool running() const override { return service_ && service_->running(); }

 private:
  class Contender;
  void make() override;
  std::shared_ptr<void> take() override { return std::move(service_); }
  void acquired(FencingToken token);
  void released();

  const std::unique_ptr<MutexContender> contender_;
  std::unique_ptr<MutexContendService> service_;
};

/// Locks, works, unlocks, again and again, on a thread of its own.
class LockUser final : public User {
 public:
  LockUser(Surroundings around, Party& party);
  void start() override;
  void stop(bool by_close) override;
  void end() override;
  void renew() override;
  bool running() const override { return looping_ && !wants_end_; }

 private:
  void make();
  void loop();
  bool acquire();
  void work();
  void close();

  std::shared_ptr<SimbaLocker> locker_;
  std::stop_source give_up_;
  bool looping_ = false;
  bool wants_end_ = false;
  bool acquiring_ = false;
};

/// Locks through a client, again and again, on a thread of its own. Waits block or are those of
/// coroutines, and are cancelled, or end with their coroutine or their client, at any moment.
class ClientUser final : public User {
 public:
  ClientUser(Surroundings around, Party& party);
  ~ClientUser() override;
  void start() override;
  void stop(bool by_close) override;
  void end() override;
  void renew() override;
  bool running() const override { return looping_ && !wants_end_; }

 private:
  class Coroutine;
  class View;

  void make();
  void end_client();
  void cancel();
  void expect_end_of_wait(const char* why);
  void loop();
  void wait();
  void disturb_later();
  void wait_blocking(const LockOptions& options, nanoseconds bound);
  void wait_suspended(const LockOptions& options);
  Coroutine suspend(const simba::Client& client, LockOptions options);
  Coroutine confirm(Lock lock);
  void arrives(Lock lock);
  void refused(const Error& error);
  void work();
  void check_max_hold();
  void give_back();

  const std::unique_ptr<View> view_;
  std::shared_ptr<simba::Client> client_;
  Lock lock_;
  LocalTime held_since_{};
  nanoseconds max_hold_{};
  std::stop_source give_up_;
  std::stop_source finished_;  // of a coroutine
  std::size_t waits_ = 0;
  bool waiting_ = false;
  bool blocked_ = false;
  bool looping_ = false;
  bool wants_end_ = false;
};

/// Has work done by the leader.
class Scheduled : public Service {
 public:
  using Service::Service;
  void start() final;
  void stop(bool by_close) final;
  bool running() const final { return scheduler_ && scheduler_->running(); }

 protected:
  std::shared_ptr<void> take() final { return std::move(scheduler_); }
  void use(std::unique_ptr<Scheduler> scheduler);
  /// In the work: stops it now and then, which takes effect when the work has returned.
  void maybe_stop();

 private:
  std::unique_ptr<Scheduler> scheduler_;
};

class WorkUser final : public Scheduled {
 public:
  WorkUser(Surroundings around, Party& party, ScheduleConfig config);

 private:
  void make() override;
  void work(const std::stop_token& stop);

  const ScheduleConfig config_;
};

/// Has the slots of a schedule done that all processes share.
class SlotUser final : public Scheduled {
 public:
  SlotUser(Surroundings around, Party& party, ScheduleConfig config);

 private:
  void make() override;
  void work(const Run& run);
  WorkEnd toil(const std::stop_token& stop);
  void told(const SlotEvent& event);

  const ScheduleConfig config_;
};

/// Looks on.
class Observer final : public MutexRetriever {
 public:
  Observer(Surroundings around, std::size_t mutex);
  const std::string& mutex() const noexcept override { return name_; }
  void notify_owner(const MutexState& state) override;
  void start();
  void stop();
  void end();
  bool running() const { return service_ && service_->running(); }
  std::size_t number() const noexcept { return number_; }
  std::string sees() const { return service_->mutex_state().after().owner_id(); }

 private:
  const Surroundings around_;
  const std::size_t number_;
  const std::string name_;
  std::unique_ptr<MutexRetrievalService> service_;
  bool stopped_ = true;
};

}  // namespace simba::sim
