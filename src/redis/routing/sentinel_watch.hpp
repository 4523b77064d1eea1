#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "redis/connection/connection.hpp"
#include "redis/connection/dialer.hpp"
#include "redis/protocol/reply.hpp"
#include "simba/core/runtime.hpp"
#include "simba/core/timer.hpp"

namespace simba::redis {

/// Listens to one sentinel at a time for failovers. Without it a master that slept through its own
/// failover would be believed until the sentinels have demoted it, which takes them ten seconds.
///
/// Only a hint: where no sentinel can be listened to, a failover is noticed when the old master
/// does not answer or says that it is none.
///
/// Threads: every function may be called from any thread. The events come with no lock held.
class SentinelWatch : public std::enable_shared_from_this<SentinelWatch> {
 public:
  struct Events {
    std::function<void()> on_listening{};  ///< anything may have happened before
    std::function<void(const Endpoint& master)> on_switched{};
  };

  using Post = std::function<void(std::function<void()>)>;

  /// `post` runs a task on the loop's thread.
  SentinelWatch(const RedisOptions& options, std::shared_ptr<const Runtime> runtime, Post post,
                OpenConnection open, Events events);

  /// Begins, if it has not begun.
  void start();
  void close();

 private:
  void connect_soon();
  void connect();  // on the loop's thread: what it opens tells nothing before it returns
  void ready(std::uint64_t attempt);
  void received(std::uint64_t attempt, const Reply& reply);
  void failed(std::uint64_t attempt, const Error& error);
  void tick();
  void arm();  // with mutex_ held

  // constant after construction
  const std::vector<Endpoint> sentinels_;
  const std::string master_name_;
  const std::shared_ptr<const ConnectionSettings> settings_;
  const std::shared_ptr<const Runtime> runtime_;
  const Post post_;
  const OpenConnection open_;
  const Events events_;

  std::mutex mutex_;
  // guarded by mutex_
  bool started_ = false;
  bool closed_ = false;
  std::size_t next_ = 0;       // which sentinel
  std::uint64_t attempt_ = 0;  // which connection: events of earlier ones are stale
  std::shared_ptr<Connection> connection_;
  bool ready_ = false;
  std::optional<LocalTime> unanswered_since_;  // a PING
  std::unique_ptr<Timer> timer_;
  std::string told_;  // why it cannot listen, logged already
};

/// The new master in the message of a sentinel, "<name> <old host> <old port> <host> <port>"; empty
/// if it is about another master or is not such a message.
std::optional<Endpoint> parse_switch(std::string_view payload, std::string_view master_name);

}  // namespace simba::redis
