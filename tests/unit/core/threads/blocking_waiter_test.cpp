#include "core/threads/blocking_waiter.hpp"

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "unit/core/doubles.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;

/// Moves on by a step each time someone looks at it.
class SteppingClock final : public Clock {
 public:
  explicit SteppingClock(std::chrono::nanoseconds step) : step_{step} {}
  LocalTime now() const noexcept override { return LocalTime{step_ * readings_++}; }
  int readings() const { return readings_; }

 private:
  const std::chrono::nanoseconds step_;
  mutable std::atomic<int> readings_{0};
};

class BlockingWaiter : public testing::Test {
 protected:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<test::FixedClock> clock_ = std::make_shared<test::FixedClock>();
  std::shared_ptr<Waiter> waiter_ = detail::make_blocking_waiter(clock_);
};

TEST_F(BlockingWaiter, DoesNotWaitForWhatIsReady) {
  std::unique_lock lock{mutex_};
  EXPECT_TRUE(waiter_->wait_until(lock, changed_, test::at(0s), [] { return true; }));
  EXPECT_TRUE(waiter_->wait_until(lock, changed_, never, [] { return true; }));
  EXPECT_TRUE(lock.owns_lock());
}

TEST_F(BlockingWaiter, GivesUpAtTheDeadline) {
  clock_->set(5s);
  std::unique_lock lock{mutex_};
  EXPECT_FALSE(waiter_->wait_until(lock, changed_, test::at(5s), [] { return false; }));
  EXPECT_TRUE(lock.owns_lock());
}

TEST_F(BlockingWaiter, LooksAtItsClockAgainAfterEachSlice) {
  const auto clock = std::make_shared<SteppingClock>(1ms);
  std::unique_lock lock{mutex_};
  EXPECT_FALSE(detail::make_blocking_waiter(clock)->wait_until(lock, changed_, test::at(3ms),
                                                               [] { return false; }));
  EXPECT_EQ(clock->readings(), 4);
}

TEST_F(BlockingWaiter, WakesWhenTheConditionBecomesTrue) {
  for (const LocalTime deadline : {never, never - 1ns, test::at(1h)}) {
    bool ready = false;
    std::promise<void> waiting;
    std::jthread other{[&] {
      waiting.get_future().wait();
      const std::lock_guard lock{mutex_};
      ready = true;
      changed_.notify_all();
    }};
    std::unique_lock lock{mutex_};
    bool asked = false;
    EXPECT_TRUE(waiter_->wait_until(lock, changed_, deadline, [&] {
      if (!asked) waiting.set_value();
      asked = true;
      return ready;
    }));
  }
}

TEST_F(BlockingWaiter, GoesOnWaitingWhenItIsWokenForNothing) {
  int asked = 0;
  std::jthread other{[&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const std::lock_guard lock{mutex_};
      changed_.notify_all();
    }
  }};
  std::unique_lock lock{mutex_};
  EXPECT_TRUE(waiter_->wait_until(lock, changed_, never, [&] { return ++asked == 5; }));
  EXPECT_EQ(asked, 5);
}

}  // namespace
}  // namespace simba
