// The locker with real threads. Nothing here depends on how long anything takes.
#include <atomic>
#include <filesystem>
#include <iterator>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/memory/memory_factory.hpp"
#include "support/ownership/grows.hpp"

namespace simba {
namespace {

class LockerThreads : public ::testing::Test {
 protected:
  const std::shared_ptr<MutexServiceFactory> factory_ = memory::make_memory_factory();
};

TEST_F(LockerThreads, OnlyOneThreadAtATimeIsInside) {
  constexpr int threads = 4;
  constexpr int rounds = 100;
  int plain = 0;  // a race here is seen by the thread sanitizer
  FencingToken last = 0;
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i) {
      all.emplace_back([&] {
        SimbaLocker locker{"order", *factory_};
        for (int round = 0; round < rounds; ++round) {
          const std::unique_lock lock{locker};
          ++plain;
          EXPECT_TRUE(support::grows(last, locker.fencing_token()));
          last = locker.fencing_token();
        }
      });
    }
  }
  EXPECT_EQ(plain, threads * rounds);
}

TEST_F(LockerThreads, LocksTakenInOppositeOrderDoNotBlockEachOther) {
  int plain = 0;
  const auto work = [&](const char* first, const char* second) {
    SimbaLocker one{first, *factory_};
    SimbaLocker two{second, *factory_};
    for (int round = 0; round < 50; ++round) {
      const std::scoped_lock both{one, two};
      ++plain;
    }
  };
  {
    const std::jthread there{work, "left", "right"};
    const std::jthread back{work, "right", "left"};
  }
  EXPECT_EQ(plain, 100);
}

TEST_F(LockerThreads, CloseFromAnotherThreadEndsAnAcquire) {
  SimbaLocker holder{"order", *factory_};
  holder.acquire();
  for (int round = 0; round < 50; ++round) {
    SimbaLocker waiter{"order", *factory_};
    std::atomic<bool> ended{false};
    const std::jthread thread{[&] {
      EXPECT_THROW(waiter.acquire(), IllegalStateError);
      ended = true;
    }};
    while (!ended) waiter.close();  // the first ones may come before the acquire
    EXPECT_FALSE(waiter.is_held());
  }
  EXPECT_TRUE(holder.is_held());
}

TEST_F(LockerThreads, AStopRequestEndsAnAcquire) {
  SimbaLocker holder{"order", *factory_};
  holder.acquire();
  for (int round = 0; round < 50; ++round) {
    std::stop_source stop;
    SimbaLocker waiter{"order", *factory_};
    std::latch begun{1};
    const std::jthread thread{[&] {
      begun.count_down();
      EXPECT_FALSE(waiter.try_acquire(stop.get_token()));
    }};
    begun.wait();
    stop.request_stop();
  }
}

TEST_F(LockerThreads, NothingIsLeakedWhenAGrantMeetsACloseOrAStopRequest) {
  for (int round = 0; round < 200; ++round) {
    SimbaLocker holder{"order", *factory_};
    holder.acquire();
    SimbaLocker waiter{"order", *factory_};
    std::stop_source stop;
    std::latch begun{3};
    {
      const std::jthread acquiring{[&] {
        begun.arrive_and_wait();
        try {
          static_cast<void>(waiter.try_acquire(stop.get_token()));
        } catch (const IllegalStateError&) {  // closed while acquiring
        }
      }};
      const std::jthread releasing{[&] {
        begun.arrive_and_wait();
        holder.close();
      }};
      begun.arrive_and_wait();
      if (round % 2 == 0) waiter.close();
      stop.request_stop();
    }
    waiter.close();
    EXPECT_FALSE(waiter.is_held());
    SimbaLocker next{"order", *factory_};
    ASSERT_TRUE(next.try_acquire()) << "round " << round;
  }
}

TEST_F(LockerThreads, NothingIsLeakedWhenAGrantMeetsATimeout) {
  std::atomic<int> acquired{0};
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < 3; ++i) {
      all.emplace_back([&, i] {
        SimbaLocker locker{"order", *factory_};
        for (int round = 0; round < 200; ++round) {
          if (locker.try_lock_for(std::chrono::microseconds{10 * (i + round % 7)})) {
            ++acquired;
            locker.unlock();
          }
        }
      });
    }
  }
  EXPECT_GT(acquired, 0);
  SimbaLocker next{"order", *factory_};
  EXPECT_TRUE(next.try_acquire());
}

TEST_F(LockerThreads, CloseFromManyThreadsReturnsWhenTheLockIsGivenBack) {
  for (int round = 0; round < 50; ++round) {
    SimbaLocker locker{"order", *factory_};
    locker.acquire();
    std::latch begun{3};
    std::vector<std::jthread> all;
    for (int i = 0; i < 3; ++i) {
      all.emplace_back([&] {
        begun.arrive_and_wait();
        locker.close();
        EXPECT_FALSE(locker.is_held());
      });
    }
  }
}

TEST_F(LockerThreads, MakingAndAcquiringALockStartsNoThread) {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator{"/proc/self/task"}, {});
  };
  const auto before = threads();
  std::vector<std::unique_ptr<SimbaLocker>> lockers;
  for (int i = 0; i < 50; ++i) {
    lockers.push_back(std::make_unique<SimbaLocker>("order-" + std::to_string(i), *factory_));
    lockers.back()->acquire();
  }
  EXPECT_EQ(threads(), before);
}

TEST_F(LockerThreads, AForkedChildNeitherHoldsNorReleasesNorHangs) {
  auto holder = std::make_unique<SimbaLocker>("order", *factory_);
  holder->acquire();
  auto waiter = std::make_unique<SimbaLocker>("order", *factory_);
  std::jthread waiting{[&] { EXPECT_THROW(waiter->acquire(), IllegalStateError); }};

  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);  // a child that hangs is killed
    int wrong = 0;
    wrong += holder->is_held() ? 1 : 0;
    wrong += holder->lost().stop_requested() ? 0 : 2;
    holder->close();
    try {
      static_cast<void>(holder->try_acquire());
      wrong += 4;
    } catch (const IllegalStateError&) {
    }
    holder.reset();
    waiter.reset();
    ::_exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(holder->is_held());
  // A close that comes before the acquire ends nothing, so it is repeated.
  std::atomic<bool> ended{false};
  const std::jthread closing{[&] {
    while (!ended) waiter->close();
  }};
  waiting.join();
  ended = true;
}

}  // namespace
}  // namespace simba
