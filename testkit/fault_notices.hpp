#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "simba/engine/lease_store.hpp"

namespace simba::testkit {

/// The subscriptions and notices of a `FaultStore`.
///
/// Threads: every function may be called from any thread at the same time. Handlers are called with
/// no lock held.
/// Lifetime: shared with the watches and with notices under way. It holds no store.
class FaultNotices : public std::enable_shared_from_this<FaultNotices> {
 public:
  enum class Mode { pass, drop, hold };
  struct Subscription;

  /// A subscription that the store behind does not know of yet.
  std::shared_ptr<Subscription> add(const engine::LeaseRequest& request,
                                    engine::NoticeHandler handler);

  /// Ends with the watch.
  std::unique_ptr<engine::Watch> watch_of(std::shared_ptr<Subscription> subscription);

  /// Makes it known to `store`, if it is not yet and has not ended.
  void make(const std::shared_ptr<Subscription>& subscription, engine::LeaseStore& store);

  /// Makes known what is not yet.
  void make_missing(engine::LeaseStore& store);

  void set(Mode mode);

  /// Lets notices through again, those held first.
  void pass();

  /// Drops what is held and what comes, for ever.
  void close();

  /// Tells everyone who watches `mutex`.
  void notify(const std::string& mutex, const engine::Notice& notice) const;

  /// How many notices came, whatever became of them.
  std::size_t count() const;

 private:
  class FaultWatch;
  struct Held {
    std::shared_ptr<Subscription> to;
    engine::Notice notice;
  };

  void noticed(const std::shared_ptr<Subscription>& to, const engine::Notice& notice);
  void deliver(const std::vector<Held>& notices) const;
  void end(const std::shared_ptr<Subscription>& subscription);

  mutable std::mutex mutex_;
  // guarded by mutex_
  Mode mode_ = Mode::pass;
  bool closed_ = false;
  std::vector<Held> held_;
  std::vector<std::shared_ptr<Subscription>> subscriptions_;
  std::size_t count_ = 0;
};

}  // namespace simba::testkit
