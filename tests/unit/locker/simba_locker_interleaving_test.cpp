// What happens when two things happen at the same time, moment by moment.
#include <stdexcept>

#include <gmock/gmock.h>

#include "simba/locker/simba_locker.hpp"
#include "unit/locker/fake_contend_service.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using simba::locker_test::FakeContendService;
using simba::locker_test::FakeFactory;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class LockerInterleaving : public ::testing::Test {
 protected:
  void grant_at_start(FencingToken token) {
    factory_.script.on_start = [token](FakeContendService& service) { service.grant(token); };
  }
  FakeContendService& service() { return *factory_.service; }
  void while_waiting(std::function<void()> what) { factory_.waiter->meanwhile = std::move(what); }
  void expect_nothing_held() {
    EXPECT_FALSE(locker_.is_held());
    EXPECT_TRUE(locker_.lost().stop_requested());
    EXPECT_EQ(service().status(), ServiceStatus::initial);
  }
  void expect_usable() {
    grant_at_start(77);
    locker_.acquire();
    EXPECT_TRUE(locker_.is_held());
    EXPECT_EQ(locker_.fencing_token(), 77U);
  }

  FakeFactory factory_;
  SimbaLocker locker_{"order", factory_, "me"};
};

TEST_F(LockerInterleaving, AGrantInsideStartIsNotWaitedFor) {
  grant_at_start(5);
  locker_.acquire();
  EXPECT_TRUE(locker_.is_held());
  EXPECT_EQ(locker_.fencing_token(), 5U);
  EXPECT_EQ(factory_.waiter->waits, 0);
}

TEST_F(LockerInterleaving, AGrantAtTheVeryMomentOfTheTimeoutIsKept) {
  while_waiting([&] { service().grant(5); });
  locker_.acquire(1s);
  EXPECT_TRUE(locker_.is_held());
  EXPECT_EQ(locker_.fencing_token(), 5U);
}

TEST_F(LockerInterleaving, AGrantAfterTheTimeoutIsGivenBack) {
  factory_.script.on_stop = [](FakeContendService& service) { service.grant(5); };
  EXPECT_THROW(locker_.acquire(1s), TimeoutError);
  expect_nothing_held();
  EXPECT_EQ(locker_.fencing_token(), 0U) << "nobody ever held the lock under that token";
  expect_usable();
}

TEST_F(LockerInterleaving, AGrantAfterTryAcquireHasGivenUpIsGivenBack) {
  while_waiting([&] { service().observe("other"); });
  factory_.script.on_stop = [](FakeContendService& service) { service.grant(5); };
  EXPECT_FALSE(locker_.try_acquire());
  expect_nothing_held();
}

TEST_F(LockerInterleaving, AGrantTogetherWithAStopRequestIsKept) {
  std::stop_source stop;
  while_waiting([&] {
    stop.request_stop();
    service().grant(5);
  });
  EXPECT_TRUE(locker_.try_acquire(stop.get_token()));
  EXPECT_TRUE(locker_.is_held());
}

TEST_F(LockerInterleaving, CloseDuringAcquireEndsItWithAClearError) {
  while_waiting([&] { locker_.close(); });
  EXPECT_THAT([&] { locker_.acquire(); },
              ThrowsMessage<IllegalStateError>(
                  AllOf(HasSubstr("[order]"), HasSubstr("closed while acquiring"))));
  expect_nothing_held();
  expect_usable();
}

TEST_F(LockerInterleaving, CloseRightAfterAGrantWinsOverIt) {
  while_waiting([&] {
    service().grant(5);
    locker_.close();
  });
  EXPECT_THROW(locker_.acquire(), IllegalStateError);
  expect_nothing_held();
}

TEST_F(LockerInterleaving, AGrantDuringCloseIsGivenBack) {
  factory_.script.on_stop = [](FakeContendService& service) { service.grant(5); };
  while_waiting([&] { locker_.close(); });
  EXPECT_THROW(locker_.acquire(), IllegalStateError);
  expect_nothing_held();
}

