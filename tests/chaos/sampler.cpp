#include "chaos/sampler.hpp"

#include <chrono>

#include "chaos/raw_clock.hpp"

namespace simba::chaos {

namespace {

constexpr std::chrono::microseconds pause{400};

/// A kill loses no more than this of the record.
constexpr std::int64_t between_lines = 4 * nanoseconds_per_millisecond;

void sample(const std::stop_token& stop, const MutexContendService& service, RecordWriter& record,
            std::atomic<std::int64_t>& owned_at) {
  std::uint64_t token = 0;  // of the ownership that goes on; 0: none does
  std::int64_t last = 0;    // seen of it
  std::int64_t written = 0;
  while (!stop.stop_requested()) {
    const auto token_before = service.fencing_token();
    const auto before = raw_now();
    const bool owns = service.is_owner();
    const auto after = raw_now();
    const bool sure = owns && token_before != 0 && service.fencing_token() == token_before;
    if (token != 0 && (!sure || token_before != token)) {
      record.lasts(token, last);
      token = 0;
    }
    if (sure) {
      if (token == 0) {
        token = token_before;
        record.begins(token, after);
        written = after;
      }
      last = before;
      owned_at.store(before);
      if (before - written >= between_lines) {
        record.lasts(token, before);
        written = before;
      }
    }
    std::this_thread::sleep_for(pause);
  }
  if (token != 0) {
    record.lasts(token, last);
  }
}

}  // namespace

Sampler::Sampler(const MutexContendService& service, RecordWriter& record,
                 std::atomic<std::int64_t>& owned_at)
    : thread_{[&service, &record, &owned_at](const std::stop_token& stop) {
        sample(stop, service, record, owned_at);
      }} {}

}  // namespace simba::chaos
