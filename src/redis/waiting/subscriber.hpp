#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "redis/protocol/script.hpp"
#include "redis/routing/link.hpp"
#include "redis/waiting/subscriptions.hpp"
#include "simba/engine/lease_store.hpp"

namespace simba::redis {

/// The way to one server for messages: a connection that is made when the first one waits or
/// observes, and kept, and reopened, as long as someone does. Once it is closed, nobody is told of
/// anything any more.
///
/// Threads: every function may be called from any thread. Notices are delivered with no lock held,
/// on the loop's thread or inside `watch`.
class Subscriber final : public Link {
 public:
  /// Gives back what was granted to one who does not want it any more.
  using GiveBack = std::function<void(const Subscriptions::Unclaimed&)>;

  Subscriber(Dialer dialer, Subscriptions::Grants grants);

  /// To be set before the first watch.
  void on_unclaimed(GiveBack give_back) { give_back_ = std::move(give_back); }

  /// As `LeaseStore::watch`. The watch holds the subscriber.
  std::unique_ptr<engine::Watch> watch(const engine::LeaseRequest& request,
                                       engine::NoticeHandler handler);

  /// Where a contender that is about to ask would hear of a grant.
  Place place_for(const std::string& mutex, const std::string& contender_id);

  /// An answer of this server told its time.
  void saw_time(StoreTime time);

  /// Moves on to `endpoint` if that is not where it is: commands go there now.
  void follow(const Endpoint& endpoint);

 private:
  class SubscriberWatch;

  void remove(Subscriptions::WatchId id);
  void ready(Lock& lock) override;
  void received(Lock& lock, const Reply& reply) override;
  void ended() override;
  void failed(Lock& lock, const Error& error, bool news) override;
  void left() override { keep_up(); }
  void tick() override;

  void keep_up();                              // with mutex_ held
  void arm();                                  // with mutex_ held
  void send(Subscriptions::Effects& effects);  // with mutex_ held
  void report(const Subscriptions::Effects& effects) const;

  GiveBack give_back_;  // constant after construction

  // guarded by mutex_
  Subscriptions subscriptions_;
  LocalTime due_ = never;  // of the timer
};

}  // namespace simba::redis
