// Schedulers with real threads. Nothing here depends on how long anything takes.
#include <atomic>
#include <condition_variable>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/memory/memory_factory.hpp"
#include "simba/schedule/scheduler.hpp"
#include "simba/testkit/capturing_logger.hpp"
#include "simba/testkit/change_signal.hpp"
#include "simba/testkit/fault_store.hpp"
#include "unit/core/own_threads.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;

constexpr auto at_once_after = ScheduleConfig{ScheduleConfig::Strategy::fixed_delay, 0ns, 1us};
constexpr auto patience = 1min;  // only a test that fails takes so long

/// Returns when the token fires.
void wait_for(std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock{mutex};
  changed.wait(lock, stop, [] { return false; });
}

class SchedulerThreads : public ::testing::Test {
 protected:
  static std::shared_ptr<MutexServiceFactory> make_factory(std::chrono::milliseconds drain_limit,
                                                           std::size_t workers = 2,
                                                           std::size_t most_workers = 64) {
    memory::MemoryFactoryOptions options;
    options.contention.drain_limit = drain_limit;
    options.runtime = make_runtime(
        {.worker_threads = workers, .log = make_null_logger(), .max_worker_threads = most_workers});
    return memory::make_memory_factory(options);
  }

  const std::shared_ptr<MutexServiceFactory> factory_ = make_factory(patience);
};

TEST_F(SchedulerThreads, StopWaitsForTheRunningWorkAndHoldsTheMutexMeanwhile) {
  std::latch begun{1};
  std::latch may_end{1};
  std::atomic<bool> ended{false};
  Scheduler scheduler{"clean", *factory_, at_once_after, [&](std::stop_token stop) {
                        begun.count_down();
                        wait_for(stop);
                        may_end.wait();
                        ended = true;
                      }};
  scheduler.start();
  begun.wait();
  SimbaLocker other{"clean", *factory_};
  {
    const std::jthread stopping{[&] {
      scheduler.stop();
      EXPECT_TRUE(ended);
    }};
    while (scheduler.is_leader()) std::this_thread::yield();
    EXPECT_FALSE(other.try_acquire()) << "its work still runs";
    EXPECT_THROW(scheduler.start(), IllegalStateError);
    const std::jthread second{[&] {
      scheduler.stop();  // waits for the stop() of the other thread
      EXPECT_TRUE(ended);
    }};
    may_end.count_down();
    scheduler.close();  // waits for the stop() of the other thread
    EXPECT_TRUE(ended);
  }
  EXPECT_TRUE(other.try_acquire());
}

TEST_F(SchedulerThreads, EndlessWorkKeepsNoOtherFromItsThread) {
  std::atomic<int> endless{0};
  std::vector<std::unique_ptr<Scheduler>> schedulers;
  for (int i = 0; i < 4; ++i) {
    schedulers.push_back(std::make_unique<Scheduler>("endless-" + std::to_string(i), *factory_,
                                                     at_once_after, [&](std::stop_token stop) {
                                                       ++endless;
                                                       wait_for(std::move(stop));
                                                     }));
    schedulers.back()->start();
  }
  std::latch quick{3};
  Scheduler scheduler{"quick", *factory_, at_once_after,
                      [&, left = 3](const std::stop_token&) mutable {
                        if (left-- > 0) quick.count_down();
                      }};
  scheduler.start();
  quick.wait();
  while (endless < 4) std::this_thread::yield();
}

TEST_F(SchedulerThreads, AnExecuteThatBlocksHoldsUpNoOtherScheduler) {
  struct Blocking final : Executor {
    void execute(std::function<void()> task) override {
      entered.count_down();
      may_go_on.wait();
      task();
    }
    bool running_in_this_thread() const noexcept override { return false; }
    std::latch entered{1};
    std::latch may_go_on{1};
  };
  const auto executor = std::make_shared<Blocking>();
  Scheduler blocked{"blocked",
                    *factory_,
                    ScheduleConfig::delay(0ns, 1h),
                    [](const std::stop_token&) {},
                    {.executor = executor}};
  blocked.start();
  executor->entered.wait();
  std::latch quick{3};
  Scheduler scheduler{"quick", *factory_, at_once_after,
                      [&, left = 3](const std::stop_token&) mutable {
                        if (left-- > 0) quick.count_down();
                      }};
  scheduler.start();
  quick.wait();
  blocked.stop();
  executor->may_go_on.count_down();
}

