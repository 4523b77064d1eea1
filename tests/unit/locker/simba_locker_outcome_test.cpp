// How an acquire ends: with the lock, with an answer, or with an error that says why.
#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>

#include <gmock/gmock.h>

#include "simba/locker/simba_locker.hpp"
#include "unit/locker/fake_contend_service.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using simba::locker_test::FakeContendService;
using simba::locker_test::FakeFactory;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

class LockerOutcome : public ::testing::Test {
 protected:
  FakeContendService& service() { return *factory_.service; }
  void while_waiting(std::function<void()> what) { factory_.waiter->meanwhile = std::move(what); }
  bool stopped() { return service().status() == ServiceStatus::initial; }

  FakeFactory factory_;
  SimbaLocker locker_{"order", factory_, "me"};
};

TEST_F(LockerOutcome, TheServiceStaysOutAfterALossAndCallsBackAtOnce) {
  EXPECT_EQ(factory_.options.after_loss, AfterLoss::stay_out);
  bool called = false;
  factory_.options.executor->execute([&] { called = true; });
  EXPECT_TRUE(called);
}

TEST_F(LockerOutcome, NamesAreTheOnesGiven) {
  EXPECT_EQ(locker_.mutex(), "order");
  EXPECT_EQ(locker_.contender_id(), "me");
}

TEST_F(LockerOutcome, WithoutAnIdEachLockerGetsOneThatNobodyElseHas) {
  const SimbaLocker one{"order", factory_};
  const SimbaLocker another{"order", factory_};
  EXPECT_NE(one.contender_id(), another.contender_id());
  EXPECT_THAT(one.contender_id(), testing::MatchesRegex(".*-[0-9a-f]{16}"));
}

TEST_F(LockerOutcome, BeforeTheFirstAcquireThereIsNoTokenAndNothingToLose) {
  EXPECT_EQ(locker_.fencing_token(), 0U);
  EXPECT_FALSE(locker_.is_held());
  EXPECT_TRUE(locker_.lost().stop_requested());
}

TEST_F(LockerOutcome, ATimeoutNamesMutexContenderAndTime) {
  EXPECT_THAT([&] { locker_.acquire(250ms); },
              ThrowsMessage<TimeoutError>(AllOf(HasSubstr("[order]"), HasSubstr("[me]"),
                                                HasSubstr("250 ms"), Not(HasSubstr("held by")),
                                                Not(HasSubstr("store error")))));
  EXPECT_TRUE(stopped());
}

TEST_F(LockerOutcome, ATimeoutTellsInTheLargestUnitThatFits) {
  EXPECT_THAT([&] { locker_.acquire(5s); }, ThrowsMessage<TimeoutError>(HasSubstr("within 5 s")));
  EXPECT_THAT([&] { locker_.acquire(7us); }, ThrowsMessage<TimeoutError>(HasSubstr("7 us")));
  EXPECT_THAT([&] { locker_.acquire(1001ns); }, ThrowsMessage<TimeoutError>(HasSubstr("1001 ns")));
}

TEST_F(LockerOutcome, ATimeoutTellsWhoHoldsTheLockAndWhatTheStoreLastFailedWith) {
  while_waiting([&] {
    service().fail(ErrorKind::unavailable, "connection refused");
    service().observe("other");
  });
  EXPECT_THAT([&] { locker_.acquire(1s); },
              ThrowsMessage<TimeoutError>(
                  AllOf(HasSubstr("held by [other]"), HasSubstr("connection refused"))));
}

TEST_F(LockerOutcome, ATimeoutDoesNotNameAHolderThatIsGone) {
  while_waiting([&] {
    service().observe("other");
    service().observe("");
  });
  EXPECT_THAT([&] { locker_.acquire(1s); }, ThrowsMessage<TimeoutError>(Not(HasSubstr("held by"))));
}

