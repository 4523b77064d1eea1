#include "sim/world/host.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <utility>

namespace simba::sim {

using namespace std::chrono_literals;

namespace {

/// The clocks of a process: that of its wall goes as the other one does, and can be set.
class HostClock final : public Clock {
 public:
  HostClock(std::shared_ptr<const Clock> clock, std::shared_ptr<const nanoseconds> wall_offset)
      : clock_{std::move(clock)}, wall_offset_{std::move(wall_offset)} {}
  LocalTime now() const noexcept override { return clock_->now(); }
  std::chrono::system_clock::time_point wall_now() const noexcept override {
    return right_wall_time(clock_->now()) + *wall_offset_;
  }

 private:
  const std::shared_ptr<const Clock> clock_;
  const std::shared_ptr<const nanoseconds> wall_offset_;
};

/// The timers of a process, each followed by what follows everything of a host.
class HostTimers final : public TimerService {
 public:
  HostTimers(Host& host, std::shared_ptr<TimerService> timers)
      : host_{host}, timers_{std::move(timers)} {}
  std::unique_ptr<Timer> create(std::function<void()> on_due) override {
    return timers_->create([&host = host_, on_due = std::move(on_due)] {
      on_due();
      host.ran();
    });
  }

 private:
  Host& host_;
  const std::shared_ptr<TimerService> timers_;
};

/// So many simulated threads; each task begins a little later.
class HostExecutor final : public Executor, public std::enable_shared_from_this<HostExecutor> {
 public:
  HostExecutor(Host& host, std::size_t threads, nanoseconds most)
      : host_{host}, threads_{threads}, most_{most} {}

  void execute(std::function<void()> task) override {
    tasks_.push_back(std::move(task));
    if (busy_ == threads_) return;
    ++busy_;
    host_.spawn(host_.world().between(0ns, most_), [self = shared_from_this()] { self->serve(); });
  }

  bool running_in_this_thread() const noexcept override {
    const SimThread* thread = Threads::current();
    return thread != nullptr && thread->executor == this;
  }

 private:
  void serve() {
    Threads::current()->executor = this;
    while (!tasks_.empty()) {
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      task();
    }
    Threads::current()->executor = nullptr;
    --busy_;
  }

  Host& host_;
  const std::size_t threads_;
  const nanoseconds most_;
  std::deque<std::function<void()>> tasks_;
  std::size_t busy_ = 0;
};

class HostLogger final : public Logger {
 public:
  explicit HostLogger(Host& host) : host_{host} {}
  bool enabled(LogLevel level) const noexcept override { return level >= LogLevel::warn; }
  void log(LogLevel level, std::string_view message) noexcept override {
    if (enabled(level)) host_.logged(level, message);
  }

 private:
  Host& host_;
};

class HostWaiter final : public Waiter {
 public:
  explicit HostWaiter(Host& host) : host_{host} {}
  bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& /*changed*/,
                  LocalTime deadline, const std::function<bool()>& ready) override {
    return host_.wait_until(lock, deadline, ready);
  }

 private:
  Host& host_;
};

}  // namespace

std::chrono::sys_time<nanoseconds> right_wall_time(LocalTime at) {
  using namespace std::chrono;
  return sys_days{2026y / November / 19d} + at.time_since_epoch();
}

/// A thread that waits. Lives on the stack of that thread.
struct Host::Parked {
  SimThread* thread = nullptr;
  std::uint64_t number = 0;
  std::unique_lock<std::mutex>* lock = nullptr;
  const std::function<bool()>* ready = nullptr;
  std::shared_ptr<bool> over;  // it has been woken
};

Host::Host(const Scene& scene, std::size_t number, std::string name, int drift_ppm)
    : scene_{scene},
      number_{number},
      name_{std::move(name)},
      began_{scene.world.now()},
      drift_ppm_{drift_ppm},
      actor_{std::make_shared<Actor>(scene.world)} {
  auto runtime = std::make_shared<Runtime>(
      *make_process_runtime(actor_, drift_ppm, std::make_shared<HostLogger>(*this)));
  runtime->timers = std::make_shared<HostTimers>(*this, runtime->timers);
  runtime->callbacks = std::make_shared<HostExecutor>(*this, 2, 200us);
  runtime->workers = std::make_shared<HostExecutor>(*this, 2, 200us);
  runtime->signals = std::make_shared<HostExecutor>(*this, 1, 50us);
  runtime->waiter = std::make_shared<HostWaiter>(*this);
  clock_ = std::make_shared<HostClock>(runtime->clock, wall_offset_);
  runtime->clock = clock_;
  runtime_ = std::move(runtime);
}

