// Locks of a client over the real engine and the in-memory store, in virtual time.
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <ratio>
#include <sstream>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>
#include <version>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "simba/engine/lease_service_factory.hpp"
#include "simba/format.hpp"
#include "simba/memory/memory_store.hpp"
#include "simba/redis/redis_options.hpp"
#include "simba/simba.hpp"
#include "simba/testkit/fault_store.hpp"
#include "simba/testkit/manual_runtime.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using testkit::Fault;
using testkit::Operation;

class ClientLock : public ::testing::Test {
 protected:
  // What is still to be given back is, or its lease ends: until then it keeps itself alive.
  ~ClientLock() override {
    store_->mend();
    world_.advance(2min);
  }

  std::shared_ptr<engine::LeaseServiceFactory> make_factory() {
    return std::make_shared<engine::LeaseServiceFactory>(store_, world_.runtime());
  }

  /// Runs `task` at that time.
  void at(std::chrono::nanoseconds from_now, std::function<void()> task) {
    timers_.push_back(world_.runtime()->timers->create(std::move(task)));
    timers_.back()->arm(world_.now() + from_now);
  }

  testkit::ManualRuntime world_;
  const std::shared_ptr<testkit::FaultStore> store_ = std::make_shared<testkit::FaultStore>(
      std::make_shared<memory::MemoryStore>(world_.runtime()->clock));
  std::vector<std::unique_ptr<Timer>> timers_;
  const std::shared_ptr<engine::LeaseServiceFactory> factory_ = make_factory();
  std::optional<Client> client_{factory_};
  const Client other_{make_factory()};
};

TEST_F(ClientLock, TheOneThatHasLostItToItsOwnIdStaysOut) {
  Lock lost = client_->lock("order", {.id = "host"});
  const Lock taken = other_.lock("order", {.id = "host"});
  world_.advance(20s);
  EXPECT_EQ(lost.loss(), Loss::duplicate_id);
  lost.unlock();
  const auto kind_of = [&](const auto& lock) -> std::optional<ErrorKind> {
    try {
      lock();
      return std::nullopt;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("mutex [order], contender [host]: "));
      return error.kind();
    }
  };
  EXPECT_EQ(kind_of([&] { static_cast<void>(client_->lock("order", {.wait = 1s, .id = "host"})); }),
            ErrorKind::duplicate_id);
  EXPECT_EQ(kind_of([&] { static_cast<void>(client_->try_lock("order", {.id = "host"})); }),
            ErrorKind::duplicate_id);
  EXPECT_FALSE(client_->try_lock("order", {.id = "another"}));
  EXPECT_TRUE(client_->try_lock("stock", {.id = "host"}));
  world_.advance(1min);
  EXPECT_TRUE(taken.held());
}

TEST_F(ClientLock, IsHeldUntilItsScopeEnds) {
  FencingToken first = 0;
  std::stop_token lost;
  {
    const Lock lock = client_->lock("orders/42");
    EXPECT_TRUE(lock);
    EXPECT_TRUE(lock.held());
    EXPECT_TRUE(lock.verify());
    EXPECT_GT(lock.lease_left(), 10s);
    EXPECT_EQ(lock.name(), "orders/42");
    EXPECT_EQ(lock.loss(), std::nullopt);
    first = lock.fencing_token();
    lost = lock.lost();
    EXPECT_FALSE(lost.stop_requested());
  }
  EXPECT_TRUE(lost.stop_requested());
  const Lock again = other_.lock("orders/42");
  EXPECT_GT(again.fencing_token(), first);
}

TEST_F(ClientLock, IsRenewedForAsLongAsItExists) {
  const Lock lock = client_->lock("order");
  world_.advance(10min);
  EXPECT_TRUE(lock.held());
  EXPECT_EQ(other_.try_lock("order").outcome(), LockOutcome::busy);
}

TEST_F(ClientLock, TryLockSaysWhoHoldsIt) {
  const Lock lock = client_->lock("order", {.id = "me"});
  EXPECT_EQ(lock.owner_id(), "me");
  const LockResult refused = other_.try_lock("order");
  EXPECT_FALSE(refused);
  EXPECT_EQ(refused.outcome(), LockOutcome::busy);
  EXPECT_EQ(refused.holder(), "me");
  EXPECT_FALSE(refused->held());
}

