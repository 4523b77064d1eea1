#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/connect_gate.hpp"
#include "redis/connection/connection.hpp"
#include "redis/connection/dialer.hpp"
#include "redis/protocol/script.hpp"
#include "redis/waiting/subscriptions.hpp"
#include "simba/core/timer.hpp"
#include "simba/engine/lease_store.hpp"

namespace simba::redis {

/// The way to one server for messages: a connection that is made when the first one waits or
/// observes, and kept, and reopened, as long as someone does.
///
/// Threads: every function may be called from any thread. Notices are delivered with no lock held,
/// on the loop's thread or inside `watch`.
class Subscriber : public std::enable_shared_from_this<Subscriber> {
 public:
  /// Gives back what was granted to one who does not want it any more.
  using GiveBack = std::function<void(const Subscriptions::Unclaimed&)>;

  Subscriber(Dialer dialer, Subscriptions::Grants grants);

  /// To be set before the first watch.
  void on_unclaimed(GiveBack give_back) { give_back_ = std::move(give_back); }

  ~Subscriber();
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;

  /// As `LeaseStore::watch`. The watch holds the subscriber.
  std::unique_ptr<engine::Watch> watch(const engine::LeaseRequest& request,
                                       engine::NoticeHandler handler);

  /// Where a contender that is about to ask would hear of a grant.
  Place place_for(const std::string& mutex, const std::string& contender_id);

  /// Moves on to `endpoint` if that is not where it is: commands go there now.
  void follow(const Endpoint& endpoint);

  /// Finds a server again.
  void leave();

  /// Ends the connection. Nobody is told of anything any more.
  void close();

 private:
  class SubscriberWatch;

  void remove(Subscriptions::WatchId id);
  void found(std::uint64_t attempt, const std::variant<Endpoint, Error>& result);
  void ready(std::uint64_t attempt);
  void received(std::uint64_t attempt, const Reply& reply);
  void failed(std::uint64_t attempt, const Error& error);
  void tick();

  std::shared_ptr<Connection> hang_up();       // with mutex_ held
  void keep_up();                              // with mutex_ held
  void arm();                                  // with mutex_ held
  void send(Subscriptions::Effects& effects);  // with mutex_ held
  void report(const Subscriptions::Effects& effects) const;

  // constant after construction
  const Dialer dialer_;
  GiveBack give_back_;

  std::mutex mutex_;
  // guarded by mutex_
  Subscriptions subscriptions_;
  bool closed_ = false;
  std::uint64_t attempt_ = 0;  // which connection: events of earlier ones are stale
  bool dialing_ = false;       // from the attempt on until it is ready or has failed
  bool ready_ = false;
  LocalTime ready_at_{};  // while ready_
  std::shared_ptr<Connection> connection_;
  std::optional<Endpoint> endpoint_;
  detail::ConnectGate gate_;
  std::unique_ptr<Timer> timer_;
  LocalTime due_ = never;  // of timer_
};

}  // namespace simba::redis
