#pragma once

#include <array>
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

  friend bool operator==(const MutexStatistics&, const MutexStatistics&) = default;
};

enum class RequestKind {
  acquire,
  renew,
  release,
  look,  ///< at the owner, by an observer
};

/// E.g. "renew".
std::string_view to_string(RequestKind kind) noexcept;

/// What the requests of this process to the store have come to.
struct RequestStatistics {
  std::array<Durations, 4> answered{};          ///< by `RequestKind`: how long the store took
  std::map<ErrorKind, std::uint64_t> errors{};  ///< those that have occurred
  std::optional<std::chrono::nanoseconds> silent_for{};  ///< since the store last answered, if ever

  friend bool operator==(const RequestStatistics&, const RequestStatistics&) = default;
};

struct Statistics {
  std::vector<MutexStatistics> mutexes{};  ///< by name; the one without a name comes last
  RequestStatistics requests{};
  std::uint64_t delayed_callbacks = 0;  ///< see `DelayMonitor::delayed`
  std::uint64_t dropped_log_lines = 0;  ///< see `Logger::dropped`

  friend bool operator==(const Statistics&, const Statistics&) = default;
};

namespace detail {
class MutexMeter;
class RequestMeter;
}  // namespace detail

/// Keeps count of what the contenders and observers of a runtime do.
///
/// Threads: every function may be called from any thread. Counting takes no lock; a new contender
/// takes one to find where to count.
class StatisticsRecorder {
 public:
  /// `most_mutexes` have an entry of their own, those that are used or added first; all others are
  /// counted together.
  StatisticsRecorder(std::shared_ptr<const Clock> clock, std::size_t most_mutexes);
  ~StatisticsRecorder();
  StatisticsRecorder(const StatisticsRecorder&) = delete;
  StatisticsRecorder& operator=(const StatisticsRecorder&) = delete;

  /// Gives the mutex an entry, with zeros until it is used.
  void add(std::string_view mutex);

  /// Of mutexes and requests; `Runtime` knows the rest.
  [[nodiscard]] Statistics snapshot() const;

  // ---- for those who count ------------------------------------------------------------------

  std::shared_ptr<detail::MutexMeter> meter(std::string_view mutex);
  const std::shared_ptr<detail::RequestMeter>& requests() const noexcept { return requests_; }

 private:
  // constant after construction
  const std::shared_ptr<const Clock> clock_;
  const std::size_t most_mutexes_;
  const std::shared_ptr<detail::RequestMeter> requests_;
  const std::shared_ptr<detail::MutexMeter> others_;

  mutable std::mutex mutex_;
  // guarded by mutex_
  std::map<std::string, std::shared_ptr<detail::MutexMeter>, std::less<>> meters_;
};

struct Runtime;

/// All that the runtime knows. Without `Runtime::statistics` there are no mutexes and no requests.
[[nodiscard]] Statistics statistics_of(const Runtime& runtime);

}  // namespace simba
