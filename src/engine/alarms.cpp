#include "engine/alarms.hpp"

#include <cstddef>
#include <utility>

#include "engine/lease_contention.hpp"

namespace simba::engine {

namespace {

// More than that are wanted again soon only by a program that takes many locks at the same time.
constexpr std::size_t most_idle = 64;

}  // namespace

struct Alarms::Bell {
  std::unique_ptr<Timer> timer;

  std::mutex mutex;
  std::weak_ptr<LeaseContention> contention;  // guarded by mutex

  void ring() {
    std::shared_ptr<LeaseContention> rung;  // ended, if this is its last, with no lock held
    {
      const std::lock_guard lock{mutex};
      rung = contention.lock();
    }
    if (rung) rung->tick();
  }

  void belongs_to(std::weak_ptr<LeaseContention> other) {
    const std::lock_guard lock{mutex};
    contention.swap(other);
  }
};

Alarms::Alarm::~Alarm() {
  if (bell_) all_->put_back(std::move(bell_));
}

void Alarms::Alarm::set(LocalTime due) { bell_->timer->arm(due); }

void Alarms::Alarm::leak() noexcept {
  detail::leak(bell_);
  detail::leak(all_);
  bell_.reset();
}

Alarms::Alarms(std::shared_ptr<TimerService> timers) : timers_{std::move(timers)} {
  idle_.reserve(most_idle);
}

Alarms::~Alarms() {
  if (!fork_guard_.in_child()) return;
  for (const auto& bell : idle_) detail::leak(bell);
}

Alarms::Alarm Alarms::alarm_for(std::weak_ptr<LeaseContention> contention) {
  std::shared_ptr<Bell> bell;
  {
    const std::lock_guard lock{mutex_};
    if (!idle_.empty()) {
      bell = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!bell) {
    bell = std::make_shared<Bell>();
    bell->timer = timers_->create([weak = std::weak_ptr{bell}] {
      if (const auto due = weak.lock()) due->ring();
    });
  }
  bell->belongs_to(std::move(contention));
  Alarm alarm;
  alarm.all_ = shared_from_this();
  alarm.bell_ = std::move(bell);
  return alarm;
}

/// Whatever timer waits is left to do so: it finds nothing due.
void Alarms::put_back(std::shared_ptr<Bell> bell) noexcept {
  bell->belongs_to({});
  bell->timer->cancel();
  const std::lock_guard lock{mutex_};
  if (idle_.size() < most_idle) idle_.push_back(std::move(bell));
}

}  // namespace simba::engine
