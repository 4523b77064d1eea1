#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "simba/core/fork_guard.hpp"

namespace simba::engine {

class LeaseContention;

/// What a factory and its services hold in common. While one of them is there, a mutex that the
/// store has not taken back yet is given back in the background. When the last is gone, what is
/// still under way is given up and the store detached from, before that destructor returns: nothing
/// of theirs keeps a thread any more.
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

 private:
  const std::shared_ptr<void> to_store_;
  const ForkGuard fork_guard_;

  std::mutex mutex_;
  std::vector<std::weak_ptr<LeaseContention>> left_behind_;  // guarded by mutex_
};

}  // namespace simba::engine
