#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "chaos/checking/record.hpp"
#include "simba/core/mutex_contend_service.hpp"

namespace simba::chaos {

/// Makes the record of ownerships from moments at which a service was asked.
///
/// A thread can stand still at any moment, also between an answer and the look at the clock after
/// it. So nothing is certain of an ownership that was seen once: it is written down from the end of
/// the first question on, when a later question that has the same answer began after that.
///
/// Threads: used by one thread at a time.
class Sightings {
 public:
  explicit Sightings(RecordWriter& record) : record_{record} {}

  /// The service owned, by this token, at some moment between `before` and `after`.
  void owned(std::uint64_t token, std::int64_t before, std::int64_t after);

  /// It did not, or that is not certain; or nobody will ask any more.
  void over();

 private:
  RecordWriter& record_;
  std::uint64_t token_ = 0;   // of the ownership that goes on; 0: none does
  std::int64_t first_ = 0;    // it has begun by then
  std::int64_t last_ = 0;     // it was not over before
  std::int64_t written_ = 0;  // of that
  bool has_begun_ = false;    // in the record
};

/// A thread that asks a service some thousand times a second whether it owns its mutex, and writes
/// down from when to when that was so for certain.
///
/// Lifetime: everything that it is given outlives it.
class Sampler {
 public:
  /// `owned_at` gets the last moment at which the service was seen to own.
  Sampler(const MutexContendService& service, RecordWriter& record,
          std::atomic<std::int64_t>& owned_at);

 private:
  std::jthread thread_;
};

}  // namespace simba::chaos
