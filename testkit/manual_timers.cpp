#include "simba/testkit/manual_timers.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace simba::testkit {

namespace {

/// What a timer does. Shared, so that it survives a timer that destroys itself while it fires.
using Alarm = std::function<void()>;

/// Due time, then the order of arming.
using Slot = std::pair<LocalTime, std::uint64_t>;

}  // namespace

class ManualTimers::Queue {
 public:
  /// Takes `alarm` from `old`, if it is still there, to `due`.
  Slot move(const Slot& old, LocalTime due, const std::shared_ptr<Alarm>& alarm) {
    const std::lock_guard lock{mutex_};
    alarms_.erase(old);
    const Slot slot{due, ++armed_};
    if (due != never) {
      alarms_.emplace(slot, alarm);
    }
    return slot;
  }

  void remove(const Slot& slot) {
    const std::lock_guard lock{mutex_};
    alarms_.erase(slot);
  }

  std::shared_ptr<Alarm> take_due(LocalTime now) {
    const std::lock_guard lock{mutex_};
    if (alarms_.empty() || alarms_.begin()->first.first > now) {
      return nullptr;
    }
    return alarms_.extract(alarms_.begin()).mapped();
  }

  LocalTime next_due() const {
    const std::lock_guard lock{mutex_};
    return alarms_.empty() ? never : alarms_.begin()->first.first;
  }

 private:
  mutable std::mutex mutex_;
  // guarded by mutex_
  std::map<Slot, std::shared_ptr<Alarm>> alarms_;
  std::uint64_t armed_ = 0;
};

class ManualTimers::ManualTimer final : public Timer {
 public:
  ManualTimer(std::shared_ptr<Queue> queue, std::function<void()> on_due)
      : queue_{std::move(queue)}, alarm_{std::make_shared<Alarm>(std::move(on_due))} {}

  ManualTimer(const ManualTimer&) = delete;
  ManualTimer& operator=(const ManualTimer&) = delete;

  ~ManualTimer() override { queue_->remove(slot_); }

  void arm(LocalTime due) override { slot_ = queue_->move(slot_, due, alarm_); }

 private:
  const std::shared_ptr<Queue> queue_;
  const std::shared_ptr<Alarm> alarm_;
  Slot slot_{never, 0};
};

ManualTimers::ManualTimers() : queue_{std::make_shared<Queue>()} {}

ManualTimers::~ManualTimers() = default;

std::unique_ptr<Timer> ManualTimers::create(std::function<void()> on_due) {
  return std::make_unique<ManualTimer>(queue_, std::move(on_due));
}

LocalTime ManualTimers::next_due() const { return queue_->next_due(); }

bool ManualTimers::fire_next(LocalTime now) {
  const auto alarm = queue_->take_due(now);
  if (!alarm) {
    return false;
  }
  (*alarm)();
  return true;
}

}  // namespace simba::testkit
