// The locker over the real engine and the in-memory store, in virtual time.
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "simba/core/error.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/memory/memory_store.hpp"
#include "simba/testkit/fault_store.hpp"
#include "simba/testkit/manual_runtime.hpp"
#include "support/ownership/grows.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using testkit::Fault;
using testkit::Operation;

class LockerOnMemory : public ::testing::Test {
 protected:
  // What is still to be given back is, or its lease ends: until then it keeps itself alive.
  ~LockerOnMemory() override {
    one_.close();
    two_.close();
    store_->mend();
    world_.advance(std::chrono::minutes{1});
  }

  testkit::ManualRuntime world_;
  const std::shared_ptr<testkit::FaultStore> store_ = std::make_shared<testkit::FaultStore>(
      std::make_shared<memory::MemoryStore>(world_.runtime()->clock));
  engine::LeaseServiceFactory factory_{store_, world_.runtime()};
  SimbaLocker one_{"order", factory_, "one"};
  SimbaLocker two_{"order", factory_, "two"};
};

TEST_F(LockerOnMemory, AnUncontendedLockTakesNoTimeAndNoTask) {
  const LocalTime before = world_.now();
  one_.acquire();
  EXPECT_TRUE(one_.is_held());
  EXPECT_FALSE(one_.lost().stop_requested());
  one_.close();
  EXPECT_FALSE(one_.is_held());
  EXPECT_EQ(world_.now(), before);
  EXPECT_EQ(world_.callbacks().size() + world_.workers().size(), 0U);
}

TEST_F(LockerOnMemory, ShowsHowLongItsLeaseLasts) {
  EXPECT_EQ(one_.lease_left(), 0s);
  one_.acquire();
  EXPECT_GT(one_.lease_left(), 15s);
  world_.advance(60s);
  EXPECT_GT(one_.lease_left(), 9s) << "it is renewed";
  one_.close();
  EXPECT_EQ(one_.lease_left(), 0s);
}

TEST_F(LockerOnMemory, CanBeUsedThroughItsInterface) {
  Locker& locker = one_;
  locker.acquire();
  EXPECT_GT(locker.fencing_token(), 0U);
  EXPECT_FALSE(locker.lost().stop_requested());
  locker.close();
  EXPECT_TRUE(locker.lost().stop_requested());
}

TEST_F(LockerOnMemory, GivingUpOnABlackHoleTakesTheReleaseWaitLongerAndNoMore) {
  store_->black_hole();
  const LocalTime before = world_.now();
  EXPECT_THROW(one_.acquire(5s), TimeoutError);
  EXPECT_LE(world_.now() - before, 5s + factory_.plan().release_wait);
}

TEST_F(LockerOnMemory, TheDestructorGivesTheLockBack) {
  {
    SimbaLocker inner{"order", factory_};
    inner.acquire();
    EXPECT_FALSE(two_.try_acquire());
  }
  EXPECT_TRUE(two_.try_acquire());
}

TEST_F(LockerOnMemory, TheFactoryMayBeDestroyedFirst) {
  auto factory = std::make_unique<engine::LeaseServiceFactory>(store_, world_.runtime());
  SimbaLocker locker{"elsewhere", *factory};
  factory.reset();
  locker.acquire();
  EXPECT_TRUE(locker.is_held());
}

TEST_F(LockerOnMemory, NamesThatTheStoreCannotTakeAreRefusedAtOnce) {
  EXPECT_THROW(SimbaLocker(" ", factory_), InvalidArgumentError);
  EXPECT_THROW(SimbaLocker("order", factory_, ""), InvalidArgumentError);
  EXPECT_THROW(SimbaLocker(std::string(1000, 'x'), factory_), InvalidArgumentError);
}

TEST_F(LockerOnMemory, TokensGrowFromOneHolderToTheNext) {
  FencingToken last = 0;
  for (int i = 0; i < 3; ++i) {
    for (SimbaLocker* locker : {&one_, &two_}) {
      locker->acquire();
      EXPECT_TRUE(support::grows(last, locker->fencing_token()));
      last = locker->fencing_token();
      locker->close();
      EXPECT_EQ(locker->fencing_token(), last) << "it is kept after the close";
    }
  }
}

TEST_F(LockerOnMemory, ATimeoutComesAtItsTimeAndLeavesNothing) {
  one_.acquire();
  const LocalTime before = world_.now();
  EXPECT_THAT([&] { two_.acquire(3s); },
              ThrowsMessage<TimeoutError>(AllOf(HasSubstr("[order]"), HasSubstr("[two]"),
                                                HasSubstr("3 s"), HasSubstr("held by [one]"))));
  EXPECT_EQ(world_.now() - before, 3s);
  one_.close();
  world_.advance(1min);
  EXPECT_FALSE(two_.is_held());
  EXPECT_TRUE(one_.try_acquire());
}

TEST_F(LockerOnMemory, AHeldLockIsRenewedForAsLongAsItIsHeld) {
  one_.acquire();
  world_.advance(1h);
  EXPECT_TRUE(one_.is_held());
  EXPECT_FALSE(two_.try_acquire());
}

TEST_F(LockerOnMemory, AStoreOutOfReachIsNamedInTheTimeout) {
  store_->cut();
  EXPECT_THAT([&] { one_.acquire(30s); },
              ThrowsMessage<TimeoutError>(HasSubstr("last store error")));
  EXPECT_THROW(static_cast<void>(two_.try_acquire()), Error);
  store_->mend();
  one_.acquire(30s);
  EXPECT_TRUE(one_.is_held());
}

