// Work that only the leader does.
#include "simba/schedule/scheduler.hpp"

#include <atomic>
#include <stdexcept>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "testkit/contract/member.hpp"

namespace simba::testkit::detail {
namespace {

using std::chrono::milliseconds;

/// Counts runs, and how many ran at the same time.
class Work {
 public:
  void run() {
    const int now = ++running_;
    int before = most_;
    while (before < now && !most_.compare_exchange_weak(before, now)) {
    }
    ++runs_;
    --running_;
  }

  int runs() const { return runs_; }
  int most_at_once() const { return most_; }

 private:
  std::atomic<int> running_{0};
  std::atomic<int> most_{0};
  std::atomic<int> runs_{0};
};

/// Counts losses of the mutex: whoever has lost it may still be at work when the next one begins.
class Losses {
 public:
  SchedulerOptions counted() {
    return {.on_event = [this](MutexContendService&, const ContentionEvent& event) {
      if (std::holds_alternative<OwnershipLost>(event)) {
        ++count_;
      }
    }};
  }

  /// Begins a message about two at work at once.
  const char* word() const { return count_ == 0 ? safety_violation : ""; }

 private:
  std::atomic<int> count_{0};
};

/// Some schedulers of one mutex, each in a factory of its own.
struct Team {
  struct Worker {
    std::unique_ptr<MutexServiceFactory> factory;
    std::atomic<int> runs{0};
    std::unique_ptr<Scheduler> scheduler;
  };

  Team(Contract& contract, std::size_t size) {
    const std::string mutex = contract.fresh_name();
    for (std::size_t i = 0; i < size; ++i) {
      workers.push_back(std::make_unique<Worker>());
      Worker& worker = *workers.back();
      worker.factory = contract.factory();
      worker.scheduler = std::make_unique<Scheduler>(
          mutex, *worker.factory, ScheduleConfig::delay(milliseconds{0}, milliseconds{2}),
          [this, &worker](const std::stop_token&) {
            work.run();
            ++worker.runs;
          },
          losses.counted());
    }
  }

  Worker* leader(const Contract& contract) const {
    Worker* found = nullptr;
    contract.eventually([&] {
      for (const auto& worker : workers) {
        if (worker->runs > 0 && worker->scheduler->is_leader()) {
          found = worker.get();
        }
      }
      return found != nullptr;
    });
    return found;
  }

