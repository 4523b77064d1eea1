#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "simba/core/clock.hpp"
#include "simba/core/fork_guard.hpp"
#include "simba/core/log.hpp"
#include "simba/core/small_function.hpp"
#include "simba/core/statistics.hpp"
#include "simba/core/time.hpp"
#include "simba/core/timer.hpp"

namespace simba {

/// Detects callbacks, loss signals and scheduled work that wait too long before they start, and
/// logs what is waiting and what keeps the threads busy.
///
/// Threads: every function may be called from any thread.
class DelayMonitor : public std::enable_shared_from_this<DelayMonitor> {
 public:
  /// Anything that has waited this long is logged and counted, once.
  static constexpr std::chrono::seconds limit{1};

  static std::shared_ptr<DelayMonitor> make(std::shared_ptr<const Clock> clock,
                                            TimerService& timers, std::shared_ptr<Logger> log);

  DelayMonitor(const DelayMonitor&) = delete;
  DelayMonitor& operator=(const DelayMonitor&) = delete;

  /// How many have waited for `limit` or longer since the runtime was created.
  std::uint64_t delayed() const noexcept { return delayed_.load(); }

  CallbackStatistics statistics() const;

  /// A queue of things that run one at a time, e.g. the callbacks of a service. Costs nothing while
  /// nothing waits or runs. Does not keep the monitor alive; without it, delays go unnoticed.
  class Line {
   public:
    /// Identifies it in the log. Called only when there is something to log, with the mutex of the
    /// monitor held.
    using Who = detail::SmallFunction<std::string()>;

    /// `advice` says what to do about a delay. Lines with the same `executor` compete for the same
    /// threads.
    Line(const std::shared_ptr<DelayMonitor>& monitor, Who who, const void* executor,
         std::string_view advice);
    Line(const std::shared_ptr<DelayMonitor>& monitor, std::string who, const void* executor,
         std::string_view advice);
    ~Line();
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    void waits() noexcept;     ///< something waits from now on
    void begins() noexcept;    ///< what was waiting starts to run
    void ends() noexcept;      ///< what was running has returned
    void is_empty() noexcept;  ///< nothing is waiting any more

   private:
    friend class DelayMonitor;

    std::shared_ptr<DelayMonitor> monitor() const noexcept;
    void returned(DelayMonitor& monitor, LocalTime now) noexcept;
    void update(DelayMonitor& monitor) noexcept;

    // constant after construction
    const std::weak_ptr<DelayMonitor> monitor_;  // weak: an executor may keep what waits
    const Who who_;
    const void* const executor_;
    const std::string_view advice_;

    // guarded by the mutex of the monitor
    LocalTime waiting_since_ = never;
    LocalTime running_since_ = never;
    bool told_ = false;  // of what waits now
    bool listed_ = false;
    Line* previous_ = nullptr;  // its neighbours in the list of the monitor
    Line* next_ = nullptr;
  };

 private:
  DelayMonitor(std::shared_ptr<const Clock> clock, std::shared_ptr<Logger> log);

  void add(Line& line) noexcept;
  void remove(Line& line) noexcept;
  void look_at(LocalTime moment) noexcept;
  void look();
  std::string described(const std::vector<const Line*>& waiting, LocalTime now) const;

  // constant after construction
  const std::shared_ptr<const Clock> clock_;
  const std::shared_ptr<Logger> log_;
  const ForkGuard fork_guard_;

  std::atomic<std::uint64_t> delayed_{0};

  mutable std::mutex mutex_;
  // guarded by mutex_
  Durations durations_;
  Line* first_ = nullptr;  // of those in which something waits or runs
  Line* last_ = nullptr;
  bool looking_ = false;  // the timer is armed
  std::unique_ptr<Timer> timer_;
};

}  // namespace simba