TEST_F(ClientLock, TryLockTakesWhatIsFree) {
  LockResult taken = client_->try_lock("order");
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken.outcome(), LockOutcome::held);
  Lock lock = *std::move(taken);
  EXPECT_TRUE(lock.held());
  const LockResult refused = other_.try_lock("order");
  EXPECT_EQ(refused.outcome(), LockOutcome::busy);
  EXPECT_FALSE(*refused);
}

TEST_F(ClientLock, WaitsUntilItIsFree) {
  Lock lock = client_->lock("order");
  at(3s, [&] { lock.unlock(); });
  const LocalTime before = world_.now();
  const Lock next = other_.lock("order", {.wait = 10s});
  EXPECT_TRUE(next.held());
  EXPECT_EQ(world_.now() - before, 3s);
}

TEST_F(ClientLock, NotHeldInTimeThrowsAndSaysWhoHoldsIt) {
  const Lock lock = client_->lock("order", {.id = "me"});
  const LocalTime before = world_.now();
  EXPECT_THAT([&] { static_cast<void>(other_.lock("order", {.wait = 1500ms})); },
              ThrowsMessage<TimeoutError>(
                  AllOf(HasSubstr("[order]"), HasSubstr("1500 ms"), HasSubstr("held by [me]"))));
  EXPECT_EQ(world_.now() - before, 1500ms);
  EXPECT_EQ(other_.try_lock("order", {.wait = 1s}).outcome(), LockOutcome::timed_out);
}

TEST_F(ClientLock, AnyDurationAndClockWillDo) {
  Lock lock = client_->lock("order", {.wait = 1.5s});
  EXPECT_THROW(static_cast<void>(other_.lock("order", {.wait = 0s})), TimeoutError);
  at(1h, [&] { lock.unlock(); });
  Lock next = other_.lock("order", {.wait = std::chrono::hours::max()});
  EXPECT_TRUE(next.held());
  next.unlock();
  EXPECT_TRUE(client_->lock("order", {.wait = std::chrono::system_clock::now() + 1h}).held());
  EXPECT_TRUE(
      client_->lock("order", {.wait = std::chrono::steady_clock::time_point::max()}).held());
  EXPECT_TRUE(client_->lock("order", {.wait = forever}).held());
  EXPECT_TRUE(Span{std::chrono::hours::max()}.is_forever());
  EXPECT_LT(Span{std::chrono::hours::min()}.nanoseconds(), 0s);
  EXPECT_LT(Span{std::chrono::system_clock::time_point::min()}.nanoseconds(), 0s);
  EXPECT_EQ(Span{std::chrono::duration<double>{1e-10}}.nanoseconds(), 1ns);
}

