#pragma once

#include <string>

#include "simba/core/mutex_state.hpp"

namespace simba {

/// Implemented by whoever wants to know who owns a mutex. The base of all callback interfaces.
///
/// Threads: a service calls its retriever one call at a time and in order, on the executor of the
/// service. An exception thrown here is logged and otherwise ignored.
/// Lifetime: must outlive the service, or at least its `stop()`.
class MutexRetriever {
 public:
  virtual ~MutexRetriever() = default;

  /// The name of the mutex. Constant.
  virtual const std::string& mutex() const noexcept = 0;

  /// The owner changed.
  virtual void notify_owner(const MutexState& state) = 0;
};

}  // namespace simba
