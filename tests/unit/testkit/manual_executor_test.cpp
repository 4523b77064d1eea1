#include "simba/testkit/manual_executor.hpp"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simba::testkit {
namespace {

using testing::ElementsAre;

TEST(ManualExecutor, RunsNothingUntilItIsTold) {
  ManualExecutor executor;
  int runs = 0;
  executor.execute([&] { ++runs; });
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(executor.size(), 1U);
  EXPECT_TRUE(executor.run_one());
  EXPECT_EQ(runs, 1);
  EXPECT_FALSE(executor.run_one());
}

TEST(ManualExecutor, RunsTasksInOrderAndThoseAddedMeanwhile) {
  ManualExecutor executor;
  std::vector<int> order;
  executor.execute([&] {
    order.push_back(1);
    executor.execute([&] { order.push_back(3); });
  });
  executor.execute([&] { order.push_back(2); });
  EXPECT_EQ(executor.run_all(), 3U);
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

TEST(ManualExecutor, ATaskMayRunTheOthersItself) {
  ManualExecutor executor;
  std::vector<int> order;
  executor.execute([&] {
    executor.run_all();
    order.push_back(1);
  });
  executor.execute([&] { order.push_back(2); });
  EXPECT_EQ(executor.run_all(), 1U);
  EXPECT_THAT(order, ElementsAre(2, 1));
}

TEST(ManualExecutor, ATaskThatThrowsIsGoneAndTheOthersStay) {
  ManualExecutor executor;
  executor.execute([] { throw std::runtime_error{"no"}; });
  executor.execute([] {});
  EXPECT_THROW(executor.run_all(), std::runtime_error);
  EXPECT_EQ(executor.run_all(), 1U);
}

TEST(ManualExecutor, BelongsToTheThreadThatMadeIt) {
  ManualExecutor executor;
  EXPECT_TRUE(executor.running_in_this_thread());
  bool elsewhere = true;
  std::jthread{[&] { elsewhere = executor.running_in_this_thread(); }}.join();
  EXPECT_FALSE(elsewhere);
}

TEST(ManualExecutor, DestroysWhatIsLeftWithoutRunningIt) {
  const auto held = std::make_shared<int>(0);
  {
    ManualExecutor executor;
    executor.execute([held] { ++*held; });
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(*held, 0);
}

TEST(ManualExecutor, DiscardsAlsoWhatATaskQueuesWhileItIsDestroyed) {
  ManualExecutor executor;
  struct Parting {
    explicit Parting(ManualExecutor& e) : executor{e} {}
    Parting(const Parting&) = delete;
    Parting& operator=(const Parting&) = delete;
    ~Parting() {
      executor.execute([] {});
    }
    ManualExecutor& executor;
  };
  executor.execute([held = std::make_shared<Parting>(executor)] {});
  EXPECT_EQ(executor.discard(), 2U);
  EXPECT_EQ(executor.size(), 0U);
}

TEST(ManualExecutor, TakesTasksOfManyThreads) {
  ManualExecutor executor;
  std::atomic<int> runs{0};
  {
    std::vector<std::jthread> threads;
    threads.reserve(3);
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 500; ++n) {
          executor.execute([&] { ++runs; });
          executor.run_one();
        }
      });
    }
  }
  executor.run_all();
  EXPECT_EQ(runs, 1500);
}

}  // namespace
}  // namespace simba::testkit
