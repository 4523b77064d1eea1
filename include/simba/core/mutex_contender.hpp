#pragma once

#include <string>

#include "simba/core/contention_event.hpp"
#include "simba/core/mutex_retriever.hpp"

namespace simba {

/// Implemented by whoever wants to own a mutex.
///
/// `on_acquired` and `on_released` alternate, beginning with `on_acquired`. While `on_released`
/// runs after a graceful `stop()`, the mutex is still held: the store is told of the release
/// afterwards. After a loss it may run while another contender already owns the mutex; the loss
/// signal (`MutexContendService::lost()`) fires earlier.
class MutexContender : public MutexRetriever {
 public:
  /// The id of this contender, unique among all contenders of the mutex in all processes. Constant.
  virtual const std::string& contender_id() const noexcept = 0;

  virtual void on_acquired(const MutexState& state) = 0;
  virtual void on_released(const MutexState& state) = 0;

  /// Called for failed renewals, losses and the like. Does nothing unless overridden. Not
  /// guaranteed to be called for every single failure: a slow contender misses repeated ones.
  virtual void on_event(const ContentionEvent& event);

  /// Drops unchanged states and routes the rest to `on_acquired` or `on_released`.
  void notify_owner(const MutexState& state) override;
};

}  // namespace simba
