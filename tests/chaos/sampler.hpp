#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "chaos/record.hpp"
#include "simba/core/mutex_contend_service.hpp"

namespace simba::chaos {

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
