#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "redis/routing/link.hpp"

namespace simba::redis {

/// Listens to one sentinel at a time for failovers. Without it a master that slept through its own
/// failover would be believed until the sentinels have demoted it, which takes them ten seconds.
///
/// Only a hint: where no sentinel can be listened to, a failover is noticed when the old master
/// does not answer or says that it is none.
///
/// Threads: every function may be called from any thread. The events come with no lock held.
class SentinelWatch final : public Link {
 public:
  struct Events {
    std::function<void()> on_listening{};  ///< anything may have happened before
    std::function<void(const Endpoint& master)> on_switched{};
  };

  /// Of `dialer` it uses what does not depend on the server.
  SentinelWatch(const RedisOptions& options, Dialer dialer, Events events);

  /// Begins, if it has not begun.
  void start();

 private:
  void ready(Lock& lock) override;
  void received(Lock& lock, const Reply& reply) override;
  void ended() override { unanswered_since_.reset(); }
  void failed(Lock& lock, const Error& error, bool news) override;
  void tick() override;
  void arm();  // with mutex_ held

  // constant after construction
  const std::string master_name_;
  const Events events_;

  // guarded by mutex_
  bool started_ = false;
  bool told_ = false;                          // the log, that it cannot listen
  std::optional<LocalTime> unanswered_since_;  // a PING
};

/// The new master in the message of a sentinel, "<name> <old host> <old port> <host> <port>"; empty
/// if it is about another master or is not such a message.
std::optional<Endpoint> parse_switch(std::string_view payload, std::string_view master_name);

}  // namespace simba::redis
