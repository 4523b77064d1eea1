// How services begin and end where something stands in the way: no timer, a fork, a logger that
// blocks, a store that is down. Some with real threads; nothing there depends on how long it takes.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <fcntl.h>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/memory/memory_factory.hpp"
#include "simba/testkit/recording_retriever.hpp"
#include "unit/core/forked.hpp"
#include "unit/core/gate.hpp"
#include "unit/core/own_threads.hpp"
#include "unit/engine/lease_contend_service_fixture.hpp"

namespace simba::engine {
namespace {

using test::eventually;
using test::Gate;
using testkit::RecordingRetriever;

// ---- a beginning that fails --------------------------------------------------------------------

/// Timers that the system does not always give.
class ScarceTimers final : public TimerService {
 public:
  explicit ScarceTimers(std::shared_ptr<TimerService> inner) : inner_{std::move(inner)} {}
  std::unique_ptr<Timer> create(std::function<void()> on_due) override {
    if (none) throw std::bad_alloc{};
    return inner_->create(std::move(on_due));
  }
  bool none = true;

 private:
  const std::shared_ptr<TimerService> inner_;
};

TEST_F(LeaseContendServiceTest, AStartForWhichThereIsNoTimerRethrowsAndMayBeRepeated) {
  const auto timers = std::make_shared<ScarceTimers>(runtime_.runtime()->timers);
  auto scarce = std::make_shared<Runtime>(*runtime_.runtime());
  scarce->timers = timers;
  LeaseServiceFactory factory{store_, scarce};
  RecordingContender contender{"m", "a"};
  RecordingRetriever observer{"m"};
  const auto contends = factory.create_mutex_contend_service(contender);
  const auto observes = factory.create_mutex_retrieval_service(observer);
  EXPECT_THROW(contends->start(), std::bad_alloc);
  EXPECT_THROW(observes->start(), std::bad_alloc);
  EXPECT_EQ(contends->status(), ServiceStatus::initial);
  EXPECT_EQ(observes->status(), ServiceStatus::initial);
  runtime_.advance(1min);
  EXPECT_FALSE(contends->is_owner());
  EXPECT_EQ(contender.acquisitions(), 0U);

  timers->none = false;
  contends->start();
  observes->start();
  runtime_.advance(1min);
  EXPECT_TRUE(contends->is_owner()) << "it renews";
  EXPECT_EQ(observes->after_owner().owner_id(), "a");
}

TEST_F(LeaseContendServiceTest, AnObserverForWhichThereIsNoTimerAsksNothingAndMayBeStartedAgain) {
  const auto timers = std::make_shared<ScarceTimers>(runtime_.runtime()->timers);
  auto scarce = std::make_shared<Runtime>(*runtime_.runtime());
  scarce->timers = timers;
  const auto line = std::make_shared<FaultStore>(store_);
  LeaseServiceFactory factory{line, scarce};
  Party owner{*this, "a"};
  owner.service->start();
  RecordingRetriever observer{"m"};
  auto service = factory.create_mutex_retrieval_service(observer);
  for (int tries = 0; tries < 2; ++tries) {
    EXPECT_THROW(service->start(), std::bad_alloc);
    EXPECT_EQ(service->status(), ServiceStatus::initial);
    service->stop();  // there is nothing to stop
    runtime_.advance(1min);
  }
  EXPECT_EQ(line->count(testkit::Operation::retrieve), 0U);
  EXPECT_EQ(line->count(testkit::Operation::watch), 0U);
  EXPECT_TRUE(observer.owners().empty());

  timers->none = false;
  service->start();
  runtime_.run_ready();
  EXPECT_EQ(observer.owners(), std::vector<std::string>{"a"});
  service->stop();
  timers->none = true;
  service = factory.create_mutex_retrieval_service(observer);
  EXPECT_THROW(service->start(), std::bad_alloc);
  service.reset();  // one that has not begun ends like any other
  EXPECT_EQ(runtime_.log().text().find("error"), std::string::npos) << runtime_.log().text();
}

TEST(LeaseServicesFork, AForkedChildMakesNoServiceOfAFactoryOfItsParent) {
  const auto factory = memory::make_memory_factory();
  EXPECT_TRUE(test::in_forked_child([&] {
    RecordingRetriever observer{"m"};
    RecordingContender contender{"m", "a"};
    int refused = 0;
    try {
      static_cast<void>(factory->create_mutex_retrieval_service(observer));
    } catch (const IllegalStateError&) {
      ++refused;
    }
    try {
      static_cast<void>(factory->create_mutex_contend_service(contender));
    } catch (const IllegalStateError&) {
      ++refused;
    }
    return refused == 2;
  }));
}

TEST(LeaseServicesFork, AForkedChildStartsNoServiceOnARuntimeOfItsParent) {
  const auto runtime = make_runtime({.log = make_null_logger()});
  EXPECT_TRUE(test::in_forked_child([&] {
    memory::MemoryFactoryOptions options;
    options.runtime = runtime;
    const auto factory = memory::make_memory_factory(options);
    RecordingRetriever observer{"m"};
    const auto service = factory->create_mutex_retrieval_service(observer);
    try {
      service->start();
    } catch (const IllegalStateError&) {
      service->stop();
      return service->status() == ServiceStatus::initial;
    }
    return false;
  }));
}

// ---- stop() where it is called ------------------------------------------------------------------

/// Contenders with real threads and a short lease, over a connection that can be cut.
class LeaseServicesEnds : public testing::Test {
 protected:
  static ContentionOptions short_lease() {
    ContentionOptions options;
    options.ttl = 200ms;
    options.transition = 100ms;
    options.drain_limit = 10min;  // only a test that fails takes so long
    return options;
  }

