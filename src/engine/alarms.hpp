#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "simba/core/fork_guard.hpp"
#include "simba/core/time.hpp"
#include "simba/core/timer.hpp"

namespace simba::engine {

class LeaseContention;

/// The alarms of contentions, which use their timers one after another: a new timer wakes the
/// thread of all timers, which costs more than to take a lock and give it back.
///
/// Threads: may be used from any thread at the same time.
class Alarms : public std::enable_shared_from_this<Alarms> {
 private:
  struct Bell;

 public:
  /// Makes its contention tick. Threads: calls must not overlap. May ring when nothing is due.
  class Alarm {
   public:
    Alarm() noexcept = default;  ///< empty: must not be set
    Alarm(Alarm&& other) noexcept = default;
    Alarm& operator=(Alarm&& other) noexcept = default;  ///< only to one that is empty
    ~Alarm();

    explicit operator bool() const noexcept { return bell_ != nullptr; }
    void set(LocalTime due);
    void leak() noexcept;  ///< in a forked child: it belongs to the parent

   private:
    friend class Alarms;

    std::shared_ptr<Alarms> all_;
    std::shared_ptr<Bell> bell_;
  };

  explicit Alarms(std::shared_ptr<TimerService> timers);
  ~Alarms();
  Alarms(const Alarms&) = delete;
  Alarms& operator=(const Alarms&) = delete;

  Alarm alarm_for(std::weak_ptr<LeaseContention> contention);

 private:
  void put_back(std::shared_ptr<Bell> bell) noexcept;

  // constant after construction
  const std::shared_ptr<TimerService> timers_;
  const ForkGuard fork_guard_;

  std::mutex mutex_;
  std::vector<std::shared_ptr<Bell>> idle_;  // guarded by mutex_
};

}  // namespace simba::engine
