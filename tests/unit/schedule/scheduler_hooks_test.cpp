// On which threads the hooks of a scheduler are called, and what they may do to it.
#include <algorithm>
#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>

#include "simba/testkit/capturing_logger.hpp"
#include "simba/testkit/manual_executor.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "simba/testkit/served_time.hpp"
#include "unit/core/gate.hpp"
#include "unit/core/own_threads.hpp"
#include "unit/schedule/scheduler_fixture.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using schedule_test::SchedulerFixture;
using test::eventually;
using test::Gate;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testkit::FaultStore;
using testkit::Operation;

std::string news_of(const MutexState& state) {
  const std::string& owner = state.after().owner_id();
  return owner.empty() ? "nobody" : owner;
}

std::string news_of(const ContentionEvent& event) {
  if (std::holds_alternative<OwnershipLost>(event)) return "lost";
  return std::holds_alternative<RenewalFailed>(event) ? "renewal failed" : "at risk";
}

/// Hooks that tell `hear` in words what they are told.
SchedulerOptions telling(const std::function<void(const std::string&)>& hear) {
  return {.contender_id = "me",
          .on_state = [hear](const MutexContendService&,
                             const MutexState& state) { hear(news_of(state)); },
          .on_event = [hear](const MutexContendService&,
                             const ContentionEvent& event) { hear(news_of(event)); }};
}

// ---- in virtual time -------------------------------------------------------------------------

class SchedulerHooks : public SchedulerFixture {
 protected:
  /// Starts a scheduler whose hooks note what they hear; the first that hears `moment` does `what`.
  void start(const std::string& moment = {}, std::function<void()> what = {}) {
    const auto hear = [this, moment, what](const std::string& news) {
      heard_.push_back(news);
      if (news == moment && !std::exchange(done_, true)) what();
    };
    scheduler_ = std::make_unique<Scheduler>("clean", factory_, ScheduleConfig::rate(1s, 1s),
                                             noting(), telling(hear));
    scheduler_->start();
    world_.run_ready();
  }

  /// Nothing of it is left: no timer, no run and no hook, and the mutex is free.
  void expect_that_it_is_over() {
    const auto runs = runs_;
    const auto heard = heard_;
    store_->mend();
    world_.advance(1min);
    EXPECT_EQ(world_.next_due(), never);
    EXPECT_EQ(runs_, runs);
    EXPECT_EQ(heard_, heard);
    EXPECT_TRUE(other_.try_acquire());
  }

  std::vector<std::string> heard_;
  bool done_ = false;
  std::unique_ptr<Scheduler> scheduler_;
};

TEST_F(SchedulerHooks, AreCalledByTheCallbackThreadsWhoeverBringsTheNews) {
  const auto callbacks = std::make_shared<testkit::ManualExecutor>();
  auto runtime = std::make_shared<Runtime>(*world_.runtime());
  runtime->callbacks = callbacks;
  engine::LeaseServiceFactory factory{store_, runtime};
  Scheduler scheduler{"clean", factory, ScheduleConfig::rate(1s, 1s), noting(),
                      telling([this](const std::string& news) { heard_.push_back(news); })};
  scheduler.start();
  world_.advance(5s);
  EXPECT_TRUE(scheduler.is_leader());
  EXPECT_THAT(heard_, IsEmpty());
  EXPECT_THAT(runs_, IsEmpty()) << "the hook comes first";

  callbacks->run_all();
  EXPECT_THAT(heard_, ElementsAre("me"));
  world_.advance(2s);
  EXPECT_THAT(runs_, ElementsAre(6s, 7s));

  store_->cut();
  world_.advance(1min);
  EXPECT_THAT(heard_, ElementsAre("me"));
  callbacks->run_all();
  EXPECT_THAT(heard_, Contains("nobody"));

  store_->mend();
  world_.advance(1min);
  callbacks->run_all();
  EXPECT_EQ(heard_.back(), "me");
  scheduler.stop();
  EXPECT_EQ(heard_.back(), "nobody") << "no callback thread has called it: stop() has";
}

