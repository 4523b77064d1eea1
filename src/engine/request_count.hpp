#pragma once

#include "core/statistics/meters.hpp"
#include "simba/core/clock.hpp"
#include "simba/core/error.hpp"
#include "simba/core/statistics.hpp"

namespace simba::engine {

/// Counts what came of a request. `recorder`: null, then nothing is counted; `error`: null, then it
/// was answered.
inline void count(const StatisticsRecorder* recorder, const Clock& clock, RequestKind kind,
                  LocalTime sent_at, const Error* error) {
  if (recorder == nullptr) return;
  detail::RequestMeter& requests = recorder->requests();
  if (error != nullptr) return requests.failed(error->kind());
  const LocalTime now = clock.now();
  requests.answered(kind, now - sent_at, now);
}

}  // namespace simba::engine