TEST(ClientSpan, AUnitThatIsNoWholeNumberOfNanosecondsDoesNotOverflow) {
  using Frames = std::chrono::duration<std::int64_t, std::ratio<1, 60>>;
  using Thirds = std::chrono::duration<std::int64_t, std::ratio<1, 3>>;
  EXPECT_EQ(Span{Frames{300'000'000'000}}.nanoseconds(), 5'000'000'000s);
  EXPECT_EQ(Span{Thirds{-20'000'000'001}}.nanoseconds(), -6'666'666'667s);
  EXPECT_EQ(Span{Thirds{1}}.nanoseconds(), 333'333'334ns);
  EXPECT_TRUE(Span{Thirds::max()}.is_forever());
}

TEST_F(ClientLock, BadInputIsRefusedWithItsValueAndBound) {
  EXPECT_THAT([&] { static_cast<void>(client_->lock("")); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("mutex name must not be blank")));
  EXPECT_THAT([&] { static_cast<void>(client_->try_lock(std::string(1'000'000, 'x'))); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("too long")));
  EXPECT_THAT(
      [&] { static_cast<void>(client_->lock("order", {.wait = -1s})); },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("wait must not be negative (got -1 s)")));
  const std::chrono::duration<double> no_number{std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THROW(static_cast<void>(client_->lock("order", {.wait = no_number})),
               InvalidArgumentError);
  EXPECT_THAT(
      [&] { static_cast<void>(client_->lock("order", {.max_hold = 0s})); },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("max_hold must be positive (got 0 s)")));
  EXPECT_THAT([] { const Client none{std::shared_ptr<MutexServiceFactory>{}}; },
              ThrowsMessage<Error>(HasSubstr("nullptr")));
  EXPECT_TRUE(client_->try_lock("order")) << "none of them has taken it";
}

TEST_F(ClientLock, EveryWayToALockRefusesTheSame) {
  const std::string endless(1'000'000, 'x');
  EXPECT_THAT([&] { static_cast<void>(client_->lock("order", {.id = endless})); },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("contender id is too long: 1000000 bytes, at most 512 allowed")));
  EXPECT_THAT([&] { static_cast<void>(client_->lock("order", {.id = " "})); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("contender id must not be blank")));
  EXPECT_THROW(static_cast<void>(client_->try_lock("order", {.wait = std::chrono::hours::min()})),
               InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(client_->try_lock("order", {.max_hold = -1ms})),
               InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(client_->lock_all({"order", endless})), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(client_->lock_all({"order", ""})), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(client_->lock_all({"order"}, {.wait = -1s})),
               InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(client_->lock_all({"order"}, {.max_hold = 0s})),
               InvalidArgumentError);
  EXPECT_TRUE(client_->try_lock("order")) << "none of them has taken it";
}

TEST_F(ClientLock, AMaxHoldWithoutEndIsNoLimit) {
  const Lock lock = client_->lock("order", {.max_hold = std::chrono::hours::max()});
  const Lock another = client_->lock("stock", {.max_hold = std::chrono::hours{24 * 365 * 200}});
  world_.advance(1h);
  EXPECT_TRUE(lock.held());
  EXPECT_TRUE(another.held());
}

TEST_F(ClientLock, AClientThatWasMovedFromIsStillOne) {
  const Client moved = *std::move(client_);
  EXPECT_TRUE(client_->lock("order").held());
  EXPECT_TRUE(moved.lock("order").held());
}

TEST_F(ClientLock, WithoutALockEverythingHasADocumentedValue) {
  Lock none;
  Lock lock = client_->lock("order");
  const Lock moved = std::move(lock);
  for (Lock* const empty : {&none, &lock}) {
    EXPECT_FALSE(*empty);
    EXPECT_FALSE(empty->held());
    EXPECT_FALSE(empty->verify());
    EXPECT_EQ(empty->fencing_token(), 0U);
    EXPECT_EQ(empty->lease_left(), 0s);
    EXPECT_EQ(empty->loss(), std::nullopt);
    EXPECT_EQ(empty->name() + empty->owner_id(), "");
    EXPECT_TRUE(empty->lost().stop_requested());
    EXPECT_TRUE(empty->unlock_confirmed());
    empty->unlock();
  }
  EXPECT_TRUE(moved.held());
}

TEST_F(ClientLock, AssignmentGivesBackWhatItHad) {
  Lock lock = client_->lock("one");
  lock = client_->lock("two");
  EXPECT_EQ(lock.name(), "two");
  EXPECT_TRUE(lock.held());
  EXPECT_TRUE(other_.try_lock("one"));
}

TEST_F(ClientLock, AnIdCanBeUsedAgainAsSoonAsItIsUnlocked) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(client_->lock("order", {.id = "me"}).held());
  store_->freeze();
  Lock lock;
  at(1s, [&] { store_->mend(); });
  lock = client_->lock("order", {.wait = 10s, .id = "me"});
  lock.unlock();
  EXPECT_TRUE(client_->lock("order", {.wait = 10s, .id = "me"}).held());
}

TEST_F(ClientLock, AnIdThatIsInUseIsRefused) {
  const Lock lock = client_->lock("order", {.id = "me"});
  try {
    static_cast<void>(client_->lock("order", {.id = "me"}));
    FAIL() << "two locks under one id";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::duplicate_id);
  }
  EXPECT_TRUE(lock.held());
}

TEST_F(ClientLock, AnIdIsNotFreeBeforeTheCallbacksOnItsLossAreOver) {
  Lock lock = client_->lock("order", {.id = "me"});
  std::optional<ErrorKind> refused;
  const std::stop_callback on_lost{lock.lost(), [&] {
                                     try {
                                       static_cast<void>(client_->try_lock("order", {.id = "me"}));
                                     } catch (const Error& error) {
                                       refused = error.kind();
                                     }
                                   }};
  lock.unlock();
  EXPECT_EQ(refused, ErrorKind::duplicate_id);
  EXPECT_TRUE(client_->lock("order", {.wait = 10s, .id = "me"}).held());
}

// ---- several at once -------------------------------------------------------------------------

