#include "unit/rules/world.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace simba::rules {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// ---- World --------------------------------------------------------------------------------------

void World::at(LocalTime when, Task task) {
  tasks_.emplace(std::pair{std::max(when, now_), ++added_}, std::move(task));
}

bool World::step(LocalTime limit) {
  if (tasks_.empty() || tasks_.begin()->first.first > limit) {
    now_ = std::max(now_, limit);
    return false;
  }
  const auto next = tasks_.extract(tasks_.begin());
  now_ = next.key().first;
  next.mapped()();
  if (after_each) after_each();
  return true;
}

void World::clear() {
  while (!tasks_.empty()) std::exchange(tasks_, {}).clear();
}

nanoseconds World::between(nanoseconds low, nanoseconds high) {
  const auto span = static_cast<std::uint64_t>((high - low).count());
  return low + nanoseconds{static_cast<std::int64_t>(span == 0 ? 0 : random_() % span)};
}

void World::note(std::string what) {
  constexpr std::size_t kept = 400;
  const auto since = std::chrono::duration<double, std::milli>(now_.time_since_epoch() - 24h);
  notes_.push_back(fmt::format("{:10.3f} {}", since.count(), what));
  if (notes_.size() > kept) notes_.pop_front();
}

std::string World::story() const {
  std::string text;
  for (const std::string& note : notes_) text.append(note).append("\n");
  return text;
}

// ---- Actor --------------------------------------------------------------------------------------

void Actor::at(Lane lane, LocalTime when, World::Task task) {
  world_.at(when, [this, alive = std::weak_ptr{alive_}, lane, task = std::move(task)]() mutable {
    if (!alive.expired()) run(lane, std::move(task));
  });
}

// What a lane has missed comes first, in order.
void Actor::run(Lane lane, World::Task task) {
  auto& missed = missed_.at(static_cast<std::size_t>(lane));
  if (missed.empty() && world_.now() >= awake_at(lane)) {
    task();
    return;
  }
  missed.push_back(std::move(task));
  if (missed.size() == 1 && !frozen()) wake_later(lane);
}

LocalTime Actor::awake_at(Lane lane) const {
  const bool asleep_at_all = asleep_until_ != LocalTime::min() && !frozen();
  return asleep_at_all ? asleep_until_ + lag_.at(static_cast<std::size_t>(lane)) : asleep_until_;
}

void Actor::wake_later(Lane lane) {
  world_.at(awake_at(lane), [this, alive = std::weak_ptr{alive_}, lane] {
    if (!alive.expired()) wake(lane);
  });
}

void Actor::wake(Lane lane) {
  auto& missed = missed_.at(static_cast<std::size_t>(lane));
  if (frozen() || missed.empty()) return;
  if (world_.now() >= awake_at(lane)) {
    const World::Task task = std::move(missed.front());
    missed.pop_front();
    task();
  }
  if (!missed.empty()) wake_later(lane);
}

void Actor::pause_until(LocalTime when) {
  if (frozen()) return;
  asleep_until_ = std::max(asleep_until_, when);
  for (nanoseconds& lag : lag_) lag = world_.chance(500) ? 0ns : world_.between(0ns, 3ms);
}

void Actor::thaw() {
  asleep_until_ = LocalTime::min();
  for (const Lane lane : {Lane::loop, Lane::timers, Lane::callbacks}) wake_later(lane);
}

// ---- the runtime of a process -------------------------------------------------------------------

namespace {

class DriftingClock final : public Clock {
 public:
  DriftingClock(const World& world, int drift_ppm)
      : world_{world}, began_{world.now()}, drift_ppm_{drift_ppm} {}

  LocalTime now() const noexcept override { return shown_at(world_.now()); }

  /// A true moment at which the clock shows at least `local`.
  LocalTime true_time(LocalTime local) const noexcept {
    if (local == never) return never;
    const nanoseconds shown = local - began_;
    LocalTime time = began_ + shown - shown * drift_ppm_ / 1'000'000 - 1us;
    while (shown_at(time) < local) time += 1us;
    return time;
  }

