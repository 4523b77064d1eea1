#include "chaos/checking/sampler.hpp"

#include <chrono>

#include "chaos/raw_clock.hpp"

namespace simba::chaos {

namespace {

constexpr std::chrono::microseconds pause{400};

/// A kill loses no more than this of the record.
constexpr std::int64_t between_lines = 4 * nanoseconds_per_millisecond;

void sample(const std::stop_token& stop, const MutexContendService& service, RecordWriter& record,
            std::atomic<std::int64_t>& owned_at) {
  Sightings sightings{record};
  while (!stop.stop_requested()) {
    const auto token = service.fencing_token();
    const auto before = raw_now();
    const bool owns = service.is_owner();
    const auto after = raw_now();
    if (owns && token != 0 && service.fencing_token() == token) {
      sightings.owned(token, before, after);
      owned_at.store(before);
    } else {
      sightings.over();
    }
    std::this_thread::sleep_for(pause);
  }
  sightings.over();
}

}  // namespace

void Sightings::owned(std::uint64_t token, std::int64_t before, std::int64_t after) {
  if (token != token_) {
    over();
    token_ = token;
    first_ = after;
    return;
  }
  if (before < first_) {
    return;
  }
  last_ = before;
  if (!has_begun_) {
    record_.begins(token_, first_);
    has_begun_ = true;
    written_ = first_;
  }
  if (last_ - written_ >= between_lines) {
    record_.lasts(token_, last_);
    written_ = last_;
  }
}

void Sightings::over() {
  if (has_begun_) {
    record_.lasts(token_, last_);
  }
  token_ = 0;
  has_begun_ = false;
}

Sampler::Sampler(const MutexContendService& service, RecordWriter& record,
                 std::atomic<std::int64_t>& owned_at)
    : thread_{[&service, &record, &owned_at](const std::stop_token& stop) {
        sample(stop, service, record, owned_at);
      }} {}

}  // namespace simba::chaos