TEST_F(SchedulerThreads, WorkThatFindsNoThreadIsLoggedAndCounted) {
  const auto log = std::make_shared<testkit::CapturingLogger>();
  memory::MemoryFactoryOptions options;
  options.runtime = make_runtime({.worker_threads = 1, .log = log, .max_worker_threads = 1});
  const auto factory = memory::make_memory_factory(options);
  std::latch begun{1};
  Scheduler endless{"endless", *factory, at_once_after, [&](std::stop_token stop) {
                      begun.count_down();
                      wait_for(std::move(stop));
                    }};
  endless.start();
  begun.wait();
  std::atomic<bool> ran{false};
  Scheduler other{"other", *factory, at_once_after, [&](const std::stop_token&) { ran = true; }};
  other.start();
  while (options.runtime->delays->delayed() == 0) std::this_thread::yield();
  while (
      !log->contains("not started after 1 s: the work of scheduler [other]; currently running: the "
                     "work of scheduler [endless] for")) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(log->contains("raise RuntimeOptions::max_worker_threads"));
  other.stop();  // needs no thread
  EXPECT_FALSE(ran);
}

TEST_F(SchedulerThreads, CloseWaitsForWorkThatHasStoppedItself) {
  std::latch begun{1};
  std::latch may_end{1};
  std::atomic<bool> ended{false};
  std::optional<Scheduler> scheduler;
  scheduler.emplace("clean", *factory_, at_once_after, [&](const std::stop_token&) {
    scheduler->stop();
    begun.count_down();
    may_end.wait();
    ended = true;
  });
  scheduler->start();
  begun.wait();
  EXPECT_FALSE(scheduler->running());
  SimbaLocker other{"clean", *factory_};
  EXPECT_FALSE(other.try_acquire());
  const std::jthread ending{[&] { may_end.count_down(); }};
  scheduler->stop();
  EXPECT_TRUE(ended);
  EXPECT_TRUE(other.try_acquire());
}

TEST_F(SchedulerThreads, MayBeStoppedInTheSignalsThatItsStopFires) {
  std::latch begun{1};
  std::atomic<int> fired{0};
  std::optional<Scheduler> scheduler;
  const auto stop_again = [&] {
    scheduler->stop();
    scheduler->close();
    ++fired;
  };
  scheduler.emplace("clean", *factory_, at_once_after, [&](std::stop_token stop) {
    const std::stop_callback stops{stop, stop_again};
    begun.count_down();
    wait_for(stop);
  });
  scheduler->start();
  begun.wait();
  const std::stop_callback stops{scheduler->contend_service().lost(), stop_again};
  scheduler->stop();
  EXPECT_EQ(fired, 2);
  EXPECT_EQ(scheduler->contend_service().status(), ServiceStatus::initial);
  scheduler->start();
}

TEST_F(SchedulerThreads, StopInTheSignalOfALossDoesNotWaitForWorkThatWaitsForTheSignal) {
  ContentionOptions options;
  options.ttl = 200ms;
  options.transition = 100ms;
  options.drain_limit = 10min;  // only a test that fails takes so long
  const auto line = std::make_shared<testkit::FaultStore>(
      std::make_shared<memory::MemoryStore>(make_system_clock()));
  engine::LeaseServiceFactory factory{line, make_runtime({.log = make_null_logger()}), options};
  std::latch begun{1};
  std::latch stopped{1};
  std::optional<Scheduler> scheduler;
  scheduler.emplace("clean", factory, at_once_after, [&](const std::stop_token& stop) {
    const std::stop_callback stops{stop, [&] {
                                     scheduler->stop();
                                     stopped.count_down();
                                   }};
    begun.count_down();
    stopped.wait();
    // The end of `stops` waits until its function has returned.
  });
  scheduler->start();
  begun.wait();
  line->cut();
  stopped.wait();
  EXPECT_TRUE(test::eventually(
      [&] { return scheduler->contend_service().status() == ServiceStatus::initial; }));
  EXPECT_FALSE(scheduler->running());
  line->mend();
  scheduler->close();
  scheduler.emplace("clean", factory, at_once_after, [](const std::stop_token&) {});
  scheduler->start();
  EXPECT_TRUE(scheduler->running());
}

TEST_F(SchedulerThreads, WorkThatDoesNotEndDelaysTheDestructorOnlyUntilTheDrainLimit) {
  const auto factory = make_factory(20ms);
  std::latch begun{1};
  std::latch may_end{1};
  std::atomic<bool> ended{false};
  std::atomic<bool> gone{false};
  std::shared_ptr<void> resource{nullptr, [&](void*) { gone = true; }};
  {
    Scheduler scheduler{"clean", *factory, at_once_after,
                        [&, resource = std::move(resource)](const std::stop_token&) {
                          begun.count_down();
                          may_end.wait();
                          ended = true;
                        }};
    scheduler.start();
    begun.wait();
  }
  EXPECT_FALSE(gone) << "the function lives as long as its run";
  may_end.count_down();
  while (!gone) std::this_thread::yield();
  EXPECT_TRUE(ended);
}

