// That contentions use the timers of others, and do not notice.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "simba/client/client.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/memory/memory_store.hpp"
#include "simba/testkit/manual_runtime.hpp"

namespace simba::engine {
namespace {

using namespace std::chrono_literals;

class CountingTimers final : public TimerService {
 public:
  explicit CountingTimers(std::shared_ptr<TimerService> timers) : timers_{std::move(timers)} {}

  std::unique_ptr<Timer> create(std::function<void()> on_due) override {
    ++created;
    return timers_->create(std::move(on_due));
  }

  int created = 0;

 private:
  const std::shared_ptr<TimerService> timers_;
};

class AlarmsTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Runtime> make_runtime() const {
    auto runtime = std::make_shared<Runtime>(*world_.runtime());
    runtime->timers = timers_;
    return runtime;
  }

  testkit::ManualRuntime world_;
  const std::shared_ptr<CountingTimers> timers_ =
      std::make_shared<CountingTimers>(world_.runtime()->timers);
  const Client client_{std::make_shared<LeaseServiceFactory>(
      std::make_shared<memory::MemoryStore>(world_.runtime()->clock), make_runtime())};
};

TEST_F(AlarmsTest, LocksThatFollowEachOtherNeedOneTimer) {
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(client_.lock("order").unlock_confirmed());
  EXPECT_EQ(timers_->created, 1);
}

TEST_F(AlarmsTest, LocksThatAreHeldTogetherAreRenewedEachInItsTime) {
  std::vector<Lock> locks;
  for (const char* name : {"a", "b", "c"}) {
    locks.push_back(client_.lock(name));
    world_.advance(1s);
  }
  EXPECT_EQ(timers_->created, 3);
  world_.advance(5min);
  for (const Lock& lock : locks) EXPECT_TRUE(lock.held()) << lock.name();
}

TEST_F(AlarmsTest, ALockIsRenewedByATimerThatAnotherHasUsed) {
  std::optional<Lock> first = client_.lock("first");
  world_.advance(1s);
  first.reset();
  const Lock second = client_.lock("second");
  EXPECT_EQ(timers_->created, 1);
  world_.advance(5min);
  EXPECT_TRUE(second.held());
}

}  // namespace
}  // namespace simba::engine