TEST_F(LockerOutcome, AnEarlierAcquireLeavesNothingInTheMessageOfALaterOne) {
  while_waiting([&] {
    service().fail(ErrorKind::unavailable, "connection refused");
    service().observe("other");
  });
  EXPECT_THROW(locker_.acquire(1s), TimeoutError);
  EXPECT_THAT([&] { locker_.acquire(1s); },
              ThrowsMessage<TimeoutError>(
                  AllOf(Not(HasSubstr("other")), Not(HasSubstr("connection refused")))));
}

TEST_F(LockerOutcome, AStoreThatRefusesUsForGoodEndsTheWait) {
  while_waiting([&] { service().fail(ErrorKind::authentication, "wrong password"); });
  try {
    locker_.acquire();
    FAIL() << "acquired";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::authentication);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("[order]"), HasSubstr("[me]"), HasSubstr("wrong password")));
  }
  EXPECT_TRUE(stopped());
}

TEST_F(LockerOutcome, AnErrorThatPassesIsWaitedOut) {
  while_waiting([&] {
    service().fail(ErrorKind::unavailable, "connection refused");
    service().fail(ErrorKind::timeout, "no answer");
    service().grant(5);
  });
  locker_.acquire(1s);
  EXPECT_TRUE(locker_.is_held());
}

TEST_F(LockerOutcome, OtherEventsAreNoAnswer) {
  while_waiting([&] {
    service().contender().on_event(OwnershipLost{LossReason::expired, 1});
    service().contender().on_event(AtRisk{1s});
  });
  EXPECT_THROW(locker_.acquire(1s), TimeoutError);
}

TEST_F(LockerOutcome, AnIdThatAnotherProcessUsesIsAnErrorAlsoForEveryLaterAcquire) {
  const auto kind_of = [&] {
    try {
      locker_.acquire();
      return ErrorKind::internal;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("also used by another process"));
      return error.kind();
    }
  };
  while_waiting([&] { service().contender().on_event(AcquireFailed{duplicate_id_error("me")}); });
  EXPECT_EQ(kind_of(), ErrorKind::duplicate_id);
  EXPECT_TRUE(stopped());
  EXPECT_EQ(kind_of(), ErrorKind::duplicate_id);
}

TEST_F(LockerOutcome, AfterALossToItsOwnIdItNeverTakesTurnsWithTheOther) {
  while_waiting([&] { service().grant(5); });
  locker_.acquire();
  service().contender().on_event(OwnershipLost{LossReason::duplicate_id, 5});
  locker_.close();
  EXPECT_THAT([&] { locker_.acquire(1s); },
              testing::ThrowsMessage<Error>(HasSubstr("also used by another process")));
}

TEST_F(LockerOutcome, TryAcquireIsTrueWhenGranted) {
  while_waiting([&] { service().grant(5); });
  EXPECT_TRUE(locker_.try_acquire());
  EXPECT_TRUE(locker_.is_held());
}

TEST_F(LockerOutcome, TryAcquireIsFalseWhenAnotherHoldsTheLock) {
  while_waiting([&] { service().observe("other"); });
  EXPECT_FALSE(locker_.try_acquire());
  EXPECT_TRUE(stopped());
}

TEST_F(LockerOutcome, TryAcquireThrowsWhenTheStoreGivesNoClearAnswer) {
  while_waiting([&] { service().fail(ErrorKind::in_doubt, "connection lost"); });
  try {
    static_cast<void>(locker_.try_acquire());
    FAIL() << "got an answer";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::in_doubt);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("[order]"), HasSubstr("connection lost")));
  }
  EXPECT_TRUE(stopped());
}

TEST_F(LockerOutcome, ATimeoutOfZeroOrLessAsksOnce) {
  for (const auto timeout : {0s, -1s}) {
    while_waiting([&] { service().observe("other"); });
    EXPECT_THAT([&] { locker_.acquire(timeout); },
                ThrowsMessage<TimeoutError>(HasSubstr("held by [other]")));
    EXPECT_EQ(factory_.waiter->deadline, never) << "it waits for the answer, not for the lock";
    EXPECT_TRUE(stopped());
  }
  while_waiting([&] { service().grant(5); });
  locker_.acquire(0s);
  EXPECT_TRUE(locker_.is_held());
}