TEST_F(SchedulerHooks, MayStopTheirSchedulerWhenItLeads) {
  start("me", [&] {
    scheduler_->stop();
    EXPECT_FALSE(scheduler_->running());
    EXPECT_FALSE(scheduler_->is_leader());
    EXPECT_THAT(heard_, ElementsAre("me", "nobody")) << "what remains is told by stop() itself";
    EXPECT_TRUE(other_.try_acquire());
    other_.close();
    scheduler_->stop();
  });
  EXPECT_THAT(heard_, ElementsAre("me", "nobody"));
  expect_that_it_is_over();
  EXPECT_THAT(runs_, IsEmpty());
}

TEST_F(SchedulerHooks, MayCloseTheirSchedulerWhenItLeadsNoMore) {
  start("nobody", [&] {
    scheduler_->close();
    EXPECT_FALSE(scheduler_->running());
  });
  world_.advance(1s);
  EXPECT_TRUE(scheduler_->is_leader());
  store_->cut();
  ASSERT_TRUE(world_.run_until([&] { return done_; }, 1min));
  EXPECT_EQ(heard_.back(), "nobody");
  expect_that_it_is_over();
}

TEST_F(SchedulerHooks, MayStopTheirSchedulerAtAnEvent) {
  start("renewal failed", [&] {
    scheduler_->stop();
    scheduler_->close();
    EXPECT_EQ(heard_.back(), "nobody");
  });
  store_->cut();
  ASSERT_TRUE(world_.run_until([&] { return done_; }, 1min));
  expect_that_it_is_over();
}

TEST_F(SchedulerHooks, MayStopTheirSchedulerWithinItsOwnStop) {
  start("nobody", [&] {
    scheduler_->stop();
    scheduler_->close();
  });
  scheduler_->stop();
  EXPECT_TRUE(done_);
  expect_that_it_is_over();
}

TEST_F(SchedulerHooks, MayStopTheirServiceAlone) {
  Scheduler scheduler{
      "clean",
      factory_,
      ScheduleConfig::rate(1s, 1s),
      noting(),
      {.on_state = [](MutexContendService& service, const MutexState&) { service.stop(); }}};
  scheduler.start();
  world_.advance(1min);
  EXPECT_EQ(world_.next_due(), never);
  scheduler.stop();
  EXPECT_THAT(runs_, IsEmpty());
  EXPECT_TRUE(other_.try_acquire());
}

TEST_F(SchedulerHooks, MayStartTheirSchedulerAgain) {
  start("me", [&] {
    scheduler_->stop();
    scheduler_->start();
  });
  EXPECT_THAT(heard_, ElementsAre("me", "nobody", "me"));
  EXPECT_TRUE(scheduler_->is_leader());
  world_.advance(2s);
  EXPECT_THAT(runs_, ElementsAre(1s, 2s));
}

TEST_F(SchedulerHooks, MayDestroyTheirScheduler) {
  for (const char* const moment : {"me", "renewal failed", "lost", "nobody"}) {
    done_ = false;
    auto alive = std::make_shared<int>();
    const std::weak_ptr<int> function = alive;
    start(moment, [this, alive, &function] {
      scheduler_.reset();
      EXPECT_FALSE(function.expired()) << "the function that runs still exists";
    });
    alive.reset();
    store_->cut();
    ASSERT_TRUE(world_.run_until([&] { return done_; }, 1min)) << moment;
    EXPECT_TRUE(function.expired());
    expect_that_it_is_over();
    other_.close();
  }
}

// ---- with threads ----------------------------------------------------------------------------

/// Two stores that fail independently of each other, on one runtime.
class SchedulerHooksThreads : public ::testing::Test {
 protected:
  static std::shared_ptr<FaultStore> make_store() {
    return std::make_shared<FaultStore>(std::make_shared<memory::MemoryStore>(make_system_clock()));
  }

  static constexpr ScheduleConfig immediately_{ScheduleConfig::Strategy::fixed_delay, 0ns, 1us};