std::weak_ptr<const Runtime> Host::give_up_runtime() {
  const std::weak_ptr<const Runtime> weak{runtime_};
  runtime_.reset();
  return weak;
}

SystemTime Host::wall_now() const {
  return std::chrono::floor<std::chrono::milliseconds>(clock_->wall_now());
}

LocalTime Host::true_time(LocalTime local) const {
  const nanoseconds shown = local - began_;
  return began_ + shown - shown / (1'000'000 + drift_ppm_) * drift_ppm_;
}

// ---- threads -------------------------------------------------------------------------------

void Host::run(Actor::Lane lane, LocalTime when, std::function<void()> task) {
  actor_->at(lane, when, [this, task = std::move(task)] {
    task();
    ran();
  });
}

void Host::spawn(nanoseconds delay, std::function<void()> body) {
  ++alive_;
  run(Actor::Lane::callbacks, world().now() + delay, [this, body = std::move(body)] {
    scene_.threads.start([this, body] {
      body();
      --alive_;
    });
  });
}

void Host::sleep(nanoseconds span) {
  SimThread* thread = Threads::current();
  run(Actor::Lane::callbacks, world().now() + span,
      [this, thread] { scene_.threads.resume(*thread); });
  scene_.threads.park();
}

void Host::sleep(nanoseconds span, const std::stop_token& stop) {
  std::mutex nothing;
  std::unique_lock lock{nothing};
  wait_until(lock, clock_->now() + span, [&stop] { return stop.stop_requested(); });
}

bool Host::wait_until(std::unique_lock<std::mutex>& lock, LocalTime deadline,
                      const std::function<bool()>& ready) {
  while (!ready()) {
    const LocalTime now = clock_->now();
    if (now >= deadline) return false;
    if (Threads::current() == nullptr) std::terminate();  // the driver must never block
    Parked parked;
    parked.thread = Threads::current();
    parked.number = ++parked_;
    parked.lock = &lock;
    parked.ready = &ready;
    parked.over = std::make_shared<bool>(false);
    waiting_.push_back(&parked);
    if (deadline != never) wake(parked, std::max(true_time(deadline) - world().now(), 1us + 0ns));
    lock.unlock();
    scene_.threads.park();
    lock.lock();
  }
  return true;
}

void Host::wake(Parked& parked, nanoseconds delay) {
  run(Actor::Lane::callbacks, world().now() + delay, [this, over = parked.over, &parked] {
    if (*over) return;
    *over = true;
    std::erase(waiting_, &parked);
    scene_.threads.resume(*parked.thread);
  });
}

// Those for whom it has become true wake a moment later, and look again, as threads do.
void Host::poll() {
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    Parked& parked = *waiting_[i];
    if (parked.ready == nullptr) continue;
    const std::lock_guard lock{*parked.lock->mutex()};
    if (!(*parked.ready)()) continue;
    parked.ready = nullptr;
    wake(parked, world().between(0ns, 60us));
  }
}

void Host::ran() {
  ++events_;
  if (after_event) after_event(*this);
  if (!waiting_.empty()) poll();
}

void Host::logged(LogLevel level, std::string_view message) {
  scene_.trace.event(world().now(), name_, "log: {}", message);
  if (level == LogLevel::error && on_error) on_error(message);
}

// ---- troubles ------------------------------------------------------------------------------

void Host::pause(nanoseconds span) {
  if (crashed_) return;
  const LocalTime now = world().now();
  const LocalTime until = std::max(awake_at_, now + span);
  paused_in_all_ += until - std::max(now, awake_at_);
  awake_at_ = until;
  actor_->pause_until(until);
}

void Host::crash() {
  crashed_ = true;
  actor_->freeze();
}

void Host::revive() { actor_->thaw(); }

bool Host::has_just_woken(nanoseconds span) const {
  return awake_at_ != LocalTime::min() && world().now() < awake_at_ + span;
}

}  // namespace simba::sim
