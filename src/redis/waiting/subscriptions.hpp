#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "redis/protocol/message.hpp"
#include "redis/protocol/reply.hpp"
#include "redis/protocol/script.hpp"
#include "simba/core/random.hpp"
#include "simba/core/time.hpp"
#include "simba/engine/lease_store.hpp"

namespace simba::redis {

/// What is listened to at one server, and what its messages mean. Without I/O, clock and threads:
/// every call is told the time and says what to send and whom to tell.
///
/// The connection has an inbox: a channel of its own, on which the server tells which waiter it has
/// made an owner. Beside it each waiter has the channel that the JVM library would wake it on, and
/// each observer those that tell of changes.
///
/// Others may publish on an inbox, and see what the server publishes there. So a grant is believed
/// by a secret that only the server and we know: it is of one wait on one connection, and is void
/// once a grant has told it, be that received or lost with the connection. A token that is further
/// ahead than the server's clock explains makes the waiter ask instead.
///
/// A waiter may join the server's line only once its subscriptions are confirmed, and looks at the
/// mutex again at that moment: so no release falls between.
///
/// When did a grant happen? Replies and messages come in the order in which the server made them.
/// So a message that comes after a PONG was published after that PING was sent: the lease counts
/// from there. The PINGs also find out that a connection is dead.
class Subscriptions {
 public:
  using WatchId = std::uint64_t;

  struct Delivery {
    std::shared_ptr<const engine::NoticeHandler> handler;
    engine::Notice notice;
  };

  /// Something was granted to one who does not want it any more.
  struct Unclaimed {
    std::string mutex;
    std::string contender_id;
    FencingToken token = 0;
  };

  /// What a call wants done, in this order.
  struct Effects {
    std::string commands{};               ///< to be sent as they are
    std::vector<std::string> warnings{};  ///< for the log
    std::optional<Error> refused{};       ///< the connection is unusable: open another
    std::vector<Unclaimed> unclaimed{};   ///< to be given back
    std::vector<Delivery> deliveries{};   ///< to be called with no lock held
  };

  enum class Grants {
    count,      ///< a grant makes an owner
    are_hints,  ///< the waiter asks again, since more is wanted than that the server has decided
  };

  Subscriptions(std::shared_ptr<Random> random, Grants grants);

  // ---- from those who wait or observe

  WatchId add(const engine::LeaseRequest& request, engine::NoticeHandler handler, LocalTime now,
              Effects& effects);
  void remove(WatchId id, LocalTime now);

  /// Where a contender that is about to ask for the mutex would hear of a grant.
  Place place_for(const std::string& mutex, const std::string& contender_id, LocalTime now);

  /// An answer of the server told its time.
  void saw_time(StoreTime time, LocalTime now) noexcept { server_time_ = {time, now}; }

  // ---- from the connection

  void connected(LocalTime now, Effects& effects);
  void disconnected();
  void received(const Reply& reply, std::string_view where, LocalTime now, Effects& effects);

  // ---- time

  /// Sends a PING where one is due and forgets who has not come back for a while.
  void tick(LocalTime now, Effects& effects);

  /// How often to call it. Waiters with short leases need it often: a grant is counted from the
  /// last PING. For observers it only finds out that the connection is dead.
  std::chrono::nanoseconds interval() const noexcept;

  /// Since when a PING has been without its PONG.
  LocalTime unanswered_since() const noexcept { return pings_.empty() ? never : pings_.front(); }

  bool empty() const noexcept { return entries_.empty(); }

 private:
  /// Came before the watch that it is for.
  struct EarlyGrant {
    FencingToken token = 0;
    engine::Notice notice{};
  };
  /// A waiter, or all observers of one mutex.
  struct Entry {
    std::string mutex;
    std::string contender_id;             ///< empty: observers
    std::string secret{};                 ///< empty: not told to the server, or void
    std::chrono::nanoseconds interval{};  ///< in which a waiter needs a PING
    std::vector<std::string> channels{};
    std::map<WatchId, std::shared_ptr<const engine::NoticeHandler>> handlers{};
    LocalTime unused_since = never;  ///< since when it has no handler
    bool covered = false;            ///< nothing can have been missed since it was given its place
    std::optional<EarlyGrant> grant{};
  };
  struct Channel {
    std::vector<Entry*> users{};
    bool confirmed = false;
  };
  struct Retired {
    std::string secret{};
    std::string mutex{};
    std::string contender_id{};
  };
  using Key = std::pair<std::string, std::string>;  // mutex, contender id

  Entry& entry_for(const engine::LeaseRequest& request, LocalTime now, Effects& effects);
  void give_secret(Entry& waiter);
  void retire(const Entry& waiter);
  void drop(std::map<Key, std::unique_ptr<Entry>>::iterator entry, Effects& effects);
  bool is_ready(const Entry& entry) const;
  static void tell(const Entry& entry, const engine::Notice& notice, Effects& effects);

  void subscribe(const std::vector<std::string_view>& channels, Effects& effects);
  bool ping_is_due(LocalTime now) const;
  void ping(LocalTime now, Effects& effects);

  void on(const Subscribed& message, LocalTime now, Effects& effects);
  void on(const Unsubscribed& message, LocalTime now, Effects& effects);
  void on(const Published& message, LocalTime now, Effects& effects);
  void on(const Pong& message, LocalTime now, Effects& effects);
  void on(const Unknown& message, LocalTime now, Effects& effects);
  void granted(const Grant& grant, LocalTime now, Effects& effects);
  bool is_explained(FencingToken token, LocalTime now) const;
  void warn(std::string text, LocalTime now, Effects& effects);

  const std::shared_ptr<Random> random_;
  const Grants grants_;

  std::map<Key, std::unique_ptr<Entry>> entries_;
  std::unordered_map<std::string, Entry*> waiters_;  // by secret
  std::deque<Retired> retired_;                      // of waits that are over, the newest last
  std::unordered_map<WatchId, Entry*> watches_;
  std::unordered_map<std::string, Channel> channels_;
  WatchId last_watch_ = 0;
  std::multiset<std::chrono::nanoseconds> intervals_;  // of all waiters

  // of the present connection
  bool connected_ = false;
  std::string inbox_;
  bool inbox_ready_ = false;
  std::unordered_map<std::string, std::size_t> asked_;  // SUBSCRIBEs under way, by channel
  std::deque<LocalTime> pings_;                         // under way: when each was sent
  std::optional<LocalTime> heard_;                      // when the last one answered was sent
  std::optional<LocalTime> pinged_at_;

  std::optional<std::pair<StoreTime, LocalTime>> server_time_;  // and when it was told
  LocalTime quiet_until_ = LocalTime::min();                    // no further warning before
};

}  // namespace simba::redis