  static ContentionOptions options() {
    ContentionOptions options;
    options.ttl = 300ms;
    options.transition = 1s;
    options.drain_limit = 20s;  // only a test that fails takes so long
    return options;
  }

  const std::shared_ptr<testkit::CapturingLogger> log_ =
      std::make_shared<testkit::CapturingLogger>();
  const std::shared_ptr<const Runtime> runtime_ = make_runtime({.log = log_});
  const std::shared_ptr<FaultStore> store_ = make_store();
  const std::shared_ptr<FaultStore> another_ = make_store();
  engine::LeaseServiceFactory factory_{store_, runtime_, options()};
  engine::LeaseServiceFactory of_another_{another_, runtime_, options()};
};

TEST_F(SchedulerHooksThreads, OneThatBlocksHoldsUpNoOtherMutex) {
  Gate go_on;
  std::atomic<int> blocked{0};
  std::vector<std::unique_ptr<Scheduler>> blocking;
  store_->next(Operation::guard, testkit::Fault::fail(), 1000);
  for (const std::string moment : {"renewal failed", "me"}) {
    blocking.push_back(std::make_unique<Scheduler>(
        moment, factory_, ScheduleConfig::rate(0s, 1ms), [](const std::stop_token&) {},
        telling([&, moment](const std::string& news) {
          if (news != moment) return;
          EXPECT_TRUE(runtime_->callbacks->running_in_this_thread());
          ++blocked;
          EXPECT_TRUE(go_on.opens());
        })));
    blocking.back()->start();
  }
  ASSERT_TRUE(eventually([&] { return blocked == 2; }));

  // Beside it, another is acquired, renewed, worked under, lost on time and given back.
  std::atomic<int> runs{0};
  Scheduler quick{"quick", of_another_, ScheduleConfig::rate(0s, 1ms),
                  [&](const std::stop_token&) { ++runs; }};
  quick.start();
  testkit::RecordingContender contender{"mutex", "a"};
  const auto service = of_another_.create_mutex_contend_service(contender);
  service->start();
  ASSERT_TRUE(contender.wait_for_acquisitions(1, 10s));
  EXPECT_TRUE(eventually([&] { return runs >= 3; }));
  const std::size_t renewals = another_->count(Operation::guard);
  EXPECT_TRUE(eventually([&] { return another_->count(Operation::guard) >= renewals + 4; }));
  const std::stop_token lost = service->lost();
  another_->cut();
  EXPECT_LT(testkit::ServedTime::taken_by(
                [&] { EXPECT_TRUE(eventually([&] { return lost.stop_requested(); })); }),
            5s);
  EXPECT_TRUE(contender.wait_for_releases(1, 10s));
  another_->mend();
  EXPECT_TRUE(contender.wait_for_acquisitions(2, 10s));
  service->stop();
  quick.stop();
  EXPECT_EQ(blocked, 2);
  go_on.open();
}

TEST_F(SchedulerHooksThreads, OneThatBlocksHoldsUpTheWorkAndTheStopOfItsOwnScheduler) {
  std::latch blocked{1};
  Gate go_on;
  std::atomic<bool> ended{false};
  std::atomic<int> runs{0};
  Scheduler scheduler{"clean", factory_, immediately_,
                      [&](const std::stop_token&) { runs += ended ? 1 : 1000; },
                      telling([&](const std::string& news) {
                        if (news != "me") return;
                        blocked.count_down();
                        EXPECT_TRUE(go_on.opens());
                        ended = true;
                      })};
  scheduler.start();
  blocked.wait();
  EXPECT_TRUE(scheduler.is_leader());
  const std::jthread opener{[&] {
    EXPECT_TRUE(eventually([&] { return !scheduler.running(); }));
    go_on.open();
  }};
  scheduler.stop();
  EXPECT_TRUE(ended);
  EXPECT_LT(runs, 1000);
}