TEST_F(SchedulerThreads, RunsDoNotOverlapEvenWhenStopDidNotWaitToTheEnd) {
  const auto factory = make_factory(20ms);
  std::latch begun{1};
  std::latch may_end{1};
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> runs{0};
  testkit::ChangeSignal changed;
  Scheduler scheduler{"clean", *factory, at_once_after, [&](const std::stop_token&) {
                        most = std::max(most.load(), ++inside);
                        if (++runs == 1) {
                          begun.count_down();
                          may_end.wait();
                        }
                        --inside;
                        changed.changed();
                      }};
  scheduler.start();
  begun.wait();
  scheduler.stop();
  scheduler.start();
  EXPECT_TRUE(scheduler.running());
  EXPECT_EQ(runs, 1);
  may_end.count_down();
  EXPECT_TRUE(changed.wait([&] { return runs >= 3; }, patience));
  scheduler.stop();
  EXPECT_EQ(most, 1);
}

TEST_F(SchedulerThreads, AnIdleSchedulerStopsWhileAllWorkersAreBusy) {
  const auto factory = make_factory(patience, 1, 1);
  std::latch begun{1};
  std::latch may_end{1};
  Scheduler busy{"busy", *factory, at_once_after, [&](const std::stop_token&) {
                   begun.count_down();
                   may_end.wait();
                 }};
  Scheduler idle{"idle", *factory, ScheduleConfig::delay(1h, 1h), [](const std::stop_token&) {}};
  busy.start();
  begun.wait();
  idle.start();
  EXPECT_TRUE(idle.is_leader());
  idle.stop();
  SimbaLocker other{"idle", *factory};
  EXPECT_TRUE(other.try_acquire());
  may_end.count_down();
  busy.stop();
}

TEST_F(SchedulerThreads, WithOneThreadForEverythingStopStillWorks) {
  const auto factory = make_factory(patience, 1, 1);
  std::latch begun{1};
  Scheduler scheduler{"clean", *factory, at_once_after, [&](std::stop_token stop) {
                        begun.count_down();
                        wait_for(stop);
                      }};
  scheduler.start();
  begun.wait();
  scheduler.stop();
  EXPECT_FALSE(scheduler.is_leader());
}

TEST_F(SchedulerThreads, StartStopAndCloseFromManyThreadsLeaveNothingBehind) {
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  Scheduler scheduler{"clean", *factory_, at_once_after, [&](const std::stop_token&) {
                        most = std::max(most.load(), ++inside);
                        --inside;
                      }};
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < 3; ++i) {
      all.emplace_back([&, i] {
        for (int round = 0; round < 100; ++round) {
          try {
            if ((round + i) % 3 == 0) scheduler.start();
            if ((round + i) % 3 == 1) scheduler.stop();
            if ((round + i) % 3 == 2) scheduler.close();
          } catch (const IllegalStateError&) {  // another thread was faster
          }
        }
      });
    }
  }
  scheduler.close();
  EXPECT_FALSE(scheduler.running());
  EXPECT_LE(most, 1);
  SimbaLocker other{"clean", *factory_};
  EXPECT_TRUE(other.try_acquire());
}

TEST_F(SchedulerThreads, WorkThatStopsItselfMeetsAStopFromOutside) {
  for (int round = 0; round < 50; ++round) {
    std::latch begun{1};
    std::optional<Scheduler> scheduler;
    scheduler.emplace("clean", *factory_, at_once_after, [&](const std::stop_token&) {
      begun.count_down();
      scheduler->close();
    });
    scheduler->start();
    begun.wait();
    if (round % 2 == 0) scheduler->close();
    scheduler.reset();
    SimbaLocker other{"clean", *factory_};
    ASSERT_TRUE(other.try_acquire()) << "round " << round;
  }
}

TEST_F(SchedulerThreads, AForkedChildNeitherWorksNorStopsNorHangs) {
  std::latch begun{1};
  auto scheduler =
      std::make_unique<Scheduler>("clean", *factory_, at_once_after, [&](std::stop_token stop) {
        begun.count_down();
        wait_for(stop);
      });
  scheduler->start();
  begun.wait();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);  // a child that hangs is killed
    int wrong = 0;
    wrong += scheduler->running() ? 1 : 0;
    wrong += scheduler->is_leader() ? 2 : 0;
    scheduler->stop();
    try {
      scheduler->start();
      wrong += 4;
    } catch (const IllegalStateError&) {
    }
    scheduler->close();
    scheduler.reset();
    ::_exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(scheduler->is_leader());
  scheduler->stop();
}

}  // namespace
}  // namespace simba