TEST_F(ClientLock, SeveralAreHeldTogetherInOneOrder) {
  const std::vector<Lock> locks = client_->lock_all({"b", "a", "c"});
  ASSERT_EQ(locks.size(), 3U);
  EXPECT_EQ(locks.at(0).name(), "a");
  EXPECT_EQ(locks.at(2).name(), "c");
  for (const Lock& lock : locks) EXPECT_TRUE(lock.held());
  EXPECT_FALSE(other_.try_lock("b"));
  EXPECT_TRUE(client_->lock_all({}).empty());
  EXPECT_THROW(static_cast<void>(client_->lock_all({"x", "y", "x"})), InvalidArgumentError);
}

TEST_F(ClientLock, AllOrNoneAreHeldWithinOneTime) {
  Lock a = other_.lock("a");
  const Lock c = other_.lock("c");
  at(2s, [&] { a.unlock(); });
  const LocalTime before = world_.now();
  EXPECT_THROW(static_cast<void>(client_->lock_all({"c", "b", "a"}, {.wait = 5s})), TimeoutError);
  EXPECT_EQ(world_.now() - before, 5s);
  EXPECT_TRUE(other_.try_lock("a"));
  EXPECT_TRUE(other_.try_lock("b"));
}

TEST_F(ClientLock, SeveralThatAreNotHeldInTimeTellTheWholeWait) {
  Lock a = other_.lock("a");
  const Lock b = other_.lock("b");
  at(2s, [&] { a.unlock(); });
  EXPECT_THAT(
      [&] {
        static_cast<void>(client_->lock_all({"a", "b"}, {.wait = 5s}));
      },
      ThrowsMessage<TimeoutError>(HasSubstr("not acquired within 5 s; held by")));
}

// ---- cancelling ------------------------------------------------------------------------------

TEST_F(ClientLock, AStopRequestEndsTheWait) {
  Lock lock = client_->lock("order");
  std::stop_source stop;
  at(2s, [&] { stop.request_stop(); });
  const LocalTime before = world_.now();
  EXPECT_EQ(other_.try_lock("order", {.wait = forever}, stop.get_token()).outcome(),
            LockOutcome::cancelled);
  EXPECT_EQ(world_.now() - before, 2s);
  EXPECT_THROW(static_cast<void>(other_.lock("order", {}, stop.get_token())), CancelledError);
  EXPECT_EQ(client_->try_lock("free", {}, stop.get_token()).outcome(), LockOutcome::cancelled);
  lock.unlock();
  EXPECT_TRUE(client_->try_lock("order")) << "who was cancelled does not wait any more";
}

TEST_F(ClientLock, AGrantUnderWayWhenItIsCancelledIsGivenBack) {
  for (const Fault& fault : {Fault::hold_answer(), Fault::hold_request()}) {
    store_->next(Operation::acquire, fault);
    std::stop_source stop;
    at(1s, [&] { stop.request_stop(); });
    EXPECT_EQ(client_->try_lock("order", {.wait = forever}, stop.get_token()).outcome(),
              LockOutcome::cancelled);
    store_->release_answers();
    store_->release_requests();
    world_.advance(1s);
    EXPECT_TRUE(other_.try_lock("order"));
  }
}

TEST_F(ClientLock, AGrantUnderWayWhenTheTimeIsOverIsGivenBack) {
  store_->next(Operation::acquire, Fault::hold_answer());
  EXPECT_EQ(client_->try_lock("order", {.wait = 1s}).outcome(), LockOutcome::timed_out);
  store_->release_answers();
  EXPECT_TRUE(other_.try_lock("order"));
}

// ---- trouble ---------------------------------------------------------------------------------

TEST_F(ClientLock, TheDestructorDoesNotWaitForTheStore) {
  std::optional<Lock> lock = client_->lock("order");
  store_->black_hole();
  const LocalTime before = world_.now();
  lock.reset();
  EXPECT_EQ(world_.now(), before);
  store_->mend();
  world_.advance(10s);
  EXPECT_TRUE(other_.try_lock("order")) << "the release was retried";
}

TEST_F(ClientLock, UnlockConfirmedTellsWhetherTheStoreKnows) {
  Lock lock = client_->lock("order");
  EXPECT_TRUE(lock.unlock_confirmed());
  EXPECT_FALSE(lock);
  lock = client_->lock("order");
  store_->black_hole();
  const LocalTime before = world_.now();
  EXPECT_FALSE(lock.unlock_confirmed());
  EXPECT_LE(world_.now() - before, factory_->plan().release_wait);
}

