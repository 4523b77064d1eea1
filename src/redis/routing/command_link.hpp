#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "redis/routing/link.hpp"

namespace simba::redis {

/// The way to one server for commands: a connection that is made when the first request needs it,
/// and opened again when the next request after a break does. During the pause after a failure
/// requests fail at once.
///
/// Threads: every function may be called from any thread. Handlers are called with no lock held,
/// on the loop's thread or inside the call.
class CommandLink final : public Link {
 public:
  /// `on_ready` is told, on the loop's thread, where each new connection leads.
  CommandLink(Dialer dialer, std::function<void(const Endpoint&)> on_ready);

  /// As `Connection::send`. What waits for a connection when the server is left is sent to the one
  /// that is found next. After close() it is answered with an error, as is all that waited then.
  void send(std::string commands, std::size_t replies, RepliesHandler handler);

 private:
  struct Waiting {
    std::string commands;
    std::size_t replies;
    RepliesHandler handler;
  };

  void opened(Lock& lock) override;
  void ready(Lock& lock) override;
  void failed(Lock& lock, const Error& error, bool news) override;
  void left() override;
  void closing(Lock& lock) override;
  void answer_waiting(Lock& lock, const Error& error);

  // constant after construction
  const std::function<void(const Endpoint&)> on_ready_;

  // guarded by mutex_
  std::vector<Waiting> waiting_;   // for a connection, or behind others that are handed to it
  std::uint64_t handed_over_ = 0;  // the attempt whose connection was handed all that waited
};

}  // namespace simba::redis
