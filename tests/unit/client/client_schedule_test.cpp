// Schedules of a client whose slots are shared, as a program sees them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/slot_record.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/memory/memory_factory.hpp"
#include "simba/memory/memory_store.hpp"
#include "simba/simba.hpp"
#include "simba/testkit/capturing_logger.hpp"
#include "simba/testkit/fault_store.hpp"
#include "simba/testkit/manual_runtime.hpp"
#include "support/safety.hpp"
#include "unit/core/own_threads.hpp"

namespace simba {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::SizeIs;

class ClientSchedule : public ::testing::Test {
 protected:
  static ContentionOptions options() {
    ContentionOptions options;
    options.ttl = 10min;
    return options;
  }

  testkit::ManualRuntime world_;
  const std::shared_ptr<testkit::FaultStore> store_ = std::make_shared<testkit::FaultStore>(
      std::make_shared<memory::MemoryStore>(world_.runtime()->clock));
  const Client client_{
      std::make_shared<engine::LeaseServiceFactory>(store_, world_.runtime(), options())};
  const Client other_{
      std::make_shared<engine::LeaseServiceFactory>(store_, world_.runtime(), options())};
};

TEST_F(ClientSchedule, TellsTheWorkOfItsSlotAndEveryoneOfItsRuns) {
  std::vector<Slot> slots;
  const auto schedule =
      client_.schedule("cleanup", cron("*/10 * * * *"), [&](const simba::Run& run) {
        slots.push_back(*run.slot());
        EXPECT_GT(run.fencing_token(), 0U);
        EXPECT_GT(run.lease_left(), 0s);
        if (run.slot()->number == 2) throw RunFailure{"no space left", 28};
      });
  world_.advance(21min);
  ASSERT_THAT(slots, SizeIs(2));
  EXPECT_EQ(slots[1].time - slots[0].time, 10min);
  const auto runs = other_.runs("cleanup");
  ASSERT_THAT(runs, SizeIs(2));
  EXPECT_EQ(runs[0].slot, "2026-01-01T00:10:00Z");
  EXPECT_EQ(runs[0].outcome, RunOutcome::succeeded);
  EXPECT_EQ(runs[1].outcome, RunOutcome::failed);
  EXPECT_EQ(runs[1].exit_code, 28);
  EXPECT_EQ(other_.schedules().report("cleanup").definition, "*/10 * * * * in UTC");
}

TEST_F(ClientSchedule, IsPausedResumedAndTriggeredByOthers) {
  int runs = 0;
  const auto schedule =
      client_.schedule("cleanup", every(1min, SlotOptions{}), [&](const simba::Run&) { ++runs; });
  world_.advance(1s);
  EXPECT_EQ(runs, 1);
  other_.schedules().pause("cleanup");
  world_.advance(5min);
  EXPECT_EQ(runs, 1);
  other_.schedules().trigger("cleanup");
  world_.advance(11s);
  EXPECT_EQ(runs, 2);
  other_.schedules().resume("cleanup");
  world_.advance(11s);
  EXPECT_EQ(runs, 3) << "the latest of those missed";
}

TEST_F(ClientSchedule, TellsOfItsLeadershipAndOfSlots) {
  std::vector<std::string> told;
  auto schedule = client_.schedule(
      "cleanup", every(1h, SlotOptions{}),
      [](const simba::Run&) { throw std::runtime_error{"no"}; },
      {.on_acquired = [&] { told.emplace_back("acquired"); },
       .on_lost = [&] { told.emplace_back("lost"); },
       .on_slot = [&](const SlotEvent& event) { told.push_back(to_string(event)); }});
  world_.advance(1s);
  schedule.stop();
  EXPECT_THAT(told, ElementsAre("acquired",
                                "schedule [cleanup]: run 1 (slot 2026-01-01T00:00:00Z, attempt 1) "
                                "failed; it will not be repeated: no",
                                "lost"));
}

TEST_F(ClientSchedule, MayBeStoppedAndDestroyedInEachOfItsCallbacks) {
  enum class In { acquired, lost, slot, work };
  for (const In in : {In::acquired, In::lost, In::slot, In::work}) {
    for (const bool destroys : {false, true}) {
      std::optional<Schedule> schedule;
      int ended = 0;
      const auto end_in = [&](In here) {
        if (here != in || ended > 0) return;
        ++ended;
        if (destroys) {
          schedule.reset();
        } else {
          schedule->stop();
        }
      };
      schedule.emplace(client_.schedule("cleanup", every(1h, SlotOptions{}),
                                        [&](const simba::Run&) {
                                          end_in(In::work);
                                          throw std::runtime_error{"no"};
                                        },
                                        {.on_acquired = [&] { end_in(In::acquired); },
                                         .on_lost = [&] { end_in(In::lost); },
                                         .on_slot = [&](const SlotEvent&) { end_in(In::slot); }}));
      world_.advance(5s);
      if (in == In::lost) schedule->stop();
      world_.advance(1min);
      EXPECT_EQ(client_.owner("cleanup"), MutexOwner::none()) << static_cast<int>(in);
      EXPECT_EQ(schedule && schedule->is_leader(), false);
      schedule.reset();
      world_.advance(1h);
    }
  }
}

TEST_F(ClientSchedule, TenThousandThatWaitAskTheStoreOnceInTenSecondsAllAtTheSameMoment) {
  std::vector<Schedule> schedules;
  for (int i = 0; i < 10'000; ++i) {
    schedules.push_back(client_.schedule("cleanup/" + std::to_string(i), cron("0 12 * * *"),
                                         [](const simba::Run&) {}));
  }
  world_.advance(15s);
  const auto requests = [this] {
    return store_->count(testkit::Operation::read_record) +
           store_->count(testkit::Operation::write_record);
  };
  std::set<std::chrono::seconds> moments;
  const auto before = requests();
  for (int i = 0; i < 60; ++i) {
    const auto count = requests();
    world_.advance(1s);
    if (requests() != count) moments.insert(std::chrono::seconds{i});
  }
  EXPECT_THAT(moments, SizeIs(6));
  EXPECT_EQ(requests() - before, 60'000U);
}

TEST(ClientScheduleThreads, TenThousandHaveNoMoreThreadsThanOne) {
  const Client client{memory::make_memory_factory(
      {.runtime = make_runtime({.log = std::make_shared<testkit::CapturingLogger>()})})};
  std::vector<Schedule> schedules;
  const auto lead = [&](int count) {
    for (int i = 0; i < count; ++i) {
      schedules.push_back(client.schedule("cleanup/" + std::to_string(schedules.size()),
                                          every(1h, SlotOptions{}), [](const simba::Run&) {}));
    }
    return test::eventually([&] {
      return std::all_of(schedules.begin(), schedules.end(),
                         [](const Schedule& one) { return one.is_leader(); });
    });
  };
  ASSERT_TRUE(lead(1));
  const auto threads = test::threads_named("simba-");
  ASSERT_TRUE(lead(9'999));
  EXPECT_LE(test::threads_named("simba-"), threads + 4) << "work and callbacks may borrow some";
}

/// Four processes, as it were, whose schedules come and go at random.
TEST(ClientScheduleThreads, LeadersThatComeAndGoAtRandomAccountForEachSlotOnceAndInOrder) {
  const auto runtime = make_runtime({.log = std::make_shared<testkit::CapturingLogger>()});
  const auto store = std::make_shared<memory::MemoryStore>(runtime->clock);
  std::mutex mutex;
  std::vector<Slot> begun;
  std::atomic<int> running{0};
  std::atomic<int> overlaps{0};
  std::atomic<int> late{0};
  std::atomic<std::uint64_t> passed_over{0};
  const auto process = [&](unsigned seed) {
    std::minstd_rand random{seed};
    const Client client{memory::make_memory_factory({.store = store, .runtime = runtime})};
    for (int i = 0; i < 60; ++i) {
      std::atomic<bool> over{false};
      {
        auto schedule = client.schedule("cleanup", every(5ms, SlotOptions{}),
                                        [&](const simba::Run& run) {
                                          if (running.fetch_add(1) != 0) ++overlaps;
                                          if (over) ++late;
                                          {
                                            const std::lock_guard lock{mutex};
                                            begun.push_back(*run.slot());
                                          }
                                          running.fetch_sub(1);
                                          if (run.slot()->number % 3 == 0)
                                            throw std::runtime_error{"no"};
                                        },
                                        {.on_slot = [&](const SlotEvent& event) {
                                          using Kind = SlotEvent::Kind;
                                          late += over ? 1 : 0;
                                          const bool happens_not = event.kind == Kind::missed ||
                                                                   event.kind == Kind::skipped;
                                          passed_over += happens_not ? event.count : 0;
                                        }});
        std::this_thread::sleep_for(std::chrono::microseconds{random() % 20'000});
        if (random() % 2 == 0) schedule.stop();
      }
      over = true;
    }
  };
  {
    std::vector<std::jthread> processes;
    for (unsigned seed = 1; seed <= 4; ++seed) processes.emplace_back(process, seed);
  }
  EXPECT_EQ(overlaps, 0) << support::safety_violation << "two runs at the same time";
  EXPECT_EQ(late, 0) << support::safety_violation << "a callback after stop";
  EXPECT_GT(begun.size(), 10U);
  for (std::size_t i = 1; i < begun.size(); ++i) {
    EXPECT_GT(begun[i].number, begun[i - 1].number) << support::safety_violation << "begun twice";
    EXPECT_GT(begun[i].time, begun[i - 1].time) << support::safety_violation << "out of order";
  }
  const auto factory = memory::make_memory_factory({.store = store, .runtime = runtime});
  std::promise<MutexRecord> answered;
  factory->records()->read("cleanup", [&](const RecordResult& result) {
    answered.set_value(std::get<RecordAnswer>(result).record);
  });
  const auto record = detail::parse_slot_record(answered.get_future().get().text, "cleanup");
  const auto settled = static_cast<std::uint64_t>((record.settled - record.anchor) / 5ms + 1);
  const auto to_come = (record.retry ? 1U : 0U) + (record.owed ? 1U : 0U);
  EXPECT_EQ(begun.size() + passed_over + to_come, settled)
      << "a slot is unaccounted for: " << detail::to_text(record);
}

}  // namespace
}  // namespace simba
