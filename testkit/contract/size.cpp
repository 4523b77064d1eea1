// Many mutexes cost no more threads than one.
#include <filesystem>
#include <iterator>

#include <gtest/gtest.h>

#include "testkit/contract/member.hpp"

namespace simba::testkit::detail {
namespace {

constexpr std::size_t mutexes = 200;

std::ptrdiff_t threads() {
  const std::filesystem::directory_iterator tasks{"/proc/self/task"};
  return std::distance(begin(tasks), end(tasks));
}

/// Where the machine stood still during a callback, there may be a thread more for a moment.
bool comes_to_rest(const Contract& contract, std::ptrdiff_t most) {
  return contract.eventually([=] { return threads() <= most; });
}

void two_hundred_mutexes_need_no_more_threads_than_one(Contract& contract) {
  const auto factory = contract.factory();
  const auto waiting = contract.factory();
  Members owners;
  Members waiters;
  std::vector<std::unique_ptr<Observer>> observers;
  const auto add = [&] {
    const std::string mutex = contract.fresh_name();
    owners.push_back(std::make_unique<Member>(contract, mutex, *factory));
    owners.back()->start();
    waiters.push_back(std::make_unique<Member>(contract, mutex, *waiting));
    observers.push_back(std::make_unique<Observer>(contract, mutex, *waiting));
  };
  const auto follow = [&](std::size_t i) {
    ASSERT_TRUE(owners[i]->has_acquired());
    waiters[i]->start();
    observers[i]->service().start();
  };
  add();
  follow(0);
  ASSERT_TRUE(observers[0]->sees(*owners[0]));
  ASSERT_TRUE(waiters[0]->sees(*owners[0]));
  const std::ptrdiff_t with_one = threads();

  for (std::size_t i = 1; i < mutexes; ++i) {
    add();
  }
  for (std::size_t i = 1; i < mutexes; ++i) {
    follow(i);
  }
  for (std::size_t i = 0; i < mutexes; ++i) {
    ASSERT_TRUE(waiters[i]->sees(*owners[i]));
    ASSERT_TRUE(observers[i]->sees(*owners[i]));
    EXPECT_TRUE(owners[i]->service().is_owner());
  }
  EXPECT_TRUE(comes_to_rest(contract, with_one)) << threads() << " instead of " << with_one;

  // All of them change hands.
  for (const auto& owner : owners) {
    owner->stop();
  }
  for (const auto& waiter : waiters) {
    ASSERT_TRUE(waiter->has_acquired());
  }
  EXPECT_TRUE(comes_to_rest(contract, with_one)) << threads() << " instead of " << with_one;
}

}  // namespace

ContractCases size_cases() {
  return {
      {"TwoHundredMutexesNeedNoMoreThreadsThanOne",
       two_hundred_mutexes_need_no_more_threads_than_one},
  };
}

}  // namespace simba::testkit::detail