TEST_F(ClientLock, ALossIsSignalledWithItsReasonBeforeAnyoneElseCanHoldIt) {
  const Lock lock = client_->lock("order");
  std::optional<Loss> reason;
  const std::stop_callback on_loss{lock.lost(), [&] {
                                     reason = lock.loss();
                                     EXPECT_FALSE(lock.held());
                                   }};
  store_->cut();
  world_.advance(17s);
  EXPECT_EQ(reason, Loss::expired);
  EXPECT_EQ(lock.loss(), Loss::expired);
  EXPECT_TRUE(lock) << "there is still something to give back";
  EXPECT_GT(lock.fencing_token(), 0U);
}

TEST_F(ClientLock, PausedPastItsLeaseItIsLostOnWakingBeforeAnythingElseHasRun) {
  const Lock lock = client_->lock("order");
  world_.clock().advance(1h);  // no timer and no task has run since
  EXPECT_FALSE(lock.held());
  EXPECT_TRUE(lock.lost().stop_requested());
}

TEST_F(ClientLock, VerifyAsksTheStore) {
  const Lock lock = client_->lock("order", {.id = "me"});
  EXPECT_TRUE(lock.verify());
  store_->release({.mutex = "order", .contender_id = "me"}, lock.fencing_token(), [](auto) {});
  EXPECT_TRUE(lock.held()) << "it has not noticed yet";
  EXPECT_FALSE(lock.verify());
  store_->cut();
  EXPECT_THROW(static_cast<void>(lock.verify()), Error);
}

TEST_F(ClientLock, AStoreThatDoesNotAnswerIsAnErrorToTheOneRequest) {
  store_->cut();
  EXPECT_THROW(static_cast<void>(client_->try_lock("order")), Error);
  EXPECT_THAT([&] { static_cast<void>(client_->lock("order", {.wait = 2s})); },
              ThrowsMessage<TimeoutError>(HasSubstr("last store error")));
}

TEST_F(ClientLock, ARefusalThatWillNotChangeEndsTheWait) {
  store_->next(Operation::acquire, Fault::fail(Error{ErrorKind::permission, "not for you"}));
  const LocalTime before = world_.now();
  EXPECT_THAT([&] { static_cast<void>(client_->lock("order")); },
              ThrowsMessage<Error>(AllOf(HasSubstr("[order]"), HasSubstr("not for you"))));
  EXPECT_EQ(world_.now(), before);
}

// ---- maximum hold ----------------------------------------------------------------------------

TEST_F(ClientLock, UnlockedInsideACallbackOnItsEndItIsReleasedAtOnce) {
  for (const bool is_overdue : {true, false}) {
    SCOPED_TRACE(is_overdue);
    LockOptions options;
    if (is_overdue) options.max_hold = 60s;
    Lock lock = client_->lock("order", options);
    std::optional<bool> confirmed;
    const std::stop_callback on_lost{lock.lost(), [&] { confirmed = lock.unlock_confirmed(); }};
    if (is_overdue) {
      world_.advance(60s);
    } else {
      store_->release({.mutex = "order", .contender_id = lock.owner_id()}, lock.fencing_token(),
                      [](auto) {});
      world_.advance(30s);
    }
    EXPECT_EQ(confirmed, true);
    EXPECT_TRUE(other_.try_lock("order"));
  }
}

TEST_F(ClientLock, OneThatIsLostAlreadyIsNotEndedByMaxHold) {
  const Lock lock = client_->lock("order", {.max_hold = 60s});
  store_->cut();
  world_.advance(30s);
  EXPECT_EQ(lock.loss(), Loss::expired);
  world_.advance(60s);
  EXPECT_EQ(lock.loss(), Loss::expired);
}

TEST_F(ClientLock, MaxHoldTellsTheHolderAndKeepsTheLeaseUntilItIsUnlocked) {
  Lock lock = client_->lock("order", {.max_hold = 60s});
  world_.advance(59s);
  EXPECT_TRUE(lock.held());
  world_.advance(1s);
  EXPECT_FALSE(lock.held());
  EXPECT_TRUE(lock.lost().stop_requested());
  EXPECT_EQ(lock.loss(), Loss::max_hold);
  world_.advance(25s);
  EXPECT_GT(lock.lease_left(), 0s) << "renewed while its holder may still be at work";
  EXPECT_EQ(other_.try_lock("order").outcome(), LockOutcome::busy);
  EXPECT_TRUE(lock.unlock_confirmed());
  EXPECT_TRUE(other_.try_lock("order"));
}

