#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/connect_gate.hpp"
#include "redis/connection/connection.hpp"
#include "redis/connection/dialer.hpp"

namespace simba::redis {

/// The way to one server for commands: a connection that is made when the first request needs it,
/// and opened again when the next request after a break does. After a failure requests fail at once
/// for a while, which doubles.
///
/// Threads: every function may be called from any thread. Handlers are called with no lock held,
/// on the loop's thread or inside the call.
class CommandLink : public std::enable_shared_from_this<CommandLink> {
 public:
  /// `on_ready` is told, on the loop's thread, where each new connection leads.
  CommandLink(Dialer dialer, std::function<void(const Endpoint&)> on_ready);

  /// As `Connection::send`.
  void send(std::string commands, std::size_t replies, RepliesHandler handler);

  /// Leaves the server, e.g. because it is no longer a master, even while connecting to it.
  /// The next request, or one that waits, finds one again.
  void leave();

  /// Answers what is under way, and everything that still comes, with an error.
  void close();

 private:
  struct Waiting {
    std::string commands;
    std::size_t replies;
    RepliesHandler handler;
  };

  void dial(std::uint64_t attempt);
  void found(std::uint64_t attempt, const std::variant<Endpoint, Error>& result);
  void ready(std::uint64_t attempt, const Endpoint& endpoint);
  void failed(std::uint64_t attempt, const Error& error);
  void hand_on(const std::shared_ptr<Connection>& connection, std::uint64_t attempt);

  // constant after construction
  const Dialer dialer_;
  const std::function<void(const Endpoint&)> on_ready_;

  std::mutex mutex_;
  // guarded by mutex_
  bool closed_ = false;
  std::uint64_t attempt_ = 0;               // which connection: events of earlier ones are stale
  bool dialing_ = false;                    // until connection_ is set or it failed
  std::shared_ptr<Connection> opened_;      // being handed what has waited for it
  std::shared_ptr<Connection> connection_;  // takes requests
  std::vector<Waiting> waiting_;
  detail::ConnectGate gate_;
};

}  // namespace simba::redis
