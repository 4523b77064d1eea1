#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include <gtest/gtest.h>

#include "simba/core/error.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/locker/simba_locker.hpp"
#include "simba/memory/memory_store.hpp"
#include "simba/schedule/scheduler.hpp"
#include "simba/testkit/fault_store.hpp"
#include "simba/testkit/manual_runtime.hpp"

namespace simba::schedule_test {

/// Schedulers of the mutex "clean" in virtual time.
class SchedulerFixture : public ::testing::Test {
 protected:
  // What is still to be given back is, or its lease ends: until then it keeps itself alive.
  ~SchedulerFixture() override {
    other_.close();
    store_->mend();
    world_.advance(std::chrono::minutes{1});
  }

  /// Work that notes when it began, counted from the beginning of the test.
  Scheduler::Work noting() {
    return [this](const std::stop_token&) { runs_.push_back(world_.now() - begin_); };
  }

  /// The same, and it takes this long.
  Scheduler::Work lasting(std::chrono::nanoseconds time) {
    return [this, time](const std::stop_token&) {
      runs_.push_back(world_.now() - begin_);
      world_.clock().advance(time);
    };
  }

  /// Goes on until the next run waits for a thread.
  bool run_is_queued() {
    return world_.run_until([&] { return world_.workers().size() == 1; }, std::chrono::minutes{1});
  }

  bool scheduler_leads() const { return leads_(); }

  testkit::ManualRuntime world_;
  const LocalTime begin_ = world_.now();
  const std::shared_ptr<testkit::FaultStore> store_ = std::make_shared<testkit::FaultStore>(
      std::make_shared<memory::MemoryStore>(world_.runtime()->clock));
  engine::LeaseServiceFactory factory_{store_, world_.runtime()};
  SimbaLocker other_{"clean", factory_, "other"};
  std::vector<std::chrono::nanoseconds> runs_;
  std::function<bool()> leads_;
};

}  // namespace simba::schedule_test
