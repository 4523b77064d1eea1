#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "redis/connection/dialer.hpp"
#include "redis/routing/command_link.hpp"
#include "redis/routing/replicated_batches.hpp"
#include "redis/waiting/subscriber.hpp"

namespace simba::redis {

/// A server, or what takes its place after a failover: one way for commands, one for messages.
///
/// Threads: every function may be called from any thread.
class Node {
 public:
  /// `expected` is where it should be, for messages until a connection tells where it is.
  Node(const Dialer& dialer, Subscriptions::Grants grants, Endpoint expected,
       Confirmation confirmation = {});

  CommandLink& commands() const noexcept { return *commands_; }

  /// For commands that replicas are to confirm.
  ReplicatedBatches& replicated() const noexcept { return *replicated_; }
  Subscriber& subscriber() const noexcept { return *subscriber_; }

  /// Where the commands go.
  Endpoint endpoint() const;

  /// For messages: "Redis at 127.0.0.1:6379".
  std::string where() const;

  /// Calls `told` on the loop's thread each time a connection for commands is ready. To be set
  /// before the first request.
  void on_connected(std::function<void()> told);

  /// Leaves the server and finds one again.
  void leave();

  /// The same, after a pause: the server has answered with an error that ends its connections.
  void refused(const Error& error);
  void close();

 private:
  struct ConnectedServer {
    std::mutex mutex;
    Endpoint endpoint;                   // guarded by mutex
    std::function<void()> on_connected;  // guarded by mutex
  };

  const std::shared_ptr<ConnectedServer> connected_server_;
  const std::shared_ptr<Subscriber> subscriber_;
  const std::shared_ptr<CommandLink> commands_;
  const std::shared_ptr<ReplicatedBatches> replicated_;
};

}  // namespace simba::redis
