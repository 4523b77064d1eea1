// Schedules that follow the wall clock, in virtual time.
#include <chrono>
#include <memory>
#include <string>

#include <gmock/gmock.h>

#include "simba/client/schedule.hpp"
#include "unit/schedule/scheduler_fixture.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using schedule_test::SchedulerFixture;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// The clock on the wall shows midnight when the test begins.
class WallClockSchedule : public SchedulerFixture {
 protected:
  void set_wall(std::chrono::nanoseconds of_day) {
    world_.clock().set_wall(
        midnight_ + std::chrono::duration_cast<std::chrono::system_clock::duration>(of_day));
  }

  const std::chrono::system_clock::time_point midnight_ = world_.clock().wall_now();
};

TEST_F(WallClockSchedule, RunsAtTheTimesOfItsExpression) {
  Scheduler scheduler{"clean", factory_, ScheduleConfig::wall_clock(Cron{"*/20 * * * *"}),
                      noting()};
  scheduler.start();
  world_.advance(65min);
  EXPECT_THAT(runs_, ElementsAre(20min, 40min, 60min));
}

TEST_F(WallClockSchedule, ATimeAtWhichItBecomesLeaderBelongsToTheLeaderBefore) {
  Scheduler scheduler{"clean", factory_, ScheduleConfig::wall_clock(Cron{"0 * * * *"}), noting()};
  scheduler.start();
  world_.advance(1min);
  EXPECT_THAT(runs_, IsEmpty());
}

TEST_F(WallClockSchedule, TimesThatPassDuringARunAreSkipped) {
  Scheduler scheduler{"clean", factory_, ScheduleConfig::wall_clock(Cron{"*/20 * * * *"}),
                      lasting(45min)};
  scheduler.start();
  world_.advance(90min);
  EXPECT_THAT(runs_, ElementsAre(20min, 80min));
}

TEST_F(WallClockSchedule, TimesThatPassWhileItDoesNotLeadAreSkipped) {
  ASSERT_TRUE(other_.try_acquire());
  Scheduler scheduler{"clean", factory_, ScheduleConfig::wall_clock(Cron{"*/20 * * * *"}),
                      noting()};
  scheduler.start();
  world_.advance(30min);
  EXPECT_THAT(runs_, IsEmpty());
  other_.close();
  world_.advance(30min);
  EXPECT_THAT(runs_, ElementsAre(40min, 60min));
}

TEST_F(WallClockSchedule, AClockThatIsSetBackRepeatsNothing) {
  Scheduler scheduler{"clean", factory_, ScheduleConfig::wall_clock(Cron{"*/20 * * * *"}),
                      noting()};
  scheduler.start();
  world_.advance(41min);
  set_wall(10min);
  world_.advance(61min);
  EXPECT_THAT(runs_, ElementsAre(20min, 40min, 41min + 50min));
}

TEST_F(WallClockSchedule, AClockThatIsSetBackRepeatsNothingInTheNextTermEither) {
  Scheduler scheduler{"clean", factory_, ScheduleConfig::wall_clock(Cron{"*/20 * * * *"}),
                      noting()};
  scheduler.start();
  world_.advance(21min);
  scheduler.stop();
  set_wall(10min);
  scheduler.start();
  world_.advance(31min);
  EXPECT_THAT(runs_, ElementsAre(20min, 21min + 30min));
}

TEST_F(WallClockSchedule, AClockThatIsSetForwardIsNoticedWithinHalfAMinute) {
  Scheduler scheduler{"clean", factory_, ScheduleConfig::wall_clock(Cron{"0 12 * * *"}), noting()};
  scheduler.start();
  world_.advance(1min);
  set_wall(11h + 59min + 50s);
  world_.advance(2min);
  ASSERT_EQ(runs_.size(), 1U);
  EXPECT_GE(runs_.front(), 1min + 10s);
  EXPECT_LE(runs_.front(), 1min + 30s);
}

TEST_F(WallClockSchedule, AClockThatIsSetBackBeforeTheFirstRunMovesIt) {
  Scheduler scheduler{"clean", factory_, ScheduleConfig::wall_clock(Cron{"0 12 * * *"}), noting()};
  set_wall(11h + 58min);
  scheduler.start();
  world_.advance(1min);
  set_wall(11h);
  world_.advance(2h);
  EXPECT_THAT(runs_, ElementsAre(1min + 1h));
}

TEST_F(WallClockSchedule, IsDescribedByItsExpression) {
  EXPECT_EQ(to_string(ScheduleConfig::wall_clock(Cron{"0 3 * * *", "Europe/Berlin"})),
            "0 3 * * * in Europe/Berlin");
}

}  // namespace
}  // namespace simba
