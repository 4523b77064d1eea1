// What goes wrong: the store, the contender, the clock.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/testkit/recording_retriever.hpp"
#include "unit/engine/lease_contend_service_fixture.hpp"

namespace simba::engine {
namespace {

using testing::HasSubstr;
using testkit::Fault;
using testkit::Operation;

/// Runs a twentieth faster than the clock of the runtime: a hundred times more than allowed.
class FastClock final : public Clock {
 public:
  explicit FastClock(std::shared_ptr<const Clock> from) : from_{std::move(from)} {}

  LocalTime now() const noexcept override {
    const auto passed = from_->now() - began_;
    return began_ + passed + passed / 20;
  }

 private:
  const std::shared_ptr<const Clock> from_;
  const LocalTime began_ = from_->now();
};

TEST_F(LeaseContendServiceTest, StepsDownInTimeOnAStoreWhoseClockWasSeenToBeTooFast) {
  store_ =
      std::make_shared<memory::MemoryStore>(std::make_shared<FastClock>(runtime_.runtime()->clock));
  Party a{*this, "a"};
  a.service->start();
  runtime_.advance(60s);
  ASSERT_TRUE(a.service->is_owner());
  const auto events = a.contender.events();
  EXPECT_EQ(std::count_if(events.begin(), events.end(),
                          [](const ContentionEvent& event) {
                            const auto* risk = std::get_if<AtRisk>(&event);
                            return risk != nullptr && risk->clock_excess_ppm > 0;
                          }),
            1)
      << "it is told once";
  EXPECT_TRUE(logged("the store's clock is faster than this host's by 49"));
  a.line->cut();
  bool granted = false;
  while (!granted) {
    runtime_.advance(10ms);
    store_->acquire({.mutex = "m", .contender_id = "b", .ttl = 10s, .transition = 6s},
                    [&](const LeaseAnswer& answer) {
                      granted = answer.record() != nullptr && answer.record()->owner_id == "b";
                    });
    ASSERT_FALSE(granted && a.service->is_owner());
  }
}

TEST_F(LeaseContendServiceTest, StepsDownByItselfWhenTheStoreIsOutOfReach) {
  Party a{*this, "a"};
  Party b{*this, "b"};
  a.service->start();
  b.service->start();
  runtime_.run_ready();
  const std::stop_token lost = a.service->lost();
  a.line->cut();
  LocalTime a_until{};
  LocalTime b_since = never;
  while (b_since == never) {
    ASSERT_FALSE(a.service->is_owner() && b.service->is_owner());
    if (a.service->is_owner()) a_until = runtime_.now();
    runtime_.advance(10ms);
    if (b.service->is_owner()) b_since = runtime_.now();
  }
  EXPECT_GE(b_since - a_until, 400ms) << "the margin";
  EXPECT_TRUE(lost.stop_requested());
  EXPECT_EQ(a.contender.releases(), 1U);
  const auto events = a.contender.events();
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const ContentionEvent& e) {
    return std::holds_alternative<RenewalFailed>(e);
  }));
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const ContentionEvent& e) {
    return std::holds_alternative<AtRisk>(e);
  }));
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const ContentionEvent& e) {
    return std::holds_alternative<OwnershipLost>(e);
  }));
  EXPECT_TRUE(logged("renewal failed"));
  EXPECT_TRUE(logged("ownership lost (expired)"));
}

TEST_F(LeaseContendServiceTest, APausedProcessIsNotOwnerOnWakingBeforeAnythingElseHasRun) {
  Party a{*this, "a"};
  a.service->start();
  runtime_.clock().advance(1h);  // no timer and no task has run since
  EXPECT_FALSE(a.service->is_owner());
  EXPECT_FALSE(a.service->is_in_ttl());
  EXPECT_TRUE(a.service->lost().stop_requested());
}

TEST_F(LeaseContendServiceTest, GoesOnAsOwnerWhenTheStoreComesBackWithinTheLease) {
  Party a{*this, "a"};
  a.service->start();
  a.line->cut();
  runtime_.advance(12s);
  EXPECT_TRUE(a.service->is_owner());
  EXPECT_FALSE(a.service->is_in_ttl()) << "at risk";
  a.line->mend();
  runtime_.advance(2s);
  EXPECT_TRUE(a.service->is_in_ttl());
  EXPECT_EQ(a.contender.releases(), 0U);
  EXPECT_TRUE(logged("the store answers again"));
}

TEST_F(LeaseContendServiceTest, ContendsAgainAfterALossAndAlternatesItsCallbacks) {
  Party a{*this, "a"};
  a.service->start();
  a.line->cut();
  runtime_.advance(30s);
  EXPECT_FALSE(a.service->is_owner());
  a.line->mend();
  runtime_.advance(30s);
  EXPECT_TRUE(a.service->is_owner());
  EXPECT_FALSE(a.service->lost().stop_requested());
  EXPECT_EQ(a.contender.acquisitions(), 2U);
  EXPECT_EQ(a.contender.releases(), 1U);
}