TEST_F(SchedulerHooksThreads, NoneIsCalledAfterAStopThatHasWaitedInVain) {
  ContentionOptions impatient = options();
  impatient.drain_limit = 20ms;
  engine::LeaseServiceFactory factory{store_, runtime_, impatient};
  std::latch blocked{1};
  Gate go_on;
  Gate goes_on;
  std::atomic<int> heard{0};
  std::atomic<int> runs{0};
  Scheduler scheduler{"clean", factory, immediately_, [&](const std::stop_token&) { ++runs; },
                      telling([&](const std::string&) {
                        if (++heard > 1) return;
                        blocked.count_down();
                        EXPECT_TRUE(go_on.opens());
                        goes_on.open();
                      })};
  scheduler.start();
  blocked.wait();
  scheduler.stop();
  go_on.open();
  ASSERT_TRUE(goes_on.opens());
  EXPECT_EQ(heard, 1);
  EXPECT_EQ(runs, 0);
  EXPECT_FALSE(scheduler.is_leader());
  scheduler.start();
  EXPECT_TRUE(eventually([&] { return runs > 0; }));
}

TEST_F(SchedulerHooksThreads, StopInOneOfThemReturnsWhileAnotherThreadStops) {
  for (const bool closes : {false, true}) {
    std::latch blocked{1};
    std::optional<Scheduler> scheduler;
    scheduler.emplace(
        "clean", factory_, immediately_, [](const std::stop_token&) {},
        telling([&](const std::string& news) {
          if (news != "me") return;
          blocked.count_down();
          EXPECT_TRUE(eventually([&] { return !scheduler->running(); }));
          if (closes) {
            scheduler->close();
          } else {
            scheduler->stop();
          }
        }));
    scheduler->start();
    blocked.wait();
    scheduler->stop();
    EXPECT_FALSE(log_->contains("drain limit")) << log_->text();
  }
}

TEST_F(SchedulerHooksThreads, OneThatHasStoppedItsSchedulerIsWaitedForByEveryoneElse) {
  enum class Way { stop, close, destroy };
  for (const Way way : {Way::stop, Way::close, Way::destroy}) {
    std::latch stopped{1};
    std::atomic<bool> returned{false};
    bool waited = false;
    std::unique_ptr<Scheduler> scheduler;
    scheduler = std::make_unique<Scheduler>(
        "clean", factory_, immediately_, [](const std::stop_token&) {},
        telling([&](const std::string& news) {
          if (news != "me") return;
          scheduler->stop();
          stopped.count_down();
          const auto deadline = std::chrono::steady_clock::now() + 200ms;
          while (!returned && std::chrono::steady_clock::now() < deadline)
            std::this_thread::yield();
          waited = !returned;
        }));
    scheduler->start();
    stopped.wait();
    switch (way) {
      case Way::stop:
        scheduler->stop();
        break;
      case Way::close:
        scheduler->close();
        break;
      case Way::destroy:
        scheduler.reset();
    }
    returned = true;
    EXPECT_TRUE(waited) << static_cast<int>(way);
  }
}

