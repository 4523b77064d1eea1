#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "simba/core/statistics.hpp"

/// What a `StatisticsRecorder` counts with. Every acquisition pays for it: no clock is read here,
/// and nothing is kept that a snapshot can work out.
///
/// Threads: every function may be called from any thread; a snapshot that is taken meanwhile may
/// have the one and lack the other.
namespace simba::detail {

class DurationMeter {
 public:
  void add(std::chrono::nanoseconds took) noexcept;

  /// Also has every duration that was added before one that an earlier snapshot of another meter
  /// has.
  Durations snapshot() const noexcept;

 private:
  std::array<std::atomic<std::uint64_t>, Durations::bounds.size() + 1> counts_{};
  std::atomic<std::int64_t> total_{0};  // in nanoseconds
};

/// Of one mutex, or of all those without one of their own.
class MutexMeter {
 public:
  void begins_to_wait(LocalTime since) noexcept;
  void ends_waiting() noexcept { waiting_.fetch_sub(1, std::memory_order_relaxed); }

  void acquired(FencingToken token, std::chrono::nanoseconds waited) noexcept;
  void owns_until(LocalTime end) noexcept { lease_until_.store(end, std::memory_order_relaxed); }
  void ends_owning(std::chrono::nanoseconds held) noexcept { holds_.add(held); }

  void handed_over(std::chrono::nanoseconds took) noexcept { hand_overs_.add(took); }
  void taken_over(std::chrono::nanoseconds took) noexcept { take_overs_.add(took); }

  void lost(LossReason reason) noexcept { ++losses_[static_cast<std::size_t>(reason)]; }
  void renewed() noexcept { ++renewals_; }
  void failed_to_renew() noexcept { ++failed_renewals_; }

  /// `of_one`: this is the meter of one mutex.
  MutexStatistics snapshot(LocalTime now, bool of_one) const;

 private:
  std::atomic<std::uint64_t> waiting_{0};
  std::atomic<LocalTime> waiting_since_{never};
  std::atomic<FencingToken> fencing_token_{0};
  std::atomic<LocalTime> lease_until_{LocalTime::min()};

  std::array<std::atomic<std::uint64_t>, 4> losses_{};
  std::atomic<std::uint64_t> renewals_{0};
  std::atomic<std::uint64_t> failed_renewals_{0};
  DurationMeter waits_;  // one for each acquisition
  DurationMeter holds_;  // one for each that is over
  DurationMeter hand_overs_;
  DurationMeter take_overs_;
};

class RequestMeter {
 public:
  /// An answer to a request that has been given up counts as well.
  void answered(RequestKind kind, std::chrono::nanoseconds took, LocalTime now) noexcept;
  void failed(ErrorKind kind) noexcept { ++errors_[static_cast<std::size_t>(kind)]; }
  RequestStatistics snapshot(LocalTime now) const;

 private:
  static constexpr std::size_t error_kinds = static_cast<std::size_t>(ErrorKind::internal) + 1;

  std::array<DurationMeter, 6> answered_;
  std::array<std::atomic<std::uint64_t>, error_kinds> errors_{};
  std::atomic<LocalTime> answered_at_{LocalTime::min()};
};

class ConnectionMeter {
 public:
  void opened() noexcept {
    ++opened_;
    ++open_;
  }
  void closed() noexcept { --open_; }
  void failed() noexcept { ++failed_; }
  ConnectionStatistics snapshot() const noexcept {
    return {.open = open_, .opened = opened_, .failed = failed_};
  }

 private:
  std::atomic<std::uint64_t> open_{0};
  std::atomic<std::uint64_t> opened_{0};
  std::atomic<std::uint64_t> failed_{0};
};

}  // namespace simba::detail