TEST_F(LeaseContendServiceTest, StaysOutAfterALossWhereToldSo) {
  Party a{*this, "a", {}, {.executor = {}, .after_loss = AfterLoss::stay_out}};
  a.service->start();
  a.line->cut();
  runtime_.advance(30s);
  a.line->mend();
  runtime_.advance(60s);
  EXPECT_FALSE(a.service->is_owner());
  a.service->stop();
  a.service->start();
  EXPECT_TRUE(a.service->is_owner());
}

TEST_F(LeaseContendServiceTest, AThrowingCallbackIsLoggedAndChangesNothing) {
  Party a{*this,
          "a",
          {.on_acquired = [](const MutexState&) { throw std::runtime_error{"boom"}; },
           .on_released = [](const MutexState&) { throw 42; }}};
  a.service->start();
  runtime_.advance(60s);
  EXPECT_TRUE(a.service->is_owner());
  a.service->stop();
  EXPECT_EQ(a.contender.releases(), 1U);
  EXPECT_TRUE(logged("boom"));
  EXPECT_TRUE(logged("unknown exception"));
}

TEST_F(LeaseContendServiceTest, ALostReplyToAnAcquisitionIsSettledByAskingAgain) {
  Party a{*this, "a"};
  a.line->next(Operation::acquire, Fault::lose_answer());
  a.service->start();
  EXPECT_FALSE(a.service->is_owner());
  runtime_.advance(1s);
  EXPECT_TRUE(a.service->is_owner());
  EXPECT_EQ(a.line->count(Operation::acquire), 2U);
}

TEST_F(LeaseContendServiceTest, AMissedNoticeCostsTimeButNotTheMutex) {
  Party a{*this, "a"};
  Party b{*this, "b"};
  a.service->start();
  b.service->start();
  b.line->drop_notices();
  a.service->stop();
  EXPECT_FALSE(b.service->is_owner());
  runtime_.advance(worst_cases(b.factory.plan()).hand_over_without_notice);
  EXPECT_TRUE(b.service->is_owner());
}

TEST_F(LeaseContendServiceTest, ErrorsThatDoNotPassReachTheContenderAndTheLogOnce) {
  Party a{*this, "a"};
  a.line->every(Fault::fail(Error{ErrorKind::authentication, "wrong password"}));
  a.service->start();
  runtime_.advance(60s);
  const auto events = a.contender.events();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(std::get<AcquireFailed>(events.front()).error.kind(), ErrorKind::authentication);
  EXPECT_LE(events.size(), 7U) << "retried slowly";
  EXPECT_EQ(runtime_.log().count(LogLevel::warn), 1U) << "the rest is at debug level";
}

TEST_F(LeaseContendServiceTest, ASlowContenderIsNotFloodedWithFailures) {
  // The executor keeps its tasks: the contender is as slow as can be.
  const auto stuck = std::make_shared<testkit::ManualExecutor>();
  Party a{*this, "a", {}, {.executor = stuck, .after_loss = AfterLoss::contend_again}};
  a.line->cut();
  a.service->start();
  runtime_.advance(10min);
  stuck->run_all();
  EXPECT_LE(a.contender.events().size(), 10U);
}

TEST_F(LeaseContendServiceTest, TheLossSignalAskedForAfterAPauseHasFiredBeforeAnythingElseHasRun) {
  Party a{*this, "a"};
  a.service->start();
  runtime_.clock().advance(1h);
  EXPECT_TRUE(a.service->lost().stop_requested());
}

/// A store whose functions throw instead of answering.
class ThrowingStore : public LeaseStore {
 public:
  NameLimits name_limits() const noexcept override { return {}; }
  void acquire(const LeaseRequest&, AnswerHandler handler) override {
    if (throws) throw std::runtime_error{"out of order"};
    LeaseRecord record;
    record.owner_id = "other";
    record.transition_left = 1s;
    handler(record);
  }
  void guard(const LeaseRequest&, AnswerHandler) override {}
  void release(const LeaseRequest&, FencingToken, AnswerHandler handler) override {
    handler(LeaseRecord{});
  }
  void retrieve(const LeaseRequest& request, AnswerHandler handler) override {
    acquire(request, std::move(handler));
  }
  std::unique_ptr<Watch> watch(const LeaseRequest&, NoticeHandler) override {
    throw std::runtime_error{"no notices"};
  }
  bool throws = true;
};

TEST_F(LeaseContendServiceTest, AnObserverOfAStoreThatThrowsLooksAgain) {
  auto store = std::make_shared<ThrowingStore>();
  LeaseServiceFactory factory{store, runtime_.runtime()};
  testkit::RecordingRetriever retriever{"m"};
  auto service = factory.create_mutex_retrieval_service(
      retriever, RetrievalServiceOptions{.executor = make_inline_executor()});
  service->start();
  EXPECT_TRUE(logged("cannot watch the mutex: no notices"));
  EXPECT_TRUE(logged("out of order"));
  store->throws = false;
  runtime_.advance(11s);
  EXPECT_EQ(retriever.owners(), std::vector<std::string>{"other"}) << "on the executor given";
  service->stop();
}

