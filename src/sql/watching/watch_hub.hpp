#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simba/core/clock.hpp"
#include "simba/engine/lease_store.hpp"
#include "sql/workers/request_queue.hpp"

namespace simba::sql {

/// One that watches a mutex.
struct Subscription {
  Subscription(std::string name, engine::NoticeHandler on_notice)
      : mutex{std::move(name)}, handler{std::move(on_notice)} {}

  const std::string mutex;
  const engine::NoticeHandler handler;
  std::atomic<bool> ended{false};
  bool told = false;  // guarded by the hub
};

/// Who watches what, and what is known of it. Tells subscribers when the owner of their mutex has
/// changed or renewed its lease, and each of them once in the beginning.
///
/// Threads: every function may be called from any thread at the same time. Handlers are called with
/// no lock held; one notice may overtake another, but none that is older than what was told: a
/// smaller version counts only where it was asked for after the greater one had come.
class WatchHub {
 public:
  explicit WatchHub(std::shared_ptr<const Clock> clock) : clock_{std::move(clock)} {}

  /// Tells whether the mutex was watched by nobody before.
  bool add(const std::shared_ptr<Subscription>& subscription);
  void remove(const std::shared_ptr<Subscription>& subscription);

  /// Takes note of what the database has said of a mutex. `record.counted_from` is set.
  void saw(const std::string& mutex, const engine::LeaseRecord& record);

  /// The same for an answer to a question after `asked`; what has no row is free.
  void saw(const std::vector<std::string>& asked, const std::vector<Row>& rows,
           LocalTime counted_from);

  bool watches(const std::string& mutex) const;

  /// What is watched; those that came first in front.
  MutexNames names() const;

 private:
  struct Entry {
    std::uint64_t number = 0;  // in the order of coming
    std::vector<std::shared_ptr<Subscription>> subscriptions{};
    bool known = false;
    std::string owner_id{};
    FencingToken version = 0;
    LocalTime learned_at{};  // a smaller version that was asked for later is a table restored
  };

  const std::shared_ptr<const Clock> clock_;

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;  // guarded by mutex_
  std::uint64_t last_number_ = 0;                   // guarded by mutex_
  mutable MutexNames names_;                        // guarded by mutex_; empty: to be made again
};

}  // namespace simba::sql