  static std::shared_ptr<FaultStore> new_line() {
    return std::make_shared<FaultStore>(std::make_shared<memory::MemoryStore>(make_system_clock()));
  }

  const std::shared_ptr<FaultStore> line_ = new_line();
  std::shared_ptr<const Runtime> runtime_ = make_runtime({.log = make_null_logger()});
};

TEST_F(LeaseServicesEnds, StopInTheLossSignalDoesNotWaitForACallbackThatWaitsForTheSignal) {
  LeaseServiceFactory factory{line_, runtime_, short_lease()};
  MutexContendService* service = nullptr;
  Gate begun;
  Gate called;
  RecordingContender contender{"m", "a", {.on_acquired = [&](const MutexState&) {
                                 const std::stop_callback stops{service->lost(), [&] {
                                                                  service->stop();
                                                                  called.open();
                                                                }};
                                 begun.open();
                                 called.opens();
                                 // The end of `stops` waits until its function has returned.
                               }}};
  const auto owned = factory.create_mutex_contend_service(contender);
  service = owned.get();
  service->start();
  ASSERT_TRUE(begun.opens());
  line_->cut();
  EXPECT_TRUE(eventually([&] { return service->status() == ServiceStatus::initial; }));
  EXPECT_EQ(contender.acquisitions(), 1U);
  EXPECT_EQ(contender.releases(), 1U);
  line_->mend();
}

TEST_F(LeaseServicesEnds, AfterAStopInTheLossSignalTheNextOneOfItsIdStartsWhenItIsStopped) {
  LeaseServiceFactory factory{line_, runtime_, short_lease()};
  RecordingContender contender{"m", "a"};
  RecordingContender twin{"m", "a"};
  const auto service = factory.create_mutex_contend_service(contender);
  const auto next = factory.create_mutex_contend_service(twin);
  service->start();
  ASSERT_TRUE(eventually([&] { return contender.acquisitions() == 1; }));
  Gate tried;
  std::optional<ServiceStatus> then;
  std::optional<ErrorKind> refused;
  const std::stop_callback stops{service->lost(), [&] {
                                   service->stop();
                                   then = service->status();
                                   try {
                                     next->start();
                                   } catch (const Error& error) {
                                     refused = error.kind();
                                   }
                                   tried.open();
                                 }};
  line_->cut();
  ASSERT_TRUE(tried.opens());
  EXPECT_EQ(then, ServiceStatus::running) << "its on_released has not been called";
  EXPECT_EQ(refused, ErrorKind::duplicate_id);
  ASSERT_TRUE(eventually([&] { return service->status() == ServiceStatus::initial; }));
  EXPECT_EQ(contender.releases(), 1U);
  line_->mend();
  next->start();
  EXPECT_TRUE(eventually([&] { return next->is_owner(); }));
  next->stop();
}

TEST_F(LeaseServicesEnds, StopMayBeCalledByManyThreadsAndCallbacksAtTheSameTime) {
  LeaseServiceFactory factory{line_, runtime_, short_lease()};
  for (int round = 0; round < 50; ++round) {
    MutexContendService* service = nullptr;
    const auto stop = [&](const auto&) { service->stop(); };
    RecordingContender contender{
        "m", "a", {.on_acquired = stop, .on_released = stop, .on_event = stop}};
    const auto owned = factory.create_mutex_contend_service(contender);
    service = owned.get();
    service->start();
    const std::stop_callback stops{service->lost(), [&] { service->stop(); }};
    {
      std::array<std::jthread, 3> stoppers;
      for (std::jthread& stopper : stoppers) {
        stopper = std::jthread{[&] {
          service->stop();
          EXPECT_EQ(service->status(), ServiceStatus::initial);
        }};
      }
    }
    EXPECT_EQ(contender.acquisitions(), contender.releases());
  }
}

TEST_F(LeaseServicesEnds, ALockerMayBeClosedInItsLossSignal) {
  LeaseServiceFactory factory{line_, runtime_, short_lease()};
  for (const bool at_a_loss : {false, true}) {
    SimbaLocker locker{"m", factory, "a"};
    locker.acquire();
    Gate closed;
    const std::stop_callback closes{locker.lost(), [&] {
                                      locker.close();
                                      closed.open();
                                    }};
    if (at_a_loss) {
      line_->cut();
    } else {
      locker.close();
    }
    EXPECT_TRUE(closed.opens());
    line_->mend();
    locker.close();
    locker.acquire();
    EXPECT_TRUE(locker.is_held());
  }
}

// ---- the log ------------------------------------------------------------------------------------

/// Standard error is a pipe that is full and that nobody reads, until the end.
class StuckErrorStream {
 public:
  StuckErrorStream() : before_{::dup(STDERR_FILENO)} {
    EXPECT_EQ(::pipe2(pipe_.data(), O_CLOEXEC | O_NONBLOCK), 0);
    const std::array<char, 4096> junk{};
    while (::write(pipe_[1], junk.data(), junk.size()) > 0) {
    }
    while (::write(pipe_[1], junk.data(), 1) > 0) {
    }
    ::fcntl(pipe_[1], F_SETFL, 0);  // from here on a write waits
    ::dup2(pipe_[1], STDERR_FILENO);
  }
  ~StuckErrorStream() {
    ::dup2(before_, STDERR_FILENO);
    ::close(pipe_[0]);  // whoever is stuck goes on, with an error
    ::close(pipe_[1]);
    ::close(before_);
  }
  StuckErrorStream(const StuckErrorStream&) = delete;
  StuckErrorStream& operator=(const StuckErrorStream&) = delete;