  Work work;
  Losses losses;
  std::vector<std::unique_ptr<Worker>> workers;
};

void a_scheduler_runs_on_the_leader_only(Contract& contract) {
  Team team{contract, 3};
  for (const auto& worker : team.workers) {
    worker->scheduler->start();
  }
  Team::Worker* leader = team.leader(contract);
  ASSERT_NE(leader, nullptr);
  EXPECT_TRUE(contract.eventually([&] { return leader->runs >= 20; }));
  for (const auto& worker : team.workers) {
    EXPECT_EQ(worker->scheduler->is_leader(), worker.get() == leader);
    if (worker.get() != leader) {
      EXPECT_EQ(worker->runs, 0) << team.losses.word() << "two leaders";
    }
  }
  EXPECT_EQ(team.work.most_at_once(), 1) << team.losses.word() << "two at work at once";
}

void another_scheduler_goes_on_when_the_leader_stops(Contract& contract) {
  Team team{contract, 3};
  for (const auto& worker : team.workers) {
    worker->scheduler->start();
  }
  for (std::size_t left = team.workers.size(); left > 0; --left) {
    Team::Worker* leader = team.leader(contract);
    ASSERT_NE(leader, nullptr);
    EXPECT_TRUE(contract.eventually([&] { return leader->runs >= 3; }));
    leader->scheduler->stop();
    const int runs = leader->runs;
    EXPECT_FALSE(leader->scheduler->is_leader());
    leader->runs = 0;  // not to be found as leader again
    EXPECT_GE(runs, 3);
  }
  for (const auto& worker : team.workers) {
    EXPECT_EQ(worker->runs, 0) << safety_violation << "it worked after stop() had returned";
  }
  EXPECT_EQ(team.work.most_at_once(), 1) << team.losses.word() << "two at work at once";
}

/// The work ignores the request to stop for longer than the lease.
void work_has_ended_before_the_next_leader_begins(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  const auto lease = contract.short_lease();
  const auto one = contract.factory(lease);
  const auto another = contract.factory(lease);
  Gate begun;
  std::atomic<int> runs_elsewhere{0};
  std::atomic<bool> overtaken{true};
  std::atomic<bool> stop_requested{false};
  LocalTime leased_until{};  // by what the owner was told last
  bool within_its_lease = true;
  Scheduler* owner = nullptr;
  Scheduler stubborn{mutex, *one, ScheduleConfig::delay(milliseconds{0}, milliseconds{1}),
                     [&](const std::stop_token& stop) {
                       begun.open();
                       stop_requested = contract.eventually([&] { return stop.stop_requested(); });
                       overtaken = contract.within(length(lease) * 3 / 2, [&] {
                         const LocalTime asked = contract.now();
                         const auto left = owner->lease_left();
                         if (left > std::chrono::nanoseconds::zero()) leased_until = asked + left;
                         return runs_elsewhere > 0;
                       });
                       within_its_lease = contract.now() < leased_until;
                     }};
  owner = &stubborn;
  Scheduler next{mutex, *another, ScheduleConfig::rate(milliseconds{0}, milliseconds{1}),
                 [&](const std::stop_token&) { ++runs_elsewhere; }};
  stubborn.start();
  ASSERT_TRUE(begun.wait_for(contract.patience()));
  next.start();
  stubborn.stop();
  EXPECT_TRUE(stop_requested);
  EXPECT_FALSE(overtaken) << (within_its_lease ? safety_violation : "")
                          << "the next one began before its work had ended";
  EXPECT_TRUE(contract.eventually([&] { return runs_elsewhere > 0; }));
}

void work_that_throws_runs_again(Contract& contract) {
  const auto factory = contract.factory();
  std::atomic<int> runs{0};
  Scheduler scheduler{contract.fresh_name(), *factory,
                      ScheduleConfig::delay(milliseconds{0}, milliseconds{1}),
                      [&](const std::stop_token&) {
                        ++runs;
                        throw std::runtime_error{"thrown by the test"};
                      }};
  scheduler.start();
  EXPECT_TRUE(contract.eventually([&] { return runs >= 3; }));
  EXPECT_TRUE(scheduler.is_leader());
  scheduler.stop();
  const int before = runs;
  EXPECT_FALSE(scheduler.running());
  scheduler.start();
  EXPECT_TRUE(contract.eventually([&] { return runs > before; }));
}

/// Cut off, the leader stops working before another begins.
void a_leader_that_is_cut_off_stops_working(Contract& contract) {
  const std::string mutex = contract.fresh_name();
  auto lease = contract.short_lease();
  lease.margin = (lease.ttl + lease.transition) / 4;
  const auto one = contract.cuttable_factory(lease);
  const auto another = contract.factory(lease);
  Gate begun;
  Gate ended;
  Gate taken_over;
  Scheduler cut_off{mutex, *one, ScheduleConfig::delay(milliseconds{0}, milliseconds{1}),
                    [&](const std::stop_token& stop) {
                      begun.open();
                      EXPECT_TRUE(contract.eventually([&] { return stop.stop_requested(); }));
                      ended.open();
                    }};
  std::atomic<bool> ended_first{false};
  Scheduler next{mutex, *another, ScheduleConfig::delay(milliseconds{0}, milliseconds{1}),
                 [&](const std::stop_token&) {
                   if (!taken_over.is_open()) {
                     ended_first = ended.is_open();
                   }
                   taken_over.open();
                 }};
  cut_off.start();
  ASSERT_TRUE(begun.wait_for(contract.patience()));
  next.start();
  one.cut();
  ASSERT_TRUE(taken_over.wait_for(contract.patience()));
  next.stop();
  EXPECT_TRUE(ended_first);
}

}  // namespace

ContractCases scheduler_cases() {
  return {
      {"ASchedulerRunsOnTheLeaderOnly", a_scheduler_runs_on_the_leader_only},
      {"AnotherSchedulerGoesOnWhenTheLeaderStops", another_scheduler_goes_on_when_the_leader_stops},
      {"WorkHasEndedBeforeTheNextLeaderBegins", work_has_ended_before_the_next_leader_begins},
      {"WorkThatThrowsRunsAgain", work_that_throws_runs_again},
      {"ALeaderThatIsCutOffStopsWorking",
       a_leader_that_is_cut_off_stops_working,
       {Capability::cut_off}},
  };
}

}  // namespace simba::testkit::detail
