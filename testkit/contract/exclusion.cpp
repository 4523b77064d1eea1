// Never two owners, among the threads of one process.
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/locker/simba_locker.hpp"
#include "testkit/contract/member.hpp"

namespace simba::testkit::detail {
namespace {

constexpr int rivals = 10;

std::vector<std::unique_ptr<MutexServiceFactory>> three_factories(const Contract& contract) {
  std::vector<std::unique_ptr<MutexServiceFactory>> factories;
  factories.reserve(3);
  for (int i = 0; i < 3; ++i) {
    factories.push_back(contract.factory());
  }
  return factories;
}

/// Owns the mutex a few times, each time for as long as it takes another thread to come by.
std::vector<Visit> visit(const Contract& contract, SimbaLocker& locker, int times) {
  constexpr std::chrono::microseconds stay{200};
  std::vector<Visit> visits;
  for (int i = 0; i < times; ++i) {
    // Others may be served many times in between: fairness is not what is tested here.
    locker.acquire(4 * contract.patience());
    const LocalTime entered = contract.now();
    LocalTime last_owned{};
    for (LocalTime now = entered; now < entered + stay && locker.is_held(); now = contract.now()) {
      last_owned = now;
    }
    if (last_owned >= entered) {
      visits.push_back({locker.fencing_token(), entered, last_owned});
    }
    locker.close();
  }
  return visits;
}

void ten_lockers_in_threads_never_hold_at_the_same_time(Contract& contract) {
  const int times = contract.has(Capability::prompt_hand_over) ? 10 : 2;
  const std::string mutex = contract.fresh_name();
  const auto factories = three_factories(contract);
  std::mutex guard;
  std::vector<Visit> visits;
  std::vector<std::string> failures;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < rivals; ++i) {
      threads.emplace_back([&, i] {
        try {
          SimbaLocker locker{mutex, *factories[i % factories.size()]};
          const auto own = visit(contract, locker, times);
          const std::lock_guard lock{guard};
          visits.insert(visits.end(), own.begin(), own.end());
        } catch (const Error& error) {
          const std::lock_guard lock{guard};
          failures.emplace_back(error.what());
        }
      });
    }
  }
  EXPECT_TRUE(failures.empty()) << failures.front();
  EXPECT_EQ(visits.size(), static_cast<std::size_t>(rivals * times));
  EXPECT_EQ(contradiction(visits), "");
}

/// Each contender that leads steps down and stands again, so that leadership goes round while the
/// other nine wait. Between on_acquired and on_released there is never more than one.
void ten_contenders_are_never_two_between_acquired_and_released(Contract& contract) {
  const int terms = contract.has(Capability::prompt_hand_over) ? 60 : 6;
  const std::string mutex = contract.fresh_name();
  const auto factories = three_factories(contract);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  const Member::Hooks hooks{.acquired =
                                [&](Member&) {
                                  const int now = ++inside;
                                  int before = most;
                                  while (before < now && !most.compare_exchange_weak(before, now)) {
                                  }
                                },
                            .released = [&](Member&) { --inside; }};
  Members members;
  for (std::size_t i = 0; i < rivals; ++i) {
    members.push_back(
        std::make_unique<Member>(contract, mutex, *factories[i % factories.size()], hooks));
    members.back()->start();
  }
  for (int term = 0; term < terms; ++term) {
    Member* leader = owner_among(contract, members);
    ASSERT_NE(leader, nullptr) << "nobody owns the mutex in term " << term;
    const FencingToken token = leader->service().fencing_token();
    // Whoever else claims to own it between two looks at the leader, which owned it all the time,
    // is a second owner.
    for (const auto& member : members) {
      const bool second = member.get() != leader && member->service().is_owner();
      const bool still = leader->service().is_owner() && leader->service().fencing_token() == token;
      EXPECT_FALSE(second && still) << safety_violation << "two owners in term " << term;
    }
    leader->stop();
    leader->start();
  }
  std::size_t losses = 0;
  for (const auto& member : members) {
    member->stop();
    EXPECT_EQ(member->acquisitions(), member->releases());
    losses += member->losses();
  }
  EXPECT_EQ(losses, 0U);
  // Whoever has lost the mutex may still be inside when the next one comes.
  EXPECT_EQ(most, 1) << (losses == 0 ? safety_violation : "") << "between the callbacks at once";
}

}  // namespace

ContractCases exclusion_cases() {
  return {
      {"TenLockersInThreadsNeverHoldAtTheSameTime",
       ten_lockers_in_threads_never_hold_at_the_same_time},
      {"TenContendersAreNeverTwoBetweenAcquiredAndReleased",
       ten_contenders_are_never_two_between_acquired_and_released},
  };
}

}  // namespace simba::testkit::detail