TEST_F(LockerOutcome, ATimeoutThatIsTooLongForTheClockIsNoTimeout) {
  while_waiting([&] { service().grant(5); });
  locker_.acquire(std::chrono::nanoseconds::max());
  EXPECT_EQ(factory_.waiter->deadline, never);
  locker_.close();

  while_waiting([&] { service().grant(6); });
  EXPECT_TRUE(locker_.try_lock_for(std::chrono::hours::max()));
  EXPECT_EQ(factory_.waiter->deadline, never);
  locker_.close();

  while_waiting([&] { service().grant(7); });
  EXPECT_TRUE(locker_.try_lock_until(std::chrono::system_clock::time_point::max()));
}

TEST_F(LockerOutcome, ATimeoutIsCountedOnTheClockOfTheRuntime) {
  while_waiting([&] { service().grant(5); });
  locker_.acquire(3s);
  EXPECT_EQ(factory_.waiter->deadline, factory_.manual.now() + 3s);
}

TEST_F(LockerOutcome, TryLockForRoundsUpAndTakesNegativeTimes) {
  while_waiting([&] { service().grant(5); });
  EXPECT_TRUE(locker_.try_lock_for(std::chrono::duration<double, std::micro>{1.0005}));
  EXPECT_EQ(factory_.waiter->deadline, factory_.manual.now() + 1001ns);
  locker_.close();

  while_waiting([&] { service().observe("other"); });
  EXPECT_FALSE(locker_.try_lock_for(std::chrono::hours::min()));
  while_waiting([&] { service().observe("other"); });
  EXPECT_FALSE(locker_.try_lock_until(std::chrono::steady_clock::time_point{}));
}

TEST_F(LockerOutcome, AStopRequestedBeforehandStartsNothing) {
  std::stop_source stop;
  stop.request_stop();
  bool started = false;
  factory_.script.on_start = [&](FakeContendService&) { started = true; };
  EXPECT_FALSE(locker_.try_acquire(stop.get_token()));
  EXPECT_FALSE(started);
}

TEST_F(LockerOutcome, AStopRequestEndsTheWait) {
  std::stop_source stop;
  while_waiting([&] { stop.request_stop(); });
  EXPECT_FALSE(locker_.try_acquire(stop.get_token()));
  EXPECT_TRUE(stopped());
}

TEST_F(LockerOutcome, AnyDurationIsAWaitThatDoesNotOverflow) {
  EXPECT_THAT([&] { locker_.acquire(1.5s); },
              ThrowsMessage<TimeoutError>(HasSubstr("within 1500 ms")));
  while_waiting([&] { service().grant(5); });
  locker_.acquire(std::chrono::hours::max());
  EXPECT_EQ(locker_.fencing_token(), 5U);
}

TEST_F(LockerOutcome, AUnitThatIsNoWholeNumberOfNanosecondsDoesNotOverflow) {
  while_waiting([&] { service().grant(5); });
  locker_.acquire(std::chrono::duration<std::int64_t, std::ratio<1, 60>>{300'000'000'000});
  EXPECT_EQ(factory_.waiter->deadline, factory_.manual.now() + 5'000'000'000s);
  locker_.close();

  while_waiting([&] { service().observe("other"); });
  const std::chrono::duration<double> no_number{std::numeric_limits<double>::quiet_NaN()};
  EXPECT_FALSE(locker_.try_lock_for(no_number));
}

TEST_F(LockerOutcome, ATokenThatCannotBeStoppedIsFine) {
  while_waiting([&] { service().grant(5); });
  EXPECT_TRUE(locker_.try_acquire(std::stop_token{}));
}

}  // namespace
}  // namespace simba
