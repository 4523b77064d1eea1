// Stopping: what is delivered before it returns, and what reaches the store.
#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/testkit/recording_retriever.hpp"
#include "unit/core/gate.hpp"
#include "unit/engine/lease_contend_service_fixture.hpp"

namespace simba::engine {
namespace {

using testing::HasSubstr;
using testkit::Fault;
using testkit::Operation;

TEST_F(LeaseContendServiceTest, HandsOverOnStopWithoutWaitingForTheLease) {
  Party a{*this, "a"};
  Party b{*this, "b"};
  a.service->start();
  b.service->start();
  const LocalTime before = runtime_.now();
  a.service->stop();
  EXPECT_TRUE(b.service->is_owner());
  EXPECT_EQ(runtime_.now(), before);
  EXPECT_GT(b.service->fencing_token(), a.service->fencing_token());
}

TEST_F(LeaseContendServiceTest, TellsTheStoreOfTheReleaseOnlyAfterOnReleasedHasReturned) {
  Party* party = nullptr;
  std::size_t releases_during = 99;
  bool owner_during = true;
  bool signalled_during = false;
  Party a{*this, "a", {.on_released = [&](const MutexState&) {
            releases_during = party->line->count(Operation::release);
            owner_during = party->service->is_owner();
            signalled_during = party->service->lost().stop_requested();
          }}};
  party = &a;
  a.service->start();
  a.service->stop();
  EXPECT_EQ(releases_during, 0U);
  EXPECT_FALSE(owner_during);
  EXPECT_TRUE(signalled_during);
  EXPECT_EQ(a.line->count(Operation::release), 1U);
  EXPECT_EQ(a.contender.acquisitions(), 1U);
  EXPECT_EQ(a.contender.releases(), 1U);
}

TEST_F(LeaseContendServiceTest, RenewsWhileASlowOnReleasedRuns) {
  Party b{*this, "b"};
  bool b_owned = false;
  Party a{*this, "a", {.on_released = [&](const MutexState&) {
            for (int i = 0; i < 25; ++i) {
              runtime_.advance(1s);  // longer than the lease, shorter than the drain limit
              b_owned = b_owned || b.service->is_owner();
            }
          }}};
  a.service->start();
  b.service->start();
  a.service->stop();
  EXPECT_FALSE(b_owned);
  EXPECT_TRUE(b.service->is_owner());
}

TEST_F(LeaseContendServiceTest, ShowsHowLongTheLeaseLastsWhileOnReleasedRuns) {
  Party* party = nullptr;
  std::vector<std::chrono::nanoseconds> left;
  Party a{*this, "a", {.on_released = [&](const MutexState&) {
            for (int i = 0; i < 25; ++i) {
              EXPECT_FALSE(party->service->is_owner());
              EXPECT_EQ(party->service->lease_until(),
                        runtime_.now() + party->service->lease_left());
              left.push_back(party->service->lease_left());
              runtime_.advance(1s);
            }
          }}};
  party = &a;
  EXPECT_EQ(a.service->lease_left(), 0s);
  a.service->start();
  EXPECT_GT(a.service->lease_left(), 15s);
  a.service->stop();
  EXPECT_GT(*std::min_element(left.begin(), left.end()), 9s) << "it is renewed meanwhile";
  EXPECT_LT(*std::max_element(left.begin(), left.end()), 16s);
  EXPECT_EQ(a.service->lease_left(), 0s);
}

TEST_F(LeaseContendServiceTest, OnReleasedMayLetTheLeaseRunOutInsteadOfGivingItBack) {
  Party* party = nullptr;
  Party a{*this, "a", {.on_released = [&](const MutexState&) {
            runtime_.advance(25s);
            party->service->let_lease_run_out();
          }}};
  Party b{*this, "b"};
  party = &a;
  a.service->start();
  b.service->start();
  a.service->stop();
  const LocalTime until = a.service->lease_until();
  EXPECT_GT(a.service->lease_left(), 5s);
  EXPECT_FALSE(a.service->is_owner());
  EXPECT_TRUE(logged("not releasing the mutex; its lease expires in"));
  EXPECT_FALSE(logged("release not confirmed"));
  while (runtime_.now() < until) {
    EXPECT_FALSE(b.service->is_owner());
    runtime_.advance(100ms);
  }
  EXPECT_EQ(a.line->count(Operation::release), 0U);
  EXPECT_EQ(a.service->lease_left(), 0s);
  runtime_.advance(5s);
  EXPECT_TRUE(b.service->is_owner());
}

TEST_F(LeaseContendServiceTest, OutsideOfAStopNothingRunsOut) {
  Party a{*this, "a"};
  a.service->let_lease_run_out();
  a.service->start();
  a.service->let_lease_run_out();
  runtime_.advance(60s);
  EXPECT_TRUE(a.service->is_owner());
  a.service->stop();
  EXPECT_EQ(a.line->count(Operation::release), 1U);
}

TEST_F(LeaseContendServiceTest, SaysSoWhenOnReleasedOutlastsTheLease) {
  options_.drain_limit = 5s;
  Party b{*this, "b"};
  Party a{*this, "a", {.on_released = [&](const MutexState&) { runtime_.advance(60s); }}};
  a.service->start();
  b.service->start();
  a.service->stop();
  EXPECT_TRUE(b.service->is_owner());
  EXPECT_TRUE(logged("the lease ended while on_released was still running"));
}

TEST_F(LeaseContendServiceTest, TellsNothingAfterAStopThatHasNotWaitedForACallback) {
  options_.drain_limit = 3s;
  test::Gate entered;
  test::Gate go_on;
  Party a{*this, "twin", {.on_acquired = [&](const MutexState&) {
            entered.open();
            EXPECT_TRUE(go_on.opens());
          }}};
  a.service->start();
  const auto callbacks = std::async(std::launch::async, [&] { runtime_.run_ready(); });
  ASSERT_TRUE(entered.opens());
  runtime_.clock().advance(4s);
  a.line->next(Operation::guard, Fault::hold_request());
  a.service->stop();
  ASSERT_EQ(a.line->held_requests(), 1U) << "a renewal is under way when the drain limit ends";
  Party b{*this, "twin"};
  b.service->start();
  a.line->release_requests();
  EXPECT_TRUE(logged("ownership lost (duplicate id)"));
  go_on.open();
  callbacks.wait();
  runtime_.run_ready();
  EXPECT_EQ(a.contender.calls().size(), 1U) << "nothing but on_acquired";
}

TEST_F(LeaseContendServiceTest, TellsEverythingAgainWhenItIsStartedAfterSuchAStop) {
  options_.drain_limit = 3s;
  test::Gate entered;
  test::Gate go_on;
  bool blocks = true;
  Party a{*this, "a", {.on_acquired = [&](const MutexState&) {
            if (!std::exchange(blocks, false)) return;
            entered.open();
            EXPECT_TRUE(go_on.opens());
          }}};
  a.service->start();
  const auto callbacks = std::async(std::launch::async, [&] { runtime_.run_ready(); });
  ASSERT_TRUE(entered.opens());
  a.service->stop();
  go_on.open();
  callbacks.wait();
  a.service->start();
  runtime_.advance(60s);
  EXPECT_TRUE(a.service->is_owner());
  EXPECT_EQ(a.contender.acquisitions(), 2U);
}

TEST_F(LeaseContendServiceTest, StoppingInsideOnAcquiredDeliversOnReleasedBeforeStopReturns) {
  Party* party = nullptr;
  std::size_t released_when_stop_returned = 99;
  Party a{*this, "a", {.on_acquired = [&](const MutexState&) {
            party->service->stop();
            released_when_stop_returned = party->contender.releases();
          }}};
  party = &a;
  a.service->start();
  runtime_.advance(60s);
  EXPECT_EQ(released_when_stop_returned, 1U);
  EXPECT_EQ(a.service->status(), ServiceStatus::initial);
  EXPECT_EQ(a.contender.calls().size(), 2U);
  EXPECT_EQ(a.service->mutex_state().after().owner_id(), "");
}

TEST_F(LeaseContendServiceTest, StoppingInsideOnReleasedWorks) {
  Party* party = nullptr;
  Party a{*this, "a", {.on_released = [&](const MutexState&) {
            if (party->service->running()) party->service->stop();
          }}};
  party = &a;
  a.service->start();
  runtime_.run_ready();
  a.line->cut();
  runtime_.advance(30s);
  EXPECT_EQ(a.service->status(), ServiceStatus::initial);
  a.line->mend();
  runtime_.advance(60s);
  EXPECT_EQ(a.contender.acquisitions(), 1U);
  EXPECT_EQ(a.contender.releases(), 1U);
}

TEST_F(LeaseContendServiceTest, ClosingInsideACallbackWhileStopWaitsForItDoesNotWait) {
  Party* party = nullptr;
  Party a{*this, "a", {.on_released = [&](const MutexState&) { party->service->close(); }}};
  party = &a;
  a.service->start();
  a.service->stop();
  EXPECT_EQ(a.service->status(), ServiceStatus::initial);
}

TEST_F(LeaseContendServiceTest, CanBeStartedAgainInsideItsOwnCallbackAfterStop) {
  Party* party = nullptr;
  int rounds = 0;
  Party a{*this, "a", {.on_acquired = [&](const MutexState&) {
            if (++rounds > 3) return;
            party->service->stop();
            party->service->start();
          }}};
  party = &a;
  a.service->start();
  runtime_.run_ready();
  EXPECT_EQ(a.contender.acquisitions(), 4U);
  EXPECT_EQ(a.contender.releases(), 3U);
  EXPECT_TRUE(a.service->is_owner());
}

TEST_F(LeaseContendServiceTest, StartInTheWrongStateThrowsWithBothStatesAndStopReturns) {
  Party a{*this, "a"};
  const auto message = [](const std::function<void()>& call) -> std::string {
    try {
      call();
    } catch (const IllegalStateError& e) {
      return e.what();
    }
    return "";
  };
  a.service->stop();
  EXPECT_EQ(a.service->status(), ServiceStatus::initial);
  a.service->start();
  EXPECT_TRUE(a.service->running());
  EXPECT_THAT(message([&] { a.service->start(); }), HasSubstr("[RUNNING]; expected [INITIAL]"));
  a.service->stop();
  a.service->stop();
  a.service->close();
  a.service->close();
  EXPECT_FALSE(a.service->running());
}

TEST_F(LeaseContendServiceTest, AGrantThatComesAfterTheStopIsGivenBack) {
  Party a{*this, "a"};
  Party b{*this, "b"};
  a.start_and_stop_holding(Operation::acquire);
  EXPECT_EQ(a.line->release_requests(), 1U);
  EXPECT_FALSE(a.service->is_owner());
  EXPECT_EQ(a.contender.acquisitions(), 0U);
  b.service->start();
  EXPECT_TRUE(b.service->is_owner());
}

TEST_F(LeaseContendServiceTest, AGrantThatComesAfterTheServiceIsGoneIsGivenBack) {
  auto line = std::make_shared<FaultStore>(store_);
  {
    LeaseServiceFactory factory{line, runtime_.runtime(), options_};
    RecordingContender contender{"m", "a"};
    auto service = factory.create_mutex_contend_service(contender);
    line->next(Operation::acquire, Fault::hold_request());
    service->start();
  }
  line->release_requests();
  Party b{*this, "b"};
  b.service->start();
  EXPECT_TRUE(b.service->is_owner());
  line->close();
}

TEST_F(LeaseContendServiceTest, ALateReleaseOfAnEarlierLifeDoesNotEndTheNextOne) {
  options_.release_wait = 100ms;
  Party a{*this, "a"};
  Party b{*this, "b"};
  a.start_and_stop_holding(Operation::release);
  a.service->start();
  ASSERT_TRUE(a.service->is_owner());
  a.line->release_requests();
  b.service->start();
  EXPECT_FALSE(b.service->is_owner());
  runtime_.advance(60s);
  EXPECT_TRUE(a.service->is_owner());
  EXPECT_FALSE(b.service->is_owner());
}

TEST_F(LeaseContendServiceTest, AServiceThatIsGoneDoesNotGiveBackWhatItsSuccessorOfTheSameIdGot) {
  options_.release_wait = 100ms;
  Party a{*this, "a"};
  Party b{*this, "b"};
  a.start_and_stop_holding(Operation::release);
  a.start_successor();
  ASSERT_TRUE(a.service->is_owner());
  a.line->release_requests();  // the store answers with the token of the second service
  b.service->start();
  EXPECT_FALSE(b.service->is_owner());
  EXPECT_TRUE(a.service->is_owner());
  runtime_.advance(60s);
  EXPECT_TRUE(a.service->is_owner());
  EXPECT_FALSE(b.service->is_owner());
}

TEST_F(LeaseContendServiceTest, AGrantThatIsToldToAServiceThatIsGoneIsLeftToItsSuccessor) {
  options_.release_wait = 100ms;
  Party a{*this, "a"};
  Party b{*this, "b"};
  a.start_and_stop_holding(Operation::acquire);
  a.start_successor();
  ASSERT_TRUE(a.service->is_owner());
  a.line->release_requests();  // carried out late, for the same id: raises the token
  b.service->start();
  runtime_.advance(60s);
  EXPECT_TRUE(a.service->is_owner());
  EXPECT_FALSE(b.service->is_owner());
  a.service->stop();
  runtime_.advance(1s);
  EXPECT_TRUE(b.service->is_owner());
}

TEST_F(LeaseContendServiceTest, AGrantThatIsToldWhenBothAreStoppedIsGivenBackByTheSecond) {
  options_.release_wait = 100ms;
  Party a{*this, "a"};
  Party b{*this, "b"};
  a.start_and_stop_holding(Operation::acquire);
  a.start_successor();
  a.service->stop();
  a.line->release_requests();  // the first service is granted the mutex now
  b.service->start();
  runtime_.advance(3s);
  EXPECT_TRUE(b.service->is_owner());
}

TEST_F(LeaseContendServiceTest, StopReturnsSoonWhenTheStoreIsABlackHoleAndTheReleaseGoesOn) {
  options_.release_wait = 2s;
  Party a{*this, "a"};
  Party b{*this, "b"};
  a.service->start();
  b.service->start();
  a.line->black_hole();
  const LocalTime before = runtime_.now();
  a.service->stop();
  EXPECT_EQ(runtime_.now(), before + 2s);
  EXPECT_TRUE(logged("release not confirmed yet"));
  EXPECT_FALSE(b.service->is_owner());
  a.line->mend();
  runtime_.advance(6s);
  EXPECT_TRUE(b.service->is_owner()) << "well before the lease would have ended";
}

TEST_F(LeaseContendServiceTest, AWaiterThatStopsLeavesTheQueue) {
  Party a{*this, "a"};
  Party b{*this, "b"};
  Party c{*this, "c"};
  a.service->start();
  b.service->start();
  c.service->start();
  b.service->stop();
  a.service->stop();
  EXPECT_FALSE(b.service->is_owner());
  EXPECT_TRUE(c.service->is_owner());
}

TEST_F(LeaseContendServiceTest, IsNotOwnerAnyMoreWhenStopFiresTheLossSignal) {
  Party a{*this, "a"};
  a.service->start();
  bool owner_when_fired = true;
  const std::stop_callback on_lost{a.service->lost(),
                                   [&] { owner_when_fired = a.service->is_owner(); }};
  a.service->stop();
  EXPECT_FALSE(owner_when_fired);
}

TEST_F(LeaseContendServiceTest, StoppingInsideTheLossSignalThatItsOwnStopFiresReturns) {
  Party a{*this, "a"};
  a.service->start();
  runtime_.run_ready();
  int fired = 0;
  const std::stop_callback on_lost{a.service->lost(), [&] {
                                     a.service->stop();
                                     a.service->close();
                                     EXPECT_EQ(a.service->status(), ServiceStatus::stopping);
                                     ++fired;
                                   }};
  a.service->stop();
  EXPECT_EQ(fired, 1);
  EXPECT_EQ(a.service->status(), ServiceStatus::initial);
  EXPECT_EQ(a.contender.releases(), 1U);
}

/// Calls stop() and close(), in whatever state its service is.
struct StopsAlways {
  MutexContendService*& service;
  void operator()() const {
    service->stop();
    service->close();
  }
};

TEST_F(LeaseContendServiceTest, StoppingInsideEveryCallbackDuringEveryStopReturns) {
  MutexContendService* service = nullptr;
  const StopsAlways stop{service};
  for (const bool inline_executor : {false, true}) {
    RecordingHooks hooks;
    hooks.on_acquired = [&](const MutexState&) { stop(); };
    hooks.on_released = [&](const MutexState&) { stop(); };
    hooks.on_event = [&](const ContentionEvent&) { stop(); };
    Party a{*this,
            "a",
            hooks,
            {.executor = inline_executor ? make_inline_executor() : std::shared_ptr<Executor>{}}};
    service = a.service.get();
    a.service->start();
    runtime_.run_ready();
    EXPECT_EQ(a.service->status(), ServiceStatus::initial);
    EXPECT_EQ(a.contender.acquisitions(), 1U);
    EXPECT_EQ(a.contender.releases(), 1U);
  }
}

TEST_F(LeaseContendServiceTest, StoppingInsideTheLossSignalWaitsForNobody) {
  Party a{*this, "a", {}, {.executor = make_inline_executor()}};
  a.service->start();
  const std::stop_callback on_lost{a.service->lost(), [&] { a.service->stop(); }};
  runtime_.clock().advance(1h);  // paused past the lease
  const LocalTime woken = runtime_.now();
  runtime_.run_ready();
  EXPECT_EQ(a.service->status(), ServiceStatus::initial);
  EXPECT_EQ(runtime_.now(), woken);
  EXPECT_EQ(a.contender.acquisitions(), a.contender.releases());
}

/// Takes tasks and begins none of them, as an io_context that has been stopped.
class StoppedContext final : public Executor {
 public:
  void execute(std::function<void()> task) override { tasks_.push_back(std::move(task)); }
  bool running_in_this_thread() const noexcept override { return false; }

