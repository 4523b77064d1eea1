#pragma once

#include <atomic>

#include "simba/client/health.hpp"
#include "simba/core/contention_event.hpp"
#include "simba/core/mutex_contend_service.hpp"
#include "simba/core/time.hpp"

namespace simba::detail {

/// What a contender's events tell of its health.
///
/// Threads: every function may be called from any thread.
class HealthRecord {
 public:
  void note(const ContentionEvent& event, LocalTime now) noexcept;
  void note_acquired() noexcept { failed_at_ = LocalTime::min(); }

  /// Another process uses the id of the contender, which stays out.
  bool is_out() const noexcept { return out_.load(); }

  /// Of the contender of `service`.
  Health health(const MutexContendService& service) const noexcept;

 private:
  std::atomic<bool> out_{false};
  std::atomic<LocalTime> failed_at_{LocalTime::min()};
};

}  // namespace simba::detail
