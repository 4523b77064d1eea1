// start(), stop() and close() of services.
#include <atomic>
#include <functional>
#include <stop_token>
#include <string>

#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "testkit/contract/member.hpp"

namespace simba::testkit::detail {
namespace {

/// The call throws IllegalStateError and names both the state found and the state needed.
void expect_refused_with_both_states(const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "the call did not throw";
  } catch (const IllegalStateError& error) {
    EXPECT_NE(std::string{error.what()}.find("INITIAL"), std::string::npos) << error.what();
    EXPECT_NE(std::string{error.what()}.find("RUNNING"), std::string::npos) << error.what();
  }
}

void starting_twice_throws_with_both_states(Contract& contract) {
  const auto factory = contract.factory();
  Member member{contract, contract.fresh_name(), *factory};
  Observer observer{contract, member.mutex(), *factory};
  member.start();
  observer.service().start();
  expect_refused_with_both_states([&] { member.start(); });
  expect_refused_with_both_states([&] { observer.service().start(); });
  // The running services are none the worse for it.
  EXPECT_TRUE(member.service().running());
  EXPECT_TRUE(member.has_acquired());
  EXPECT_TRUE(observer.sees(member));
}

void stop_may_be_called_any_number_of_times(Contract& contract) {
  const auto factory = contract.factory();
  Member member{contract, contract.fresh_name(), *factory};
  Observer observer{contract, member.mutex(), *factory};
  member.stop();
  observer.service().stop();
  for (std::size_t life = 1; life <= 2; ++life) {
    member.start();
    observer.service().start();
    ASSERT_TRUE(member.has_acquired(life));
    for (int times = 0; times < 3; ++times) {
      member.stop();
      observer.service().stop();
    }
    EXPECT_EQ(member.releases(), life);
    EXPECT_EQ(member.service().status(), ServiceStatus::initial);
    EXPECT_EQ(observer.service().status(), ServiceStatus::initial);
  }
}

void stop_in_the_loss_signal_that_stop_fires_returns(Contract& contract) {
  const auto factory = contract.factory();
  Member member{contract, contract.fresh_name(), *factory};
  member.start();
  ASSERT_TRUE(member.has_acquired());
  int fired = 0;
  const std::stop_callback stops{member.service().lost(), [&] {
                                   member.stop();
                                   member.service().close();
                                   ++fired;
                                 }};
  member.stop();
  EXPECT_EQ(fired, 1);
  EXPECT_EQ(member.releases(), 1U);
  EXPECT_EQ(member.service().status(), ServiceStatus::initial);
}

void close_may_be_called_any_number_of_times(Contract& contract) {
  const auto factory = contract.factory();
  Member member{contract, contract.fresh_name(), *factory};
  Observer observer{contract, member.mutex(), *factory};
  member.service().close();
  observer.service().close();
  for (std::size_t life = 1; life <= 2; ++life) {
    member.start();
    observer.service().start();
    ASSERT_TRUE(member.has_acquired(life));
    for (int times = 0; times < 3; ++times) {
      member.service().close();
      observer.service().close();
    }
    EXPECT_EQ(member.releases(), life);
    EXPECT_EQ(member.service().status(), ServiceStatus::initial);
    EXPECT_EQ(observer.service().status(), ServiceStatus::initial);
  }
}

/// Half of the lives are stopped at once, the others as owner; a rival keeps the mutex moving.
void no_callback_comes_after_stop_has_returned(Contract& contract) {
  const std::size_t lives = contract.has(Capability::prompt_hand_over) ? 60 : 6;
  const std::string mutex = contract.fresh_name();
  const auto one = contract.factory();
  const auto another = contract.factory();
  std::atomic<bool> stopped{true};
  std::atomic<int> late{0};
  const auto look = [&](Member&) { late += stopped ? 1 : 0; };
  Member member{contract, mutex, *one, {.acquired = look, .released = look}};
  Member rival{contract, mutex, *another};

  for (std::size_t life = 0; life < lives; ++life) {
    rival.start();
    const std::size_t acquisitions = member.acquisitions();
    stopped = false;
    member.start();
    if (life % 2 == 1) {
      rival.stop();
      ASSERT_TRUE(member.has_acquired(acquisitions + 1));
      member.stop();
    } else {
      member.stop();
      rival.stop();
    }
    stopped = true;
    ASSERT_EQ(member.acquisitions(), member.releases());
    ASSERT_EQ(late, 0) << safety_violation << "a callback after stop()";
  }
  EXPECT_FALSE(contract.within(contract.hand_over(), [&] { return late != 0; }))
      << safety_violation << "a callback after stop()";
}

void an_observer_is_told_nothing_after_stop_has_returned(Contract& contract) {
  const auto factory = contract.factory();
  const std::string mutex = contract.fresh_name();
  std::atomic<bool> stopped{true};
  std::atomic<int> late{0};
  Observer observer{contract, mutex, *factory, [&](Observer&) { late += stopped ? 1 : 0; }};
  Member member{contract, mutex, *factory};
  for (int life = 0; life < 20; ++life) {
    stopped = false;
    observer.service().start();
    member.start();
    observer.service().stop();
    stopped = true;
    member.stop();
    ASSERT_EQ(late, 0) << safety_violation << "a callback after stop()";
  }
  EXPECT_TRUE(observer.service().after_owner().owner_id().empty());
}

}  // namespace

ContractCases life_cases() {
  return {
      {"StartingTwiceThrowsWithBothStates", starting_twice_throws_with_both_states},
      {"StopMayBeCalledAnyNumberOfTimes", stop_may_be_called_any_number_of_times},
      {"StopInTheLossSignalThatStopFiresReturns", stop_in_the_loss_signal_that_stop_fires_returns},
      {"CloseMayBeCalledAnyNumberOfTimes", close_may_be_called_any_number_of_times},
      {"NoCallbackComesAfterStopHasReturned", no_callback_comes_after_stop_has_returned},
      {"AnObserverIsToldNothingAfterStopHasReturned",
       an_observer_is_told_nothing_after_stop_has_returned},
  };
}

}  // namespace simba::testkit::detail
