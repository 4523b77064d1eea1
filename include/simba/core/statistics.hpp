#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simba/core/clock.hpp"
#include "simba/core/contention_event.hpp"
#include "simba/core/error.hpp"

namespace simba {

/// How long something took, each time.
struct Durations {
  /// `counts[i]` of them took at most `bounds[i]`, and longer than the bound before; the last of
  /// the counts are those that took longer than all bounds.
  static constexpr std::array<std::chrono::milliseconds, 12> bounds{
      std::chrono::milliseconds{1},      std::chrono::milliseconds{3},
      std::chrono::milliseconds{10},     std::chrono::milliseconds{30},
      std::chrono::milliseconds{100},    std::chrono::milliseconds{300},
      std::chrono::milliseconds{1'000},  std::chrono::milliseconds{3'000},
      std::chrono::milliseconds{10'000}, std::chrono::milliseconds{30'000},
      std::chrono::minutes{5},           std::chrono::hours{1}};

  std::array<std::uint64_t, bounds.size() + 1> counts{};
  std::chrono::nanoseconds total{0};

  [[nodiscard]] std::uint64_t count() const noexcept;
  void add(std::chrono::nanoseconds took) noexcept;

  friend bool operator==(const Durations&, const Durations&) = default;
};

/// What the contenders of this process do with one mutex. The first group is how it is now, the
/// second what has happened since the process began to use the mutex.
struct MutexStatistics {
  std::string mutex{};  ///< empty: all mutexes that have no entry of their own, together

  std::uint64_t owners = 0;        ///< contenders of this process that own it: 0 or 1
  std::uint64_t waiting = 0;       ///< contenders of this process that wait for it
  FencingToken fencing_token = 0;  ///< of the present ownership; 0: not owned by this process
  std::chrono::nanoseconds lease_left{0};   ///< zero: not owned by this process
  std::chrono::nanoseconds waiting_for{0};  ///< for so long at least one has waited

  std::uint64_t acquisitions = 0;
  std::array<std::uint64_t, 4> losses{};  ///< by `LossReason`
  std::uint64_t renewals = 0;             ///< that the store has confirmed
  std::uint64_t failed_renewals = 0;      ///< without a definite answer; the lease went on
  Durations waits{};                      ///< from beginning to wait to owning
  Durations holds{};                      ///< from owning to having given it up, or lost it

  /// By how another, which the store had named as the owner, was followed: it gave the mutex up,
  /// and this process heard of that and got it; or its lease ran out, and from then on nobody had
  /// the mutex until this process got it.
  Durations hand_overs{};
  Durations take_overs{};

  friend bool operator==(const MutexStatistics&, const MutexStatistics&) = default;
};

enum class RequestKind {
  acquire,
  renew,
  release,
  look,          ///< at the owner, by an observer or a program that asks
  read_record,   ///< of a schedule, for instance
  write_record,  ///< the same
};

/// E.g. "renew".
std::string_view to_string(RequestKind kind) noexcept;

/// What the requests of this process to the store have come to.
struct RequestStatistics {
  std::array<Durations, 6> answered{};          ///< by `RequestKind`: how long the store took
  std::map<ErrorKind, std::uint64_t> errors{};  ///< those that have occurred
  std::optional<std::chrono::nanoseconds> silent_for{};  ///< since the store last answered, if ever

  friend bool operator==(const RequestStatistics&, const RequestStatistics&) = default;
};

/// The connections to stores. Not the one by which PostgreSQL tells of changes.
struct ConnectionStatistics {
  std::uint64_t open = 0;    ///< now
  std::uint64_t opened = 0;  ///< so far
  std::uint64_t failed = 0;  ///< attempts to open one

  friend bool operator==(const ConnectionStatistics&, const ConnectionStatistics&) = default;
};

/// Callbacks, loss signals and the work of schedules: whatever a `DelayMonitor` sees.
struct CallbackStatistics {
  std::uint64_t running = 0;                ///< now
  std::uint64_t waiting = 0;                ///< services, schedules etc. with some that wait
  std::chrono::nanoseconds waiting_for{0};  ///< for so long the first of those has waited
  Durations durations{};                    ///< of those that have returned

  friend bool operator==(const CallbackStatistics&, const CallbackStatistics&) = default;
};

struct Statistics {
  std::vector<MutexStatistics> mutexes{};  ///< by name; the one without a name comes last
  RequestStatistics requests{};
  ConnectionStatistics connections{};
  CallbackStatistics callbacks{};
  std::uint64_t delayed_callbacks = 0;  ///< see `DelayMonitor::delayed`
  std::uint64_t dropped_log_lines = 0;  ///< see `Logger::dropped`

  friend bool operator==(const Statistics&, const Statistics&) = default;
};

namespace detail {
class ConnectionMeter;
class MutexMeter;
class RequestMeter;
}  // namespace detail

/// Keeps count of what the contenders and observers of a runtime do.
///
/// Threads: every function may be called from any thread. Counting takes no lock; a new contender
/// may take one to find where to count.
class StatisticsRecorder {
 public:
  /// `most_mutexes` have an entry of their own, those that are used or added first; all others are
  /// counted together.
  StatisticsRecorder(std::shared_ptr<const Clock> clock, std::size_t most_mutexes);
  ~StatisticsRecorder();
  StatisticsRecorder(const StatisticsRecorder&) = delete;
  StatisticsRecorder& operator=(const StatisticsRecorder&) = delete;

  /// Gives the mutex an entry, with zeros until it is used. Throws InvalidArgumentError if it is
  /// blank, not UTF-8 or has a NUL, which no monitoring system would take.
  void add(std::string_view mutex);

  /// Of mutexes, requests and connections; `Runtime` knows the rest.
  [[nodiscard]] Statistics snapshot() const;

  // ---- for those who count: references last as long as the recorder ---------------------------

  detail::MutexMeter& meter(std::string_view mutex);
  detail::RequestMeter& requests() const noexcept { return *requests_; }
  const std::shared_ptr<detail::ConnectionMeter>& connections() const noexcept {
    return connections_;
  }

 private:
  // constant after construction
  const std::shared_ptr<const Clock> clock_;
  const std::size_t most_mutexes_;
  const std::unique_ptr<detail::RequestMeter> requests_;
  const std::shared_ptr<detail::ConnectionMeter> connections_;
  const std::unique_ptr<detail::MutexMeter> others_;

  using Meters = std::map<std::string, std::unique_ptr<detail::MutexMeter>, std::less<>>;

  std::atomic<const Meters::value_type*> last_found_{nullptr};  // often the next is of the same

  mutable std::mutex mutex_;
  Meters meters_;  // guarded by mutex_; what is in it stays as it is
};

struct Runtime;

/// All that the runtime knows. Without `Runtime::statistics` there are no mutexes and no requests.
[[nodiscard]] Statistics statistics_of(const Runtime& runtime);

}  // namespace simba
