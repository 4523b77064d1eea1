#include "simba/testkit/manual_timers.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace simba::testkit {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

class ManualTimersTest : public testing::Test {
 protected:
  static constexpr LocalTime at(int second) { return LocalTime{std::chrono::seconds{second}}; }

  std::unique_ptr<Timer> timer(const std::string& name) {
    return timers_.create([this, name] { fired_.push_back(name); });
  }

  void fire_all(LocalTime now) {
    while (timers_.fire_next(now)) {
    }
  }

  ManualTimers timers_;
  std::vector<std::string> fired_;
};

TEST_F(ManualTimersTest, NothingIsDueWhenNothingIsArmed) {
  const auto a = timer("a");
  EXPECT_EQ(timers_.next_due(), never);
  EXPECT_FALSE(timers_.fire_next(at(100)));
}

TEST_F(ManualTimersTest, FireInTheOrderOfTimeThenOfArming) {
  const auto a = timer("a");
  const auto b = timer("b");
  const auto c = timer("c");
  const auto d = timer("d");
  a->arm(at(3));
  b->arm(at(1));
  c->arm(at(1));
  d->arm(at(9));
  EXPECT_EQ(timers_.next_due(), at(1));
  fire_all(at(3));
  EXPECT_THAT(fired_, ElementsAre("b", "c", "a"));
  EXPECT_EQ(timers_.next_due(), at(9));
}

TEST_F(ManualTimersTest, ATimerNeverFiresInsideArm) {
  const auto a = timer("a");
  a->arm(LocalTime{});
  EXPECT_THAT(fired_, ElementsAre());
  EXPECT_TRUE(timers_.fire_next(at(1)));
  EXPECT_THAT(fired_, ElementsAre("a"));
}

TEST_F(ManualTimersTest, ATimerFiresOncePerArming) {
  const auto a = timer("a");
  a->arm(at(1));
  a->arm(at(2));
  EXPECT_FALSE(timers_.fire_next(at(1)));
  fire_all(at(5));
  fire_all(at(9));
  EXPECT_THAT(fired_, ElementsAre("a"));
}

TEST_F(ManualTimersTest, ACancelledOrDestroyedTimerDoesNotFire) {
  const auto a = timer("a");
  auto b = timer("b");
  a->arm(at(1));
  b->arm(at(1));
  a->cancel();
  b.reset();
  fire_all(at(5));
  EXPECT_THAT(fired_, ElementsAre());
}

TEST_F(ManualTimersTest, ATimerMayArmItselfAgainWhileItFires) {
  int left = 3;
  std::unique_ptr<Timer> a;
  a = timers_.create([&] {
    if (--left > 0) {
      a->arm(at(1));
    }
  });
  a->arm(at(1));
  fire_all(at(1));
  EXPECT_EQ(left, 0);
}

TEST_F(ManualTimersTest, ATimerMayDestroyItselfAndOthersWhileItFires) {
  auto b = timer("b");
  std::unique_ptr<Timer> a;
  const auto held = std::make_shared<int>(1);
  a = timers_.create([&, held] {
    a.reset();
    b.reset();
    EXPECT_EQ(*held, 1) << "its function lives until it returns";
  });
  a->arm(at(1));
  b->arm(at(2));
  fire_all(at(5));
  EXPECT_THAT(fired_, ElementsAre());
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(ManualTimersTest, ATimerMayFireTheOthersItself) {
  const auto b = timer("b");
  const auto a = timers_.create([&] { fire_all(at(5)); });
  a->arm(at(1));
  b->arm(at(2));
  fire_all(at(1));
  EXPECT_THAT(fired_, ElementsAre("b"));
}

TEST(ManualTimers, ATimerMayOutliveItsService) {
  auto timers = std::make_unique<ManualTimers>();
  const auto timer = timers->create([] {});
  timers.reset();
  timer->arm(LocalTime{1s});
}

}  // namespace
}  // namespace simba::testkit
