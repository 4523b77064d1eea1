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
  const auto bound = std::lower_bound(Durations::bounds.begin(), Durations::bounds.end(), took);
  ++counts_[static_cast<std::size_t>(bound - Durations::bounds.begin())];
  total_ += took.count();
}

Durations DurationMeter::snapshot() const noexcept {
  Durations durations;
  std::copy(counts_.begin(), counts_.end(), durations.counts.begin());
  durations.total = std::chrono::nanoseconds{total_.load()};
  return durations;
}

// ---- MutexMeter ------------------------------------------------------------------------------

void MutexMeter::begins_to_wait(LocalTime now) noexcept {
  if (waiting_++ == 0) waiting_since_ = now;
}

void MutexMeter::acquired(FencingToken token, std::chrono::nanoseconds waited) noexcept {
  ++owners_;
  ++acquisitions_;
  fencing_token_ = token;
  waits_.add(waited);
}

void MutexMeter::ends_owning(std::chrono::nanoseconds held) noexcept {
  --owners_;
  holds_.add(held);
}

MutexStatistics MutexMeter::snapshot(LocalTime now, bool of_one) const {
  MutexStatistics seen;
  seen.owners = owners_;
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
  seen.acquisitions = acquisitions_;
  std::copy(losses_.begin(), losses_.end(), seen.losses.begin());
  seen.renewals = renewals_;
  seen.failed_renewals = failed_renewals_;
  seen.waits = waits_.snapshot();
  seen.holds = holds_.snapshot();
  seen.hand_overs = hand_overs_.snapshot();
  seen.take_overs = take_overs_.snapshot();
  return seen;
}

// ---- RequestMeter ----------------------------------------------------------------------------

void RequestMeter::answered(RequestKind kind, std::chrono::nanoseconds took,
                            LocalTime now) noexcept {
  answered_[static_cast<std::size_t>(kind)].add(took);
  answered_at_ = now;
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
      requests_{std::make_shared<detail::RequestMeter>()},
      connections_{std::make_shared<detail::ConnectionMeter>()},
      others_{std::make_shared<detail::MutexMeter>()} {}

StatisticsRecorder::~StatisticsRecorder() = default;

void StatisticsRecorder::add(std::string_view mutex) {
  check_name("mutex name", mutex, std::numeric_limits<std::size_t>::max());
  static_cast<void>(meter(mutex));
}

std::shared_ptr<detail::MutexMeter> StatisticsRecorder::meter(std::string_view mutex) {
  const std::lock_guard lock{mutex_};
  const auto found = meters_.find(mutex);
  if (found != meters_.end()) return found->second;
  if (meters_.size() >= most_mutexes_) return others_;
  return meters_.emplace(mutex, std::make_shared<detail::MutexMeter>()).first->second;
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