TEST_F(LeaseContendServiceTest, AStoreThatThrowsIsTriedAgainLikeOneThatFails) {
  auto store = std::make_shared<ThrowingStore>();
  LeaseServiceFactory factory{store, runtime_.runtime()};
  RecordingContender contender{"m", "a"};
  auto service = factory.create_mutex_contend_service(contender);
  service->start();
  runtime_.run_ready();
  EXPECT_TRUE(logged("out of order"));
  store->throws = false;
  runtime_.advance(11s);
  EXPECT_EQ(service->after_owner().owner_id(), "other");
  EXPECT_TRUE(logged("cannot watch the mutex: no notices"));
  service->stop();
}

TEST_F(LeaseContendServiceTest, ALossSignalThatFindsNoThreadIsLoggedAndCounted) {
  auto runtime = std::make_shared<Runtime>(*runtime_.runtime());
  const auto busy = std::make_shared<testkit::ManualExecutor>();
  runtime->signals = busy;
  runtime->delays = DelayMonitor::make(runtime->clock, *runtime->timers, runtime->log);
  const auto line = std::make_shared<FaultStore>(store_);
  LeaseServiceFactory factory{line, runtime, options_};
  RecordingContender contender{"m", "a"};
  const auto service = factory.create_mutex_contend_service(contender);
  service->start();
  line->cut();
  ASSERT_TRUE(runtime_.run_until([&] { return busy->size() == 1; }, 1min));
  runtime_.advance(1s);
  EXPECT_EQ(runtime->delays->delayed(), 1U);
  EXPECT_TRUE(logged("not started after 1 s: the loss signal of mutex [m], contender [a]"));
  EXPECT_EQ(contender.releases(), 0U);
  busy->run_all();
  runtime_.run_ready();
  EXPECT_EQ(contender.releases(), 1U);
  line->close();
}

/// Timers that call `when_armed` at each setting, before start() has returned.
class TalkativeTimers final : public TimerService {
 public:
  explicit TalkativeTimers(std::function<void(const std::function<void()>& on_due)> when_armed)
      : when_armed_{std::move(when_armed)} {}

  std::unique_ptr<Timer> create(std::function<void()> on_due) override {
    class Talking final : public Timer {
     public:
      Talking(TalkativeTimers& timers, std::function<void()> due)
          : timers_{timers}, on_due_{std::move(due)} {}
      void arm(LocalTime /*due*/) override { timers_.when_armed_(on_due_); }

     private:
      TalkativeTimers& timers_;
      const std::function<void()> on_due_;
    };
    return std::make_unique<Talking>(*this, std::move(on_due));
  }

 private:
  const std::function<void(const std::function<void()>&)> when_armed_;
};

/// The mutex is lost while start() is still under way.
class LossDuringStart : public LeaseContendServiceTest {
 protected:
  /// `after_loss` comes when the loss is known and its signal has not fired yet.
  void start_and_lose(const RecordingHooks& hooks, const std::function<void()>& after_loss) {
    int armed = 0;
    auto runtime = std::make_shared<Runtime>(*runtime_.runtime());
    runtime->timers = std::make_shared<TalkativeTimers>([&](const std::function<void()>& on_due) {
      if (++armed == 1) {
        token_ = service_->lost();
        runtime_.clock().advance(1h);
        on_due();
      } else if (armed == 2) {
        after_loss();
      }
    });
    LeaseServiceFactory factory{store_, runtime, options_};
    RecordingContender contender{"m", "a", hooks};
    service_ = factory.create_mutex_contend_service(
        contender, {.executor = make_inline_executor(), .after_loss = AfterLoss::stay_out});
    service_->start();
    runtime_.run_ready();
    EXPECT_EQ(contender.acquisitions(), 1U);
    EXPECT_EQ(contender.releases(), 1U);
    service_.reset();
  }

  std::unique_ptr<MutexContendService> service_;
  std::stop_token token_;
};

TEST_F(LossDuringStart, OnReleasedStillComesAfterTheLossSignal) {
  bool signalled = false;
  start_and_lose({.on_released = [&](const MutexState&) { signalled = token_.stop_requested(); }},
                 [] {});
  EXPECT_TRUE(signalled);
}

TEST_F(LossDuringStart, NoCallbackComesBeforeTheServiceRuns) {
  ServiceStatus status = ServiceStatus::initial;
  start_and_lose({.on_acquired = [&](const MutexState&) { status = service_->status(); }},
                 [&] { runtime_.signals().run_all(); });
  EXPECT_EQ(status, ServiceStatus::running);
}

}  // namespace
}  // namespace simba::engine
