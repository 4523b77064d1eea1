// What the work may do to its own scheduler.
#include <memory>
#include <optional>
#include <stop_token>

#include <gmock/gmock.h>

#include "unit/schedule/scheduler_fixture.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using schedule_test::SchedulerFixture;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class SchedulerFromWork : public SchedulerFixture {
 protected:
  /// Starts a scheduler whose work is `work`, and lets it run for a minute.
  void run(Scheduler::Work work) {
    scheduler_.emplace("clean", factory_, ScheduleConfig::rate(0s, 1s),
                       [this, work = std::move(work)](std::stop_token stop) {
                         ++count_;
                         work(std::move(stop));
                       });
    scheduler_->start();
    world_.advance(1min);
  }

  std::optional<Scheduler> scheduler_;
  int count_ = 0;
};

TEST_F(SchedulerFromWork, StopReturnsAtOnceAndTakesEffectWhenTheWorkReturns) {
  run([&](const std::stop_token& stop) {
    EXPECT_FALSE(stop.stop_requested());
    scheduler_->stop();
    EXPECT_TRUE(stop.stop_requested());
    EXPECT_FALSE(scheduler_->running());
    EXPECT_TRUE(scheduler_->is_leader());
    EXPECT_FALSE(other_.try_acquire()) << "the mutex is held while the work runs";
    world_.advance(1h);
    EXPECT_TRUE(scheduler_->is_leader()) << "and renewed";
  });
  EXPECT_EQ(count_, 1);
  EXPECT_FALSE(scheduler_->is_leader());
  EXPECT_TRUE(other_.try_acquire());
}

TEST_F(SchedulerFromWork, AfterStopItCanBeStoppedAgainButNotStarted) {
  run([&](const std::stop_token&) {
    scheduler_->stop();
    scheduler_->stop();
    EXPECT_THAT([&] { scheduler_->start(); },
                ThrowsMessage<IllegalStateError>(HasSubstr("it is being stopped")));
    scheduler_->close();
  });
  scheduler_->start();
  world_.advance(0s);
  EXPECT_EQ(count_, 2);
}

TEST_F(SchedulerFromWork, CloseIsStopThatMayBeRepeated) {
  run([&](const std::stop_token& stop) {
    scheduler_->close();
    scheduler_->close();
    EXPECT_TRUE(stop.stop_requested());
    EXPECT_FALSE(other_.try_acquire());
  });
  EXPECT_EQ(count_, 1);
  EXPECT_TRUE(other_.try_acquire());
}

TEST_F(SchedulerFromWork, ALossAfterStopIsNotFollowedByAnotherTerm) {
  run([&](const std::stop_token&) {
    scheduler_->stop();
    store_->cut();
    world_.advance(1min);
    EXPECT_FALSE(scheduler_->is_leader());
    store_->mend();
  });
  world_.advance(1min);
  EXPECT_EQ(count_, 1);
  EXPECT_TRUE(other_.try_acquire());
  scheduler_->start();
}

TEST_F(SchedulerFromWork, StopInTheStopSignalOfTheWorkIsFine) {
  run([&](const std::stop_token& stop) {
    const std::stop_callback on_stop{stop, [&] {
                                       scheduler_->stop();
                                       scheduler_->close();
                                     }};
    scheduler_->stop();
  });
  EXPECT_EQ(count_, 1);
  EXPECT_TRUE(other_.try_acquire());
}

TEST_F(SchedulerFromWork, TheSchedulerMayBeDestroyed) {
  auto alive = std::make_shared<int>();
  const std::weak_ptr<int> function = alive;
  run([this, alive = std::move(alive), &function](const std::stop_token& stop) {
    scheduler_.reset();
    EXPECT_TRUE(stop.stop_requested());
    EXPECT_FALSE(function.expired()) << "the function that runs still exists";
    EXPECT_FALSE(other_.try_acquire());
  });
  EXPECT_EQ(count_, 1);
  EXPECT_TRUE(function.expired());
  EXPECT_TRUE(other_.try_acquire());
}

/// A scheduler of a class of its own that deletes itself.
class OneShot final : public AbstractScheduler {
 public:
  OneShot(MutexContendServiceFactory& factory, int& runs)
      : AbstractScheduler{"clean", factory, ScheduleConfig::rate(0s, 1s)}, runs_{runs} {}
  ~OneShot() override { close(); }

 private:
  void work(std::stop_token /*stop*/) override {
    ++runs_;
    delete this;
  }

  int& runs_;
};

TEST_F(SchedulerFromWork, AnObjectOfADerivedClassMayDestroyItself) {
  int runs = 0;
  (new OneShot{factory_, runs})->start();
  world_.advance(1min);
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(other_.try_acquire());
}

TEST_F(SchedulerFromWork, AnotherSchedulerMayBeStopped) {
  Scheduler elsewhere{"elsewhere", factory_, ScheduleConfig::rate(0s, 1s), noting()};
  elsewhere.start();
  run([&](const std::stop_token&) { elsewhere.close(); });
  EXPECT_LE(runs_.size(), 1U);
  EXPECT_FALSE(elsewhere.running());
  EXPECT_GT(count_, 50);
}

}  // namespace
}  // namespace simba
