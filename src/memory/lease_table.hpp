#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "simba/core/clock.hpp"
#include "simba/core/mutex_records.hpp"
#include "simba/engine/lease_store.hpp"

namespace simba::memory {

/// Someone who watches a mutex.
struct Subscription {
  Subscription(const engine::LeaseRequest& request, engine::NoticeHandler on_notice);

  // constant after construction
  const std::string contender_id;  // empty: an observer
  const std::chrono::milliseconds ttl;
  const std::chrono::milliseconds transition;
  const std::uint64_t instance;
  const engine::NoticeHandler handler;

  std::atomic<bool> ended{false};
  bool waiting = false;  // guarded by the table: wants to be granted the mutex
};

using Subscriber = std::shared_ptr<Subscription>;

/// All mutexes of a `MemoryStore` that are owned or watched, and the records of all that have one.
///
/// Threads: public functions may be called from any thread at the same time. They call the handlers
/// of subscribers, with no lock held, before they return.
/// Lifetime: the caller holds it during a call, since a handler may let go of the store.
class LeaseTable final : public MutexRecords {
 public:
  struct Entry;
  using Entries = std::unordered_map<std::string, Entry>;
  using Slot = Entries::value_type;

  explicit LeaseTable(std::shared_ptr<const Clock> clock);

  engine::LeaseRecord acquire(const engine::LeaseRequest& request);
  engine::LeaseRecord guard(const engine::LeaseRequest& request);
  engine::LeaseRecord release(const engine::LeaseRequest& request, FencingToken token);
  engine::LeaseRecord retrieve(const std::string& mutex) const;

  /// The slot stays where it is until `unsubscribe`.
  Slot& subscribe(const std::string& mutex, const Subscriber& subscriber);
  void unsubscribe(Slot& slot, const Subscriber& subscriber);

  void read(const std::string& mutex, RecordHandler handler) override;
  void write(const RecordWrite& write, RecordHandler handler) override;

  struct Delivery {
    Subscriber to;
    engine::Notice notice;
  };

  struct Entry {
    std::string owner_id;  // empty: free
    LocalTime acquired_at{};
    LocalTime ttl_at{};
    LocalTime transition_at{};
    FencingToken token = 0;
    FencingToken first_token = 0;         // of this ownership, which may have been granted again
    std::uint64_t instance = 0;           // of the owner; 0: unknown
    std::vector<Subscriber> subscribers;  // in the order in which they came
    std::vector<Delivery> outbox;         // notices to deliver, oldest first
    bool delivering = false;              // a thread is at it

    bool owned(LocalTime now) const noexcept { return !owner_id.empty() && transition_at >= now; }
    bool is_namesake_of(const engine::LeaseRequest& request) const noexcept {
      return owner_id == request.contender_id && instance != request.instance && instance != 0 &&
             request.instance != 0;
    }
  };

 private:
  struct Grantee {
    const std::string& contender_id;
    std::chrono::milliseconds ttl;
    std::chrono::milliseconds transition;
    std::uint64_t instance;
  };

  void grant(Entry& entry, const Grantee& to, LocalTime now);
  void pass_on(Entry& entry, const std::string& cause, LocalTime now);
  void tell_change(Entry& entry, const std::string& cause, LocalTime now,
                   const Subscription* except = nullptr) const;
  static void wait_no_longer(Entry& entry, const std::string& contender_id);
  engine::LeaseRecord record_of(const Entry& entry, LocalTime now,
                                const engine::LeaseRequest* asked = nullptr) const;
  engine::Notice notice_of(engine::Notice::Kind kind, const Entry& entry, LocalTime now) const;
  StoreTime store_time(LocalTime moment) const noexcept;
  bool owned_by(const std::string& mutex, const RecordOwner& owner) const;
  RecordAnswer write(const RecordWrite& write);
  void deliver(Slot& slot, std::unique_lock<std::mutex>& lock) noexcept;
  Slot& slot_of(const std::string& mutex);
  void drop_if_idle(const Slot& slot);

  // constant after construction
  const std::shared_ptr<const Clock> clock_;
  const LocalTime local_base_;
  const std::chrono::milliseconds store_base_;

  mutable std::mutex mutex_;
  // guarded by mutex_
  Entries entries_;
  std::vector<Entries::node_type> spare_;  // of mutexes that are no longer owned or watched
  std::unordered_map<std::string, MutexRecord> records_;  // their times are not used
  FencingToken last_token_ = 0;
};

}  // namespace simba::memory
