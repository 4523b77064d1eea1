#include "simba/testkit/manual_runtime.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "simba/core/error.hpp"
#include "simba/testkit/manual_timers.hpp"

namespace simba::testkit {

/// The parts and the loop that runs them. It knows no `Runtime`, so nothing here holds itself.
class ManualRuntime::World {
 public:
  /// Does the one thing that is ready and comes first. Says whether there was one.
  bool step_ready() {
    if (signals->run_one() || callbacks->run_one() || workers->run_one() ||
        timers->fire_next(clock->now())) {
      count_step();
      return true;
    }
    return false;
  }

  /// Does one thing that is ready, or else goes on to the next timer, or else to `deadline`. Says
  /// whether anything happened: false means that nothing is left and `deadline` is `never`.
  bool step(LocalTime deadline) {
    if (step_ready()) {
      return true;
    }
    const LocalTime next = std::min(timers->next_due(), deadline);
    if (next == never) {
      return false;
    }
    clock->set_at_least(next);
    return true;
  }

  LocalTime after(std::chrono::nanoseconds span) const {
    if (span < std::chrono::nanoseconds::zero()) {
      throw InvalidArgumentError{"time cannot go back (got " + std::to_string(span.count()) +
                                 " ns)"};
    }
    const LocalTime now = clock->now();
    return span < never - now ? now + span : never;
  }

  const std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  const std::shared_ptr<ManualTimers> timers = std::make_shared<ManualTimers>();
  const std::shared_ptr<ManualExecutor> callbacks = std::make_shared<ManualExecutor>();
  const std::shared_ptr<ManualExecutor> workers = std::make_shared<ManualExecutor>();
  const std::shared_ptr<ManualExecutor> signals = std::make_shared<ManualExecutor>();
  const std::shared_ptr<CapturingLogger> log = std::make_shared<CapturingLogger>();

 private:
  void count_step() {
    const LocalTime now = clock->now();
    steps_ = now == counted_at_ ? steps_ + 1 : 0;
    counted_at_ = now;
    if (steps_ > runaway_limit) {
      steps_ = 0;
      throw std::logic_error{"ManualRuntime: tasks and timers keep triggering each other"};
    }
  }

  LocalTime counted_at_{};
  std::size_t steps_ = 0;  // at counted_at_
};

namespace {

/// Runs `world` instead of blocking.
template <typename World>
class RunningWaiter final : public Waiter {
 public:
  explicit RunningWaiter(std::shared_ptr<World> world) : world_{std::move(world)} {}

  bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& /*changed*/,
                  LocalTime deadline, const std::function<bool()>& ready) override {
    while (!ready()) {
      if (world_->clock->now() >= deadline) {
        return false;
      }
      const Unlocked unlocked{lock};
      if (!world_->step(deadline)) {
        throw std::logic_error{
            "ManualRuntime: a blocking call without a deadline would wait forever: no task is "
            "queued and no timer is armed"};
      }
    }
    return true;
  }

 private:
  struct Unlocked {
    explicit Unlocked(std::unique_lock<std::mutex>& held) : lock{held} { lock.unlock(); }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;
    ~Unlocked() { lock.lock(); }
    std::unique_lock<std::mutex>& lock;
  };

  const std::shared_ptr<World> world_;
};

template <typename World>
std::shared_ptr<const Runtime> make_runtime_of(const std::shared_ptr<World>& world,
                                               std::uint64_t seed) {
  auto runtime = std::make_shared<Runtime>();
  runtime->clock = world->clock;
  runtime->timers = world->timers;
  runtime->callbacks = world->callbacks;
  runtime->workers = world->workers;
  runtime->signals = world->signals;
  runtime->waiter = std::make_shared<RunningWaiter<World>>(world);
  runtime->random = make_seeded_random(seed);
  runtime->log = world->log;
  runtime->statistics =
      std::make_shared<StatisticsRecorder>(world->clock, RuntimeOptions{}.most_counted_mutexes);
  return runtime;
}

}  // namespace

ManualRuntime::ManualRuntime(std::uint64_t seed)
    : world_{std::make_shared<World>()}, runtime_{make_runtime_of(world_, seed)} {}

ManualRuntime::~ManualRuntime() {
  // A task may hold the runtime, which holds the executor, which holds the task.
  while (world_->signals->discard() + world_->callbacks->discard() + world_->workers->discard() !=
         0) {
  }
}

LocalTime ManualRuntime::now() const noexcept { return world_->clock->now(); }

LocalTime ManualRuntime::next_due() const { return world_->timers->next_due(); }

std::size_t ManualRuntime::run_ready() {
  std::size_t steps = 0;
  while (world_->step_ready()) {
    ++steps;
  }
  return steps;
}

void ManualRuntime::advance(std::chrono::nanoseconds span) {
  const LocalTime end = world_->after(span);
  for (;;) {
    if (world_->step_ready()) {
      continue;
    }
    if (now() >= end || !world_->step(end)) {
      return;
    }
  }
}

bool ManualRuntime::run_until(const std::function<bool()>& done, std::chrono::nanoseconds limit) {
  const LocalTime end = world_->after(limit);
  while (!done()) {
    // At the end of the time, what is ready then still runs.
    if (now() >= end ? !world_->step_ready() : !world_->step(end)) {
      return false;
    }
  }
  return true;
}

ManualClock& ManualRuntime::clock() const noexcept { return *world_->clock; }
ManualExecutor& ManualRuntime::callbacks() const noexcept { return *world_->callbacks; }
ManualExecutor& ManualRuntime::workers() const noexcept { return *world_->workers; }
ManualExecutor& ManualRuntime::signals() const noexcept { return *world_->signals; }
CapturingLogger& ManualRuntime::log() const noexcept { return *world_->log; }

}  // namespace simba::testkit
