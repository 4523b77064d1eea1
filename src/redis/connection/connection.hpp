#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/threads/event_loop.hpp"
#include "redis/connection/credentials_calls.hpp"
#include "redis/protocol/reply.hpp"
#include "simba/core/error.hpp"
#include "simba/core/log.hpp"
#include "simba/core/secret.hpp"
#include "simba/core/tls_options.hpp"
#include "simba/redis/redis_options.hpp"

namespace simba::redis {

class SharedTlsContext;
std::shared_ptr<SharedTlsContext> make_shared_tls_context();

/// How every connection of a store is made. Constant, shared by them.
struct ConnectionSettings {
  std::string user{};
  Secret password{};
  std::shared_ptr<CredentialsCalls>
      credentials{};  ///< not empty: asked by each connection for both
  int database = 0;
  std::string client_name{};
  TlsOptions tls{};
  std::shared_ptr<SharedTlsContext> tls_context = make_shared_tls_context();  ///< made of `tls`
  std::chrono::milliseconds connect_timeout{2'000};  ///< all of resolving, TLS and log-in
  std::chrono::milliseconds command_timeout{2'000};

  /// Hosts that may be connected to, with `*` for any characters; empty: any.
  std::vector<std::string> permitted_hosts{};

  /// Rejects a server that is not a master (ROLE), with a transient error.
  bool masters_only = false;
};

using Replies = std::variant<std::vector<Reply>, Error>;
using RepliesHandler = std::function<void(const Replies&)>;

/// One connection to one server: made, logged in, and used with as many commands under way as
/// there are. It does not come back: who needs it again opens another.
///
/// Threads: every function may be called from any thread. Handlers and events are called on the
/// loop's thread, one at a time, with no lock held; `send` on a closed connection is the exception:
/// it calls the handler at once.
/// Lifetime: the loop holds it until it is closed.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  enum class Use {
    commands,       ///< replies are matched with what was sent, in order
    subscriptions,  ///< everything the server says is a message
  };

  struct Events {
    /// Logged in.
    std::function<void()> on_ready{};

    /// Only with Use::subscriptions, only after on_ready.
    std::function<void(const Reply& reply)> on_message{};

    /// Failed to open, broke, or was closed by the server: comes once, and last. Not after close().
    std::function<void(const Error& error)> on_closed{};
  };

  /// Begins to connect. What is sent before it is ready goes out when it is.
  static std::shared_ptr<Connection> open(std::shared_ptr<detail::EventLoop> loop,
                                          Endpoint endpoint,
                                          std::shared_ptr<const ConnectionSettings> settings,
                                          Use use, Events events);

  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Sends encoded commands that the server answers with `replies` replies. The handler is called
  /// exactly once: with that many replies, error replies among them, or with an Error:
  /// `unavailable` where nothing was sent, or what does not pass by itself where the connection was
  /// refused for that (e.g. `authentication`), `in_doubt` where the connection broke after sending,
  /// `timeout` where no reply came within the command timeout (which closes the connection).
  ///
  /// With Use::subscriptions `replies` is 0 and the handler is empty.
  virtual void send(std::string commands, std::size_t replies, RepliesHandler handler) = 0;

  /// Ends it. Requests under way are answered with an Error as above. No event comes after it
  /// has returned, but for one that is being called on another thread at that moment.
  virtual void close() = 0;

 protected:
  Connection() = default;
};

}  // namespace simba::redis