 private:
  LocalTime shown_at(LocalTime time) const noexcept {
    const nanoseconds passed = time - began_;
    return began_ + passed + passed * drift_ppm_ / 1'000'000;
  }

  const World& world_;
  const LocalTime began_;
  const int drift_ppm_;
};

class SimTimer final : public Timer {
 public:
  SimTimer(std::shared_ptr<Actor> actor, std::shared_ptr<DriftingClock> clock,
           std::function<void()> on_due)
      : actor_{std::move(actor)},
        clock_{std::move(clock)},
        state_{std::make_shared<State>(State{std::move(on_due)})} {}
  SimTimer(const SimTimer&) = delete;
  SimTimer& operator=(const SimTimer&) = delete;
  ~SimTimer() override { ++state_->armed; }

  void arm(LocalTime due) override {
    const auto armed = ++state_->armed;
    if (due == never) return;
    const LocalTime when = due <= clock_->now() ? actor_->world().now() : clock_->true_time(due);
    actor_->at(Actor::Lane::timers, when, [state = state_, armed] {
      if (state->armed == armed) state->on_due();
    });
  }

 private:
  struct State {
    std::function<void()> on_due;
    std::uint64_t armed = 0;
  };
  const std::shared_ptr<Actor> actor_;
  const std::shared_ptr<DriftingClock> clock_;
  const std::shared_ptr<State> state_;
};

class SimTimers final : public TimerService {
 public:
  SimTimers(std::shared_ptr<Actor> actor, std::shared_ptr<DriftingClock> clock)
      : actor_{std::move(actor)}, clock_{std::move(clock)} {}
  std::unique_ptr<Timer> create(std::function<void()> on_due) override {
    return std::make_unique<SimTimer>(actor_, clock_, std::move(on_due));
  }

 private:
  const std::shared_ptr<Actor> actor_;
  const std::shared_ptr<DriftingClock> clock_;
};

/// Runs tasks one after another, each a little later.
class SimExecutor final : public Executor {
 public:
  explicit SimExecutor(std::shared_ptr<Actor> actor) : actor_{std::move(actor)} {}
  void execute(std::function<void()> task) override {
    World& world = actor_->world();
    nanoseconds most = 200us;
    if (world.rough && world.chance(30)) most = world.chance(200) ? 1'500ms : 30ms;
    last_ = std::max(last_, world.now() + world.between(0ns, most));
    actor_->at(Actor::Lane::callbacks, last_, std::move(task));
  }
  bool running_in_this_thread() const noexcept override { return false; }

 private:
  const std::shared_ptr<Actor> actor_;
  LocalTime last_ = LocalTime::min();
};

/// Lets the world go on instead of blocking.
class SimWaiter final : public Waiter {
 public:
  SimWaiter(std::shared_ptr<Actor> actor, std::shared_ptr<DriftingClock> clock)
      : actor_{std::move(actor)}, clock_{std::move(clock)} {}

  bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& /*changed*/,
                  LocalTime deadline, const std::function<bool()>& ready) override {
    while (!ready()) {
      if (clock_->now() >= deadline) return false;
      lock.unlock();
      actor_->world().step(clock_->true_time(deadline));
      lock.lock();
    }
    return true;
  }

 private:
  const std::shared_ptr<Actor> actor_;
  const std::shared_ptr<DriftingClock> clock_;
};

}  // namespace

std::shared_ptr<const Runtime> make_process_runtime(std::shared_ptr<Actor> actor, int drift_ppm,
                                                    std::shared_ptr<Logger> log) {
  const auto clock = std::make_shared<DriftingClock>(actor->world(), drift_ppm);
  auto runtime = std::make_shared<Runtime>();
  runtime->clock = clock;
  runtime->timers = std::make_shared<SimTimers>(actor, clock);
  runtime->callbacks = std::make_shared<SimExecutor>(actor);
  runtime->workers = std::make_shared<SimExecutor>(actor);
  runtime->signals = std::make_shared<SimExecutor>(actor);
  runtime->waiter = std::make_shared<SimWaiter>(actor, clock);
  runtime->random = make_seeded_random(actor->world().next());
  runtime->log = std::move(log);
  return runtime;
}

}  // namespace simba::rules