TEST_F(SchedulerHooksThreads, NoneBeginsAfterCloseAlthoughTwoOfThemStopOneInTheOther) {
  std::latch nested{1};
  std::atomic<bool> closed{false};
  std::atomic<bool> ended{false};
  std::atomic<int> late{0};
  int states = 0;
  int events = 0;
  std::unique_ptr<Scheduler> scheduler;
  SchedulerOptions hooks;
  hooks.on_state = [&](MutexContendService& service, const MutexState&) {
    if (closed) ++late;
    if (++states > 1) return;
    // Until renewals have failed: their events wait behind this hook.
    EXPECT_TRUE(eventually([&] { return store_->count(Operation::guard) > 7; }));
    service.stop();
    ended = true;
  };
  hooks.on_event = [&](MutexContendService&, const ContentionEvent&) {
    if (closed) ++late;
    if (++events > 1) return;
    scheduler->stop();
    nested.count_down();
    const auto deadline = std::chrono::steady_clock::now() + 200ms;
    while (!closed && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  };
  store_->next(Operation::guard, testkit::Fault::fail(), 1000);
  scheduler = std::make_unique<Scheduler>(
      "clean", factory_, ScheduleConfig::delay(0s, 1h), [](const std::stop_token&) {}, hooks);
  scheduler->start();
  nested.wait();
  scheduler->close();
  closed = true;
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
  EXPECT_EQ(late, 0);
}

TEST_F(SchedulerHooksThreads, MayDestroyTheirSchedulerBeforeItsStartHasReturned) {
  for (int round = 0; round < 100; ++round) {
    Gate destroyed;
    std::unique_ptr<Scheduler> scheduler;
    scheduler = std::make_unique<Scheduler>(
        "clean", factory_, immediately_, [](const std::stop_token&) {},
        telling([&](const std::string& news) {
          if (news != "me") return;
          scheduler.reset();
          destroyed.open();
        }));
    scheduler->start();
    ASSERT_TRUE(destroyed.opens());
  }
  SimbaLocker other{"clean", factory_};
  EXPECT_TRUE(other.try_acquire());
}

TEST_F(SchedulerHooksThreads, StopCallsThoseThatFindNoThread) {
  const auto runtime =
      make_runtime({.callback_threads = 1, .log = log_, .max_callback_threads = 1});
  engine::LeaseServiceFactory factory{store_, runtime};
  Gate go_on;
  std::latch blocked{1};
  testkit::RecordingContender contender{"mutex", "a", {.on_acquired = [&](const MutexState&) {
                                          blocked.count_down();
                                          EXPECT_TRUE(go_on.opens());
                                        }}};
  const auto service = factory.create_mutex_contend_service(contender);
  service->start();
  blocked.wait();
  std::vector<std::string> heard;
  Scheduler scheduler{"clean", factory, immediately_,
                      [](const std::stop_token&) { ADD_FAILURE() << "the hook comes first"; },
                      telling([&](const std::string& news) { heard.push_back(news); })};
  scheduler.start();
  EXPECT_TRUE(eventually([&] {
    return log_->contains(
        "not started after 1 s: a hook of scheduler [clean]; currently running: "
        "a callback of mutex [mutex], contender [a] for");
  }));
  EXPECT_GE(runtime->delays->delayed(), 1U);
  scheduler.stop();
  EXPECT_THAT(heard, ElementsAre("me", "nobody"));
  EXPECT_FALSE(log_->contains("drain limit")) << log_->text();
  go_on.open();
}

TEST_F(SchedulerHooksThreads, MayStopAndStartItWhileOtherThreadsDo) {
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> hooks{0};
  std::atomic<int> turns{0};
  std::atomic<bool> over{false};
  std::optional<Scheduler> scheduler;
  const auto visit = [&] {
    most = std::max(most.load(), ++inside);
    --inside;
  };
  scheduler.emplace(
      "clean", factory_, immediately_, [&](const std::stop_token&) { visit(); },
      telling([&](const std::string& news) {
        ++hooks;
        visit();
        const int turn = news == "me" && !over ? ++turns % 3 : 0;
        try {
          if (turn > 0) scheduler->stop();
          if (turn > 1) scheduler->start();
        } catch (const IllegalStateError&) {  // another thread was faster
        }
        --hooks;
      }));
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < 3; ++i) {
      all.emplace_back([&, i] {
        for (int round = 0; round < 100; ++round) {
          try {
            if ((round + i) % 3 == 0) scheduler->start();
            if ((round + i) % 3 == 1) scheduler->stop();
            if ((round + i) % 3 == 2) scheduler->close();
          } catch (const IllegalStateError&) {  // another thread was faster
          }
        }
      });
    }
  }
  over = true;
  // A hook that has stopped it may be about to start it again.
  do scheduler->close();
  while (hooks > 0 || scheduler->contend_service().status() != ServiceStatus::initial);
  scheduler.reset();
  EXPECT_LE(most, 1);
  EXPECT_FALSE(log_->contains("drain limit")) << log_->text();
  SimbaLocker other{"clean", factory_};
  EXPECT_TRUE(other.try_acquire());
}

}  // namespace
}  // namespace simba
