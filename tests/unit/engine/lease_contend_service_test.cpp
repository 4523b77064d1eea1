#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simba/engine/lease_service_factory.hpp"
#include "simba/memory/memory_store.hpp"
#include "simba/testkit/fault_store.hpp"
#include "simba/testkit/manual_runtime.hpp"
#include "simba/testkit/recording_contender.hpp"
#include "simba/testkit/recording_retriever.hpp"

namespace simba::engine {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testkit::Fault;
using testkit::FaultStore;
using testkit::ManualRuntime;
using testkit::Operation;
using testkit::RecordingContender;
using testkit::RecordingHooks;

/// Services over the memory store, each with a connection of its own, in virtual time.
class LeaseContendServiceTest : public testing::Test {
 protected:
  struct Party {
    Party(LeaseContendServiceTest& test, const std::string& id, RecordingHooks hooks = {},
          const ContendServiceOptions& options = {})
        : line{std::make_shared<FaultStore>(test.store_)},
          factory{line, test.runtime_.runtime(), test.options_},
          contender{"m", id, std::move(hooks)},
          service{factory.create_mutex_contend_service(contender, options)} {}
    ~Party() {
      line->mend();
      service->close();
      line->close();
    }
    Party(const Party&) = delete;
    Party& operator=(const Party&) = delete;

    std::shared_ptr<FaultStore> line;
    LeaseServiceFactory factory;
    RecordingContender contender;
    std::unique_ptr<MutexContendService> service;
  };

  bool logged(const std::string& part) const { return runtime_.log().contains(part); }

  ManualRuntime runtime_;
  std::shared_ptr<memory::MemoryStore> store_ =
      std::make_shared<memory::MemoryStore>(runtime_.runtime()->clock);
  ContentionOptions options_;
};

TEST_F(LeaseContendServiceTest, OwnsAFreeMutexAsSoonAsItIsStarted) {
  Party a{*this, "a"};
  EXPECT_TRUE(a.service->lost().stop_requested()) << "nothing is owned yet";
  a.service->start();
  EXPECT_TRUE(a.service->is_owner());
  EXPECT_TRUE(a.service->is_in_ttl());
  EXPECT_FALSE(a.service->lost().stop_requested());
  EXPECT_GT(a.service->fencing_token(), 0U);
  EXPECT_TRUE(a.service->mutex_state().is_acquired("a"));
  EXPECT_TRUE(a.service->has_owner());
  EXPECT_EQ(a.service->after_owner().owner_id(), "a");
  EXPECT_EQ(a.service->before_owner().owner_id(), "");
  EXPECT_EQ(&a.service->contender(), &a.contender);
  EXPECT_EQ(a.contender.acquisitions(), 0U) << "callbacks come on the executor";
  runtime_.run_ready();
  EXPECT_EQ(a.contender.acquisitions(), 1U);
}

TEST_F(LeaseContendServiceTest, KeepsTheMutexForManyLeases) {
  Party a{*this, "a"};
  Party b{*this, "b"};
  a.service->start();
  b.service->start();
  for (int i = 0; i < 100; ++i) {
    runtime_.advance(5s);
    ASSERT_TRUE(a.service->is_owner());
    ASSERT_FALSE(b.service->is_owner());
  }
  EXPECT_EQ(a.contender.acquisitions(), 1U);
  EXPECT_EQ(b.service->after_owner().owner_id(), "a") << "a follower sees who leads";
}

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
  EXPECT_TRUE(logged("an unknown exception"));
}

TEST_F(LeaseContendServiceTest, StartAndStopInTheWrongStateThrowWithBothStates) {
  Party a{*this, "a"};
  const auto message = [](const std::function<void()>& call) -> std::string {
    try {
      call();
    } catch (const IllegalStateError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(message([&] { a.service->stop(); }), HasSubstr("[INITIAL]; expected [RUNNING]"));
  a.service->start();
  EXPECT_TRUE(a.service->running());
  EXPECT_THAT(message([&] { a.service->start(); }), HasSubstr("[RUNNING]; expected [INITIAL]"));
  a.service->close();
  a.service->close();
  EXPECT_FALSE(a.service->running());
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

TEST_F(LeaseContendServiceTest, AGrantThatComesAfterTheStopIsGivenBack) {
  Party a{*this, "a"};
  Party b{*this, "b"};
  a.line->next(Operation::acquire, Fault::hold_request());
  a.service->start();
  a.service->stop();
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
  a.service->start();
  a.line->next(Operation::release, Fault::hold_request());
  a.service->stop();  // returns although the store has not confirmed
  a.service->start();
  ASSERT_TRUE(a.service->is_owner());
  a.line->release_requests();
  b.service->start();
  EXPECT_FALSE(b.service->is_owner());
  runtime_.advance(60s);
  EXPECT_TRUE(a.service->is_owner());
  EXPECT_FALSE(b.service->is_owner());
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
  EXPECT_TRUE(logged("has not confirmed the release"));
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

TEST_F(LeaseContendServiceTest, NamesThatTheStoreCanNotTakeAreRefusedWithTheBound) {
  LeaseServiceFactory factory{store_, runtime_.runtime()};
  RecordingContender long_mutex{std::string(67, 'x'), "a"};
  RecordingContender long_id{"m", std::string(129, 'x')};
  const auto refusal = [&](MutexContender& contender) -> std::string {
    try {
      factory.create_mutex_contend_service(contender);
    } catch (const InvalidArgumentError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal(long_mutex), HasSubstr("66"));
  EXPECT_THAT(refusal(long_id), HasSubstr("128"));
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

TEST_F(LeaseContendServiceTest, TheLossSignalAskedForAfterAPauseHasFiredBeforeAnythingElseHasRun) {
  Party a{*this, "a"};
  a.service->start();
  runtime_.clock().advance(1h);
  EXPECT_TRUE(a.service->lost().stop_requested());
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

TEST_F(LeaseContendServiceTest, SaysWhatItDoesAtDebugLevel) {
  Party a{*this, "a"};
  a.service->start();
  runtime_.advance(10s);
  a.service->stop();
  EXPECT_TRUE(logged("starts to contend"));
  EXPECT_TRUE(logged("asks for the mutex"));
  EXPECT_TRUE(logged("renews its lease"));
  EXPECT_TRUE(logged("gives the mutex back"));
}

TEST_F(LeaseContendServiceTest, AFactoryWithoutAStoreOrWithoutAPartOfItsRuntimeIsRefused) {
  EXPECT_THROW((LeaseServiceFactory{nullptr, runtime_.runtime()}), InvalidArgumentError);
  EXPECT_THROW((LeaseServiceFactory{store_, nullptr}), InvalidArgumentError);
  auto incomplete = std::make_shared<Runtime>(*runtime_.runtime());
  incomplete->waiter = nullptr;
  EXPECT_THROW((LeaseServiceFactory{store_, incomplete}), InvalidArgumentError);
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
  EXPECT_TRUE(logged("can not watch the mutex: no notices"));
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
  EXPECT_TRUE(logged("can not watch the mutex: no notices"));
  service->stop();
}

}  // namespace
}  // namespace simba::engine
