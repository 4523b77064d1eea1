#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "engine/record_lane.hpp"
#include "simba/core/fork_guard.hpp"

namespace simba::engine {

class LeaseContention;

/// Shared by a factory and its services. While one of them exists, unconfirmed releases are retried
/// in the background. When the last one is destroyed, pending releases are given up and the store
/// is detached before that destructor returns, so that no thread is left behind.
///
/// Threads: may be used from any thread at the same time.
class Attachment {
 public:
  explicit Attachment(std::shared_ptr<void> to_store);
  ~Attachment();
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  /// Its service is gone. It may still have something to give back.
  void leave_behind(const std::shared_ptr<LeaseContention>& contention);

  /// The ways of all requests about records. Closed before the store is detached. Reads of one
  /// moment are let through together, since a store can answer many at once.
  RecordLane& record_reads() noexcept { return *record_reads_; }
  RecordLane& record_writes() noexcept { return *record_writes_; }

 private:
  const std::shared_ptr<void> to_store_;
  const ForkGuard fork_guard_;
  const std::shared_ptr<RecordLane> record_reads_ = std::make_shared<RecordLane>(2000);
  const std::shared_ptr<RecordLane> record_writes_ = std::make_shared<RecordLane>(32);

  std::mutex mutex_;
  std::vector<std::weak_ptr<LeaseContention>> left_behind_;  // guarded by mutex_
};

}  // namespace simba::engine
