#include "simba/core/statistics.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/statistics/meters.hpp"
#include "simba/core/names.hpp"
#include "simba/core/runtime.hpp"

namespace simba {

namespace detail {

// ---- DurationMeter ---------------------------------------------------------------------------

void DurationMeter::add(std::chrono::nanoseconds took) noexcept {
  const auto bound =
      took <= Durations::bounds.front()  // mostly, and it is quick to see
          ? Durations::bounds.begin()
          : std::lower_bound(Durations::bounds.begin(), Durations::bounds.end(), took);
  total_.fetch_add(took.count(), std::memory_order_relaxed);
  counts_[static_cast<std::size_t>(bound - Durations::bounds.begin())].fetch_add(
      1, std::memory_order_release);
}

Durations DurationMeter::snapshot() const noexcept {
  Durations durations;
  std::transform(counts_.begin(), counts_.end(), durations.counts.begin(),
                 [](const auto& count) { return count.load(std::memory_order_acquire); });
  durations.total = std::chrono::nanoseconds{total_.load(std::memory_order_relaxed)};
  return durations;
}

// ---- MutexMeter ------------------------------------------------------------------------------

void MutexMeter::begins_to_wait(LocalTime since) noexcept {
  if (waiting_.fetch_add(1, std::memory_order_relaxed) > 0) return;
  waiting_since_.store(since, std::memory_order_relaxed);
}

void MutexMeter::acquired(FencingToken token, std::chrono::nanoseconds waited) noexcept {
  fencing_token_.store(token, std::memory_order_relaxed);
  waits_.add(waited);
}

MutexStatistics MutexMeter::snapshot(LocalTime now, bool of_one) const {
  MutexStatistics seen;
  seen.holds = holds_.snapshot();  // before the waits: no hold is over that has not begun
  seen.waits = waits_.snapshot();
  seen.acquisitions = seen.waits.count();
  seen.owners = seen.acquisitions - seen.holds.count();
  seen.waiting = waiting_;
  const LocalTime lease_until = lease_until_;
  if (of_one && lease_until <= now) seen.owners = 0;  // its timer is late
  if (of_one && seen.owners > 0) {
    seen.owners = 1;
    seen.fencing_token = fencing_token_;
    seen.lease_left = lease_until - now;
  }
  if (seen.waiting > 0) {
    seen.waiting_for = std::max(now - waiting_since_.load(), std::chrono::nanoseconds::zero());
  }
  std::copy(losses_.begin(), losses_.end(), seen.losses.begin());
  seen.renewals = renewals_;
  seen.failed_renewals = failed_renewals_;
  seen.hand_overs = hand_overs_.snapshot();
  seen.take_overs = take_overs_.snapshot();
  return seen;
}

// ---- RequestMeter ----------------------------------------------------------------------------

void RequestMeter::answered(RequestKind kind, std::chrono::nanoseconds took,
                            LocalTime now) noexcept {
  answered_[static_cast<std::size_t>(kind)].add(took);
  answered_at_.store(now, std::memory_order_relaxed);
}

RequestStatistics RequestMeter::snapshot(LocalTime now) const {
  RequestStatistics seen;
  std::transform(answered_.begin(), answered_.end(), seen.answered.begin(),
                 [](const DurationMeter& meter) { return meter.snapshot(); });
  for (std::size_t i = 0; i < errors_.size(); ++i) {
    if (const std::uint64_t count = errors_[i]) seen.errors[static_cast<ErrorKind>(i)] = count;
  }
  const LocalTime at = answered_at_;
  if (at != LocalTime::min()) seen.silent_for = now - at;
  return seen;
}

}  // namespace detail

std::uint64_t Durations::count() const noexcept {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

void Durations::add(std::chrono::nanoseconds took) noexcept {
  const auto bound = std::lower_bound(bounds.begin(), bounds.end(), took);
  ++counts[static_cast<std::size_t>(bound - bounds.begin())];
  total += took;
}

std::string_view to_string(RequestKind kind) noexcept {
  switch (kind) {
    case RequestKind::acquire:
      return "acquire";
    case RequestKind::renew:
      return "renew";
    case RequestKind::release:
      return "release";
    case RequestKind::look:
      return "look";
    case RequestKind::read_record:
      return "read_record";
    case RequestKind::write_record:
      return "write_record";
  }
  return "unknown";
}

StatisticsRecorder::StatisticsRecorder(std::shared_ptr<const Clock> clock, std::size_t most_mutexes)
    : clock_{std::move(clock)},
      most_mutexes_{most_mutexes},
      requests_{std::make_unique<detail::RequestMeter>()},
      connections_{std::make_shared<detail::ConnectionMeter>()},
      others_{std::make_unique<detail::MutexMeter>()} {}

StatisticsRecorder::~StatisticsRecorder() = default;

void StatisticsRecorder::add(std::string_view mutex) {
  check_name("mutex name", mutex, std::numeric_limits<std::size_t>::max());
  static_cast<void>(meter(mutex));
}

detail::MutexMeter& StatisticsRecorder::meter(std::string_view mutex) {
  const auto* const last = last_found_.load(std::memory_order_acquire);
  if (last != nullptr && last->first == mutex) return *last->second;
  const std::lock_guard lock{mutex_};
  auto found = meters_.find(mutex);
  if (found == meters_.end()) {
    if (meters_.size() >= most_mutexes_) return *others_;
    found = meters_.emplace(mutex, std::make_unique<detail::MutexMeter>()).first;
  }
  last_found_.store(&*found, std::memory_order_release);
  return *found->second;
}

Statistics StatisticsRecorder::snapshot() const {
  const LocalTime now = clock_->now();
  Statistics seen;
  {
    const std::lock_guard lock{mutex_};
    seen.mutexes.reserve(meters_.size() + 1);
    for (const auto& [name, meter] : meters_) {
      seen.mutexes.push_back(meter->snapshot(now, true));
      seen.mutexes.back().mutex = name;
    }
  }
  MutexStatistics others = others_->snapshot(now, false);
  if (others != MutexStatistics{}) seen.mutexes.push_back(std::move(others));
  seen.requests = requests_->snapshot(now);
  seen.connections = connections_->snapshot();
  return seen;
}

Statistics statistics_of(const Runtime& runtime) {
  Statistics seen;
  if (runtime.statistics) seen = runtime.statistics->snapshot();
  if (runtime.delays) {
    seen.callbacks = runtime.delays->statistics();
    seen.delayed_callbacks = runtime.delays->delayed();
  }
  seen.dropped_log_lines = runtime.log->dropped();
  return seen;
}

}  // namespace simba