 private:
  const int before_;
  std::array<int, 2> pipe_{};
};

TEST_F(LeaseServicesEnds, AStuckErrorStreamHoldsUpNeitherLossSignalsNorRenewals) {
  std::optional<StuckErrorStream> stuck{std::in_place};
  runtime_ = make_runtime();
  const auto healthy = new_line();
  LeaseServiceFactory factory{line_, runtime_, short_lease()};
  LeaseServiceFactory other_factory{healthy, runtime_, short_lease()};
  RecordingContender contender{"m", "a"};
  RecordingContender other{"other", "a"};
  AbstractMutexContender talks{"talks"};  // its callbacks log
  const auto service = factory.create_mutex_contend_service(contender);
  const auto other_service = other_factory.create_mutex_contend_service(other);
  const auto third = other_factory.create_mutex_contend_service(talks);
  service->start();
  other_service->start();
  third->start();
  const std::stop_token lost = service->lost();
  line_->cut();
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  const std::size_t renewals = healthy->count(testkit::Operation::guard);
  EXPECT_TRUE(eventually([&] { return healthy->count(testkit::Operation::guard) > renewals + 20; }))
      << "timers run";
  EXPECT_TRUE(other_service->is_owner());
  EXPECT_EQ(other.releases(), 0U);
  line_->mend();
  EXPECT_TRUE(eventually([&] { return service->is_owner(); }));
  third->stop();
  service->stop();
  other_service->stop();
  stuck.reset();
}

// ---- the last one -------------------------------------------------------------------------------

TEST_F(LeaseContendServiceTest, WhatIsLeftToReleaseIsGivenUpWithTheLastOfFactoryAndServices) {
  for (const bool factory_first : {true, false}) {
    const auto line = std::make_shared<FaultStore>(store_);
    auto runtime = std::make_shared<const Runtime>(*runtime_.runtime());
    const std::weak_ptr<const Runtime> threads = runtime;
    auto factory = std::make_unique<LeaseServiceFactory>(line, std::move(runtime));
    RecordingContender contender{"m", "a"};
    auto service = factory->create_mutex_contend_service(contender);
    service->start();
    runtime_.run_ready();
    ASSERT_TRUE(service->is_owner());
    line->cut();
    if (factory_first) factory.reset();
    service.reset();
    if (factory) {
      EXPECT_FALSE(logged("giving up"));
      EXPECT_FALSE(threads.expired());
      const std::size_t before = line->count(testkit::Operation::release);
      runtime_.advance(1s);
      EXPECT_GT(line->count(testkit::Operation::release), before) << "in the background";
    }
    factory.reset();
    EXPECT_TRUE(logged("mutex [m], contender [a]: release not confirmed"));
    EXPECT_TRUE(logged("giving up"));
    EXPECT_TRUE(threads.expired());
    const std::size_t asked = line->count(testkit::Operation::release);
    runtime_.advance(1min);  // its lease is over
    EXPECT_EQ(line->count(testkit::Operation::release), asked);
    EXPECT_EQ(runtime_.next_due(), never);
    runtime_.log().clear();
  }
}

TEST_F(LeaseContendServiceTest, WhatWasGivenUpIsNotTriedAgainWhenAnAnswerComes) {
  const auto line = std::make_shared<FaultStore>(store_);
  auto factory = std::make_unique<LeaseServiceFactory>(line, runtime_.runtime());
  RecordingContender contender{"m", "a"};
  auto service = factory->create_mutex_contend_service(contender);
  service->start();
  runtime_.run_ready();
  line->black_hole();
  service.reset();
  factory.reset();
  EXPECT_TRUE(logged("giving up"));
  const std::size_t asked = line->count(testkit::Operation::release);
  line->mend();  // answers "in doubt"
  runtime_.advance(1min);
  EXPECT_EQ(line->count(testkit::Operation::release), asked);
  EXPECT_EQ(runtime_.next_due(), never);
}

TEST_F(LeaseServicesEnds, NoThreadIsLeftWhenTheLastObjectIsGoneThoughTheStoreIsDown) {
  runtime_.reset();
  ContentionOptions options;  // a lease of 16 s
  options.release_wait = 10ms;
  {
    LeaseServiceFactory factory{line_, make_runtime({.log = make_null_logger()}), options};
    SimbaLocker locker{"m", factory, "a"};
    locker.acquire();
    line_->cut();
  }
  const auto begin = std::chrono::steady_clock::now();
  for (const auto* name : {"simba-timer", "simba-call", "simba-signal"}) {
    EXPECT_TRUE(eventually([&] { return test::threads_named(name) == 0; })) << name;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s) << "not when the lease is over";
}

}  // namespace
}  // namespace simba::engine
