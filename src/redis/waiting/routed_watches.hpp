#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "redis/routing/router.hpp"
#include "simba/engine/lease_store.hpp"

namespace simba::redis {

/// Watches that move with their mutex from one node to another.
///
/// Threads: every function may be called from any thread.
/// Lifetime: made by `make_shared`; the watches hold it.
class RoutedWatches : public std::enable_shared_from_this<RoutedWatches> {
 public:
  /// As `LeaseStore::watch`.
  std::unique_ptr<engine::Watch> add(std::shared_ptr<Router> router,
                                     const engine::LeaseRequest& request,
                                     engine::NoticeHandler handler);

  /// Lets each watch listen where its mutex is now.
  void follow();

 private:
  class Routed;
  class RoutedWatch;

  void remove(const std::shared_ptr<Routed>& routed);

  std::mutex mutex_;
  std::unordered_set<std::shared_ptr<Routed>> all_;  // guarded by mutex_
};

}  // namespace simba::redis