TEST_F(LockerInterleaving, AnAcquireThatWasClosedLeavesTheNextOneAlone) {
  while_waiting([&] {
    locker_.close();
    grant_at_start(6);
    locker_.acquire();
  });
  EXPECT_THROW(locker_.acquire(), IllegalStateError);
  EXPECT_TRUE(locker_.is_held());
  EXPECT_EQ(locker_.fencing_token(), 6U);
}

TEST_F(LockerInterleaving, ALossBeforeAcquireReturnsIsSeenByTheCaller) {
  while_waiting([&] {
    service().grant(5);
    service().lose();
  });
  locker_.acquire();
  EXPECT_FALSE(locker_.is_held());
  EXPECT_TRUE(locker_.lost().stop_requested());
  EXPECT_EQ(locker_.fencing_token(), 5U);
}

TEST_F(LockerInterleaving, AfterALossTheLockerHasToBeClosedBeforeItIsUsedAgain) {
  grant_at_start(5);
  locker_.acquire();
  service().lose();
  EXPECT_THAT([&] { locker_.acquire(); }, ThrowsMessage<IllegalStateError>(HasSubstr("[order]")));
  EXPECT_THROW(static_cast<void>(locker_.try_acquire()), IllegalStateError);
  locker_.close();
  expect_usable();
}

TEST_F(LockerInterleaving, AcquireInsideAcquireThrowsAndDisturbsNothing) {
  while_waiting([&] {
    EXPECT_THAT([&] { locker_.acquire(1s); },
                ThrowsMessage<IllegalStateError>(HasSubstr("[order]")));
    service().grant(5);
  });
  locker_.acquire();
  EXPECT_TRUE(locker_.is_held());
}

TEST_F(LockerInterleaving, AcquireDuringCloseThrows) {
  grant_at_start(5);
  locker_.acquire();
  factory_.script.on_stop = [&](FakeContendService&) {
    EXPECT_THROW(locker_.acquire(), IllegalStateError);
  };
  locker_.close();
  factory_.script.on_stop = nullptr;
  expect_usable();
}

TEST_F(LockerInterleaving, CloseInsideTheLossSignalOfCloseDoesNotWaitForItself) {
  grant_at_start(5);
  locker_.acquire();
  int calls = 0;
  const std::stop_callback on_loss{locker_.lost(), [&] {
                                     ++calls;
                                     locker_.close();
                                   }};
  locker_.close();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(factory_.waiter->waits, 0);
  expect_nothing_held();
}

TEST_F(LockerInterleaving, CloseMayComeAnyNumberOfTimes) {
  locker_.close();
  grant_at_start(5);
  locker_.acquire();
  locker_.close();
  locker_.close();
  expect_nothing_held();
}

TEST_F(LockerInterleaving, AStartThatFailsLeavesTheLockerUsable) {
  factory_.script.on_start = [](FakeContendService&) { throw std::runtime_error{"no start"}; };
  EXPECT_THAT([&] { locker_.acquire(); }, ThrowsMessage<std::runtime_error>("no start"));
  expect_nothing_held();
  expect_usable();
}

TEST_F(LockerInterleaving, AWaitThatThrowsLeavesNothingRunning) {
  while_waiting([] { throw std::logic_error{"cannot wait"}; });
  EXPECT_THAT([&] { locker_.acquire(); }, ThrowsMessage<std::logic_error>("cannot wait"));
  expect_nothing_held();
  expect_usable();
}

TEST_F(LockerInterleaving, AWaitThatThrowsAfterCloseChangesNothingMore) {
  while_waiting([&] {
    locker_.close();
    grant_at_start(6);
    locker_.acquire();
    throw std::logic_error{"cannot wait"};
  });
  EXPECT_THROW(locker_.acquire(), std::logic_error);
  EXPECT_TRUE(locker_.is_held()) << "by the acquire that came after the close";
}

}  // namespace
}  // namespace simba