TEST_F(ClientLock, OneThatIsHeldBeyondTheDrainLimitExpiresAndIsNotReleased) {
  Lock lock = client_->lock("order", {.max_hold = 60s});
  const auto drain_limit = factory_->plan().drain_limit;
  world_.advance(60s + drain_limit);
  const std::size_t releases = store_->count(Operation::release);
  EXPECT_GT(lock.lease_left(), 0s);
  world_.advance(lock.lease_left() - 1ms);
  EXPECT_EQ(store_->count(Operation::release), releases) << "not under its holder";
  EXPECT_FALSE(other_.try_lock("order"));
  EXPECT_TRUE(world_.log().contains("the lock was not given back within the drain limit of"));
  world_.advance(2s);
  EXPECT_TRUE(world_.log().contains("the lease ended before the lock was given back"));
  EXPECT_TRUE(other_.try_lock("order"));
  lock.unlock();
  EXPECT_TRUE(other_.try_lock("order"));
}

TEST_F(ClientLock, AMaxHoldThatIsNotReachedChangesNothing) {
  Lock lock = client_->lock("order", {.max_hold = 60s});
  lock.unlock();
  lock = client_->lock("order", {.max_hold = std::chrono::hours::max()});
  world_.advance(10min);
  EXPECT_TRUE(lock.held());
}

// ---- the end of a client ---------------------------------------------------------------------

TEST_F(ClientLock, ATtlOfItsOwnIsThatOfItsLeaseAloneAndIsRenewed) {
  const Lock usual = client_->lock("stock");
  const Lock lock = client_->lock("order", {.ttl = 1.5s});
  EXPECT_LE(lock.lease_left(), 7.5s) << "with the transition, which stays as configured";
  EXPECT_GT(lock.lease_left(), 6.5s);
  const MutexOwner owner = other_.owner("order");
  EXPECT_EQ(owner.ttl_at() - owner.acquired_at(), 1500ms);
  EXPECT_EQ(owner.transition_at() - owner.ttl_at(), 6s);
  EXPECT_GT(usual.lease_left(), 15s);
  world_.advance(1min);
  EXPECT_TRUE(lock.held());
  EXPECT_TRUE(lock.verify());
  EXPECT_EQ(other_.try_lock("order", {.ttl = 1h}).outcome(), LockOutcome::busy);
}

TEST_F(ClientLock, OthersWithAnotherTtlGetItWhenTheTtlOfItsHolderIsOver) {
  const auto after_a_crash = [&](const LockOptions& of_holder, const LockOptions& of_waiter) {
    const auto cut_off = std::make_shared<testkit::FaultStore>(store_);
    const Client crashing{std::make_shared<engine::LeaseServiceFactory>(cut_off, world_.runtime())};
    const Lock lock = crashing.lock("order", of_holder);
    cut_off->black_hole();
    const LocalTime before = world_.now();
    const Lock next = other_.lock("order", of_waiter);
    EXPECT_FALSE(lock.held());
    const auto passed = world_.now() - before;
    cut_off->close();  // a request that is never answered keeps itself alive
    return passed;
  };
  const auto of_short = after_a_crash({.ttl = 1s}, {.ttl = 30s});
  EXPECT_GE(of_short, 7s);
  EXPECT_LT(of_short, 9s);
  const auto of_long = after_a_crash({.ttl = 30s}, {.ttl = 1s});
  EXPECT_GE(of_long, 36s);
  EXPECT_LT(of_long, 38s);
}

TEST_F(ClientLock, ATtlThatDoesNotFitIsRefusedAsTheConfiguredOneIs) {
  const auto refused = [&](Span ttl, const char* why) {
    EXPECT_THAT([&] { static_cast<void>(client_->lock("order", {.ttl = ttl})); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(why)));
  };
  refused(0s, "ttl must be at least 1 ms (got 0 ms)");
  refused(-1s, "ttl must be at least 1 ms (got -1000 ms)");
  refused(forever, "ttl must be at most ");
  EXPECT_TRUE(client_->lock("order", {.ttl = 1us}).held()) << "rounded up to a millisecond";

  const Client strict{std::make_shared<engine::LeaseServiceFactory>(
      store_, world_.runtime(), ContentionOptions{.transition = 0ms, .margin = 2s})};
  EXPECT_THAT([&] { static_cast<void>(strict.lock("stock", {.ttl = 1s})); },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("margin must be less than ttl + transition, 1000 ms (got 2000 ms)")));
  EXPECT_TRUE(strict.try_lock("stock"));
}