 private:
  std::vector<std::function<void()>> tasks_;
};

TEST_F(LeaseContendServiceTest, StopDoesNotWaitForAnExecutorThatHasStopped) {
  Party a{*this, "a", {}, {.executor = std::make_shared<StoppedContext>()}};
  Party b{*this, "b"};
  a.service->start();
  ASSERT_TRUE(a.service->is_owner());
  b.service->start();
  const LocalTime before = runtime_.now();
  a.service->stop();
  EXPECT_EQ(runtime_.now() - before, 1s) << "of a drain limit of 30 s";
  EXPECT_EQ(a.contender.acquisitions(), 1U);
  EXPECT_EQ(a.contender.releases(), 1U);
  EXPECT_TRUE(b.service->is_owner()) << "it has been released";
}

TEST_F(LeaseContendServiceTest, TheDestructorDoesNotWaitForAnExecutorThatHasStopped) {
  Party a{*this, "a", {}, {.executor = std::make_shared<StoppedContext>()}};
  a.service->start();
  const LocalTime before = runtime_.now();
  a.service.reset();
  EXPECT_EQ(runtime_.now() - before, 1s);
  EXPECT_EQ(a.contender.releases(), 1U);
  a.service = a.factory.create_mutex_contend_service(a.contender);
}

TEST_F(LeaseContendServiceTest, StoppingInsideAnEventOnAnInlineExecutorDeliversOnReleased) {
  Party* party = nullptr;
  std::size_t released_when_stop_returned = 99;
  RecordingHooks hooks;
  hooks.on_event = [&](const ContentionEvent& event) {
    if (!std::holds_alternative<AtRisk>(event)) return;
    party->service->stop();
    released_when_stop_returned = party->contender.releases();
  };
  Party a{*this, "a", hooks, {.executor = make_inline_executor()}};
  party = &a;
  a.service->start();
  runtime_.clock().advance(12s);  // past the ttl: at risk, and a renewal is due at the same moment
  runtime_.run_ready();
  EXPECT_EQ(released_when_stop_returned, 1U);
  EXPECT_EQ(a.service->status(), ServiceStatus::initial);
  Party b{*this, "b"};
  b.service->start();
  EXPECT_TRUE(b.service->is_owner());
}

}  // namespace
}  // namespace simba::engine