TEST_F(LockerOnMemory, AStoreThatComesBackIsWaitedFor) {
  store_->next(Operation::acquire, Fault::fail(), 3);
  one_.acquire();
  EXPECT_TRUE(one_.is_held());
  EXPECT_EQ(store_->count(Operation::acquire), 4U);
}

TEST_F(LockerOnMemory, AStoreThatRefusesUsForGoodEndsTheWait) {
  store_->every(Fault::fail(Error{ErrorKind::permission, "read only"}));
  EXPECT_THAT([&] { one_.acquire(); },
              ThrowsMessage<Error>(AllOf(HasSubstr("[order]"), HasSubstr("read only"))));
  store_->mend();
  EXPECT_TRUE(two_.try_acquire());
}

TEST_F(LockerOnMemory, ALostAnswerOfTheStoreLeavesNothingHeld) {
  store_->next(Operation::acquire, Fault::lose_answer());
  EXPECT_THROW(static_cast<void>(one_.try_acquire()), Error);
  EXPECT_TRUE(two_.try_acquire()) << "the grant that nobody heard of was given back";
}

TEST_F(LockerOnMemory, AGrantThatComesAfterTheTimeoutIsGivenBack) {
  store_->next(Operation::acquire, Fault::hold_answer());
  EXPECT_THROW(one_.acquire(100ms), TimeoutError);
  EXPECT_FALSE(one_.is_held());
  store_->release_answers();
  world_.run_ready();
  EXPECT_FALSE(one_.is_held());
  EXPECT_TRUE(two_.try_acquire());
}

TEST_F(LockerOnMemory, ALossIsSignalledBeforeAnotherCanHoldTheLock) {
  one_.acquire();
  const LocalTime acquired_at = world_.now();
  store_->black_hole();
  LocalTime lost_at = never;
  const std::stop_callback on_loss{one_.lost(), [&] { lost_at = world_.now(); }};
  world_.advance(1min);
  EXPECT_LT(lost_at, acquired_at + factory_.plan().lease());
  EXPECT_FALSE(one_.is_held());
  EXPECT_TRUE(one_.lost().stop_requested());
  EXPECT_NE(one_.fencing_token(), 0U);
}

/// Knows whether it runs something now.
class MarkedExecutor final : public Executor {
 public:
  explicit MarkedExecutor(std::shared_ptr<Executor> inner) : inner_{std::move(inner)} {}
  void execute(std::function<void()> task) override {
    inner_->execute([this, task = std::move(task)] {
      busy = true;
      task();
      busy = false;
    });
  }
  bool running_in_this_thread() const noexcept override { return inner_->running_in_this_thread(); }

  bool busy = false;

 private:
  const std::shared_ptr<Executor> inner_;
};

TEST_F(LockerOnMemory, ALossIsSignalledOnTheExecutorThatIsThereForIt) {
  const auto signals = std::make_shared<MarkedExecutor>(world_.runtime()->signals);
  auto runtime = std::make_shared<Runtime>(*world_.runtime());
  runtime->signals = signals;
  engine::LeaseServiceFactory factory{store_, runtime};
  SimbaLocker locker{"order", factory};
  locker.acquire();
  bool slow_callback_was_on_signals = false;
  const std::stop_callback on_loss{locker.lost(),
                                   [&] { slow_callback_was_on_signals = signals->busy; }};
  store_->cut();
  world_.advance(1min);
  EXPECT_TRUE(slow_callback_was_on_signals) << "else a slow one would stop timers and renewals";
}

TEST_F(LockerOnMemory, ALostLockIsNotTakenAgainUntilItIsClosedAndAcquired) {
  one_.acquire();
  store_->cut();
  world_.advance(1min);
  store_->mend();
  world_.advance(1min);
  EXPECT_FALSE(one_.is_held());
  EXPECT_THROW(one_.acquire(), IllegalStateError);
  EXPECT_TRUE(two_.try_acquire());
  two_.close();
  one_.close();
  one_.acquire();
  EXPECT_TRUE(one_.is_held());
}

TEST_F(LockerOnMemory, APausedProcessFindsTheLockLostBeforeAnyTimerRuns) {
  one_.acquire();
  world_.clock().advance(1min);
  EXPECT_FALSE(one_.is_held());
}

TEST_F(LockerOnMemory, UniqueLockWorksInAllItsWays) {
  std::unique_lock lock{one_};
  EXPECT_TRUE(one_.is_held());
  EXPECT_FALSE((std::unique_lock{two_, std::try_to_lock}.owns_lock()));
  EXPECT_FALSE((std::unique_lock{two_, 20ms}.owns_lock()));
  EXPECT_FALSE((std::unique_lock{two_, std::chrono::steady_clock::now()}.owns_lock()));
  lock.unlock();
  EXPECT_TRUE((std::unique_lock{two_, 20ms}.owns_lock()));
  EXPECT_FALSE(two_.is_held());
  std::unique_lock deferred{two_, std::defer_lock};
  deferred.lock();
  EXPECT_TRUE(two_.is_held());
}

TEST_F(LockerOnMemory, ScopedLockTakesSeveral) {
  SimbaLocker elsewhere{"elsewhere", factory_};
  {
    const std::scoped_lock both{one_, elsewhere};
    EXPECT_TRUE(one_.is_held());
    EXPECT_TRUE(elsewhere.is_held());
  }
  EXPECT_TRUE(two_.try_lock());
}

TEST_F(LockerOnMemory, AStoreThatDoesNotAnswerDelaysCloseOnlyForABoundedTime) {
  one_.acquire();
  store_->black_hole();
  const LocalTime before = world_.now();
  one_.close();
  EXPECT_LE(world_.now() - before, simba::worst_cases(factory_.plan()).stop);
  EXPECT_FALSE(one_.is_held());
}

}  // namespace
}  // namespace simba