/// A store with sessions, as ZooKeeper.
class SessionStore final : public engine::LeaseStore {
 public:
  explicit SessionStore(std::shared_ptr<engine::LeaseStore> store) : store_{std::move(store)} {}

  NameLimits name_limits() const noexcept override { return store_->name_limits(); }
  engine::OwnerWatch owner_watch() const noexcept override { return engine::OwnerWatch::kept; }
  void acquire(const engine::LeaseRequest& request, engine::AnswerHandler handler) override {
    store_->acquire(request, std::move(handler));
  }
  void guard(const engine::LeaseRequest& request, engine::AnswerHandler handler) override {
    store_->guard(request, std::move(handler));
  }
  void release(const engine::LeaseRequest& request, FencingToken token,
               engine::AnswerHandler handler) override {
    store_->release(request, token, std::move(handler));
  }
  void retrieve(const engine::LeaseRequest& request, engine::AnswerHandler handler) override {
    store_->retrieve(request, std::move(handler));
  }
  std::unique_ptr<engine::Watch> watch(const engine::LeaseRequest& request,
                                       engine::NoticeHandler handler) override {
    return store_->watch(request, std::move(handler));
  }

 private:
  const std::shared_ptr<engine::LeaseStore> store_;
};

TEST_F(ClientLock, AStoreWithSessionsRefusesATtlOfASingleMutex) {
  const Client client{std::make_shared<engine::LeaseServiceFactory>(
      std::make_shared<SessionStore>(store_), world_.runtime())};
  const auto refused = [&](const auto& call) {
    try {
      call();
      return false;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("(got 5000 ms); set the session timeout"));
      return error.kind() == ErrorKind::unsupported;
    }
  };
  EXPECT_TRUE(refused([&] { static_cast<void>(client.lock("order", {.ttl = 5s})); }));
  EXPECT_TRUE(refused([&] { static_cast<void>(client.elect("order", {.ttl = 5s})); }));
  EXPECT_TRUE(client.try_lock("order"));
}

TEST_F(ClientLock, ClosingEndsWaitsWithAnErrorAndLeavesHeldLocksAlone) {
  Lock lock = other_.lock("held");
  Lock mine = client_->lock("mine");
  at(1s, [&] { client_->close(); });
  EXPECT_THAT([&] { static_cast<void>(client_->lock("held")); },
              ThrowsMessage<Error>(HasSubstr("client was closed")));
  EXPECT_THAT([&] { static_cast<void>(client_->try_lock("free")); },
              ThrowsMessage<IllegalStateError>(HasSubstr("client was closed")));
  world_.advance(5min);
  EXPECT_TRUE(mine.held()) << "it is still renewed";
  EXPECT_TRUE(mine.verify());
  EXPECT_TRUE(mine.unlock_confirmed());
  EXPECT_TRUE(other_.try_lock("mine"));
  lock.unlock();
  EXPECT_TRUE(other_.try_lock("held")) << "nothing was left behind in the queue";
}

TEST_F(ClientLock, TheLastHandleClosesTheClient) {
  Lock mine = client_->lock("mine");
  const Lock held = other_.lock("held");
  std::optional<Client> copy = client_;
  client_.reset();
  EXPECT_TRUE(copy->try_lock("free")) << "a copy is the same client";
  at(1s, [&] { copy.reset(); });
  const Client& last = *copy;
  EXPECT_THROW(static_cast<void>(last.lock("held")), Error);
  EXPECT_TRUE(mine.held());
  mine.unlock();
  EXPECT_TRUE(other_.try_lock("mine"));
}

TEST_F(ClientLock, ClosingWaitsForReleasesAndNotForever) {
  Lock lock = client_->lock("order");
  store_->next(Operation::release, Fault::hold_answer());
  at(1s, [&] { store_->release_answers(); });
  lock.unlock();
  LocalTime before = world_.now();
  client_->close();
  EXPECT_EQ(world_.now() - before, 1s);

  client_.emplace(make_factory());
  lock = client_->lock("order");
  store_->black_hole();
  lock.unlock();
  before = world_.now();
  client_.reset();
  EXPECT_EQ(world_.now() - before, factory_->plan().release_wait);
}

TEST_F(ClientLock, ClosingInsideACallbackOnAnUnlockDoesNotWaitForThatUnlock) {
  Lock lock = client_->lock("order");
  Lock other = client_->lock("stock");
  std::optional<std::chrono::nanoseconds> waited;
  const std::stop_callback on_lost{lock.lost(), [&] {
                                     other.unlock();
                                     const LocalTime before = world_.now();
                                     client_.reset();
                                     waited = world_.now() - before;
                                   }};
  EXPECT_TRUE(lock.unlock_confirmed());
  EXPECT_EQ(waited, 0s);
  EXPECT_TRUE(other_.try_lock("order"));
  EXPECT_TRUE(other_.try_lock("stock"));
}

TEST(ClientText, OutcomesAndLossesHaveText) {
  std::ostringstream out;
  out << LockOutcome::timed_out << ", " << Loss::max_hold;
  EXPECT_EQ(out.str(), "timed out, maximum hold");
}

TEST(ClientText, ValuesAreComparedAndPrinted) {
  std::ostringstream out;
  out << MutexState{} << "; " << LockOptions{} << "; "
      << LockOptions{.wait = 1500ms, .max_hold = forever, .id = "a", .ttl = 2s} << "; "
      << every(30s) << "; " << every(30s, {.missed = MissedSlots::all}) << "; "
      << ContentionOptions{.ttl = 4s, .margin = 250ms, .renew_at_percent = 50} << "; "
      << ErrorKind::in_doubt;
  EXPECT_EQ(out.str(),
            "nobody -> nobody; defaults; wait 1.5s, max hold forever, id a, ttl 2s; every 30s; "
            "every 30s, missed: all; ttl 4s, transition 6s, margin 0.25s, renew at 50%; in doubt");

  const MutexOwner owner{"a", {}, {}, 7, nullptr};
  EXPECT_EQ((MutexState{MutexOwner::none(), owner}), (MutexState{{}, owner}));
  EXPECT_NE((MutexState{owner, owner}), (MutexState{{}, owner}));
  EXPECT_EQ((LockOptions{.wait = 1s}), (LockOptions{.wait = 1000ms}));
  EXPECT_NE((LockOptions{.wait = 1s}), LockOptions{});
  EXPECT_NE((ContentionOptions{.ttl = 4s}), ContentionOptions{});
  EXPECT_NE(every(30s), after_pauses_of(30s));
  EXPECT_NE(every(30s), every(30s, SlotOptions{}));
}

TEST(ClientText, HowAConnectionIsMadeIsComparedAndPrinted) {
  std::ostringstream out;
  const TlsOptions tls{.mode = TlsMode::verify_ca, .ca_file = "ca.pem", .key_file = "key.pem"};
  out << TlsOptions{} << "; " << tls << "; " << redis::Endpoint{.host = "::1"} << "; "
      << redis::Endpoint{.unix_socket = "/run/redis.sock"};
  EXPECT_EQ(out.str(),
            "unset; verify-ca, CA file ca.pem, key file key.pem; [::1]:6379; /run/redis.sock");
  EXPECT_EQ(tls, TlsOptions{tls});
  EXPECT_NE(tls, (TlsOptions{.mode = TlsMode::verify_ca}));
}

#if FMT_VERSION >= 100'000
TEST(ClientText, FmtPrintsValues) {
  EXPECT_EQ(fmt::format("{}|{:>8}", MutexOwner::none(), Health::well), "nobody|    well");
  EXPECT_EQ(fmt::format("{}|{}|{}", redis::Endpoint{}, TlsMode::verify, SlotOptions{}),
            "127.0.0.1:6379|verify|defaults");
}
#endif

#ifdef __cpp_lib_format
TEST(ClientText, StdFormatPrintsValues) {
  EXPECT_EQ(std::format("{}|{:>8}", MutexOwner::none(), Health::well), "nobody|    well");
  EXPECT_EQ(std::format("{}|{}|{}", redis::Endpoint{}, TlsMode::verify, SlotOptions{}),
            "127.0.0.1:6379|verify|defaults");
}
#endif

}  // namespace
}  // namespace simba
