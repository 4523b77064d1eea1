#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/threads/event_loop.hpp"
#include "redis/connection/connection.hpp"
#include "redis/connection/connection_timer.hpp"
#include "redis/connection/resolver.hpp"
#include "redis/connection/transport.hpp"

namespace simba::redis {

/// Makes the way to a server: finds its addresses, tries them one after the other, and speaks TLS
/// with the first that takes the connection. An address that does not answer takes up no more than
/// its share of the time, so that the others get theirs.
///
/// Threads: used on the loop's thread only.
class ConnectionOpener : public std::enable_shared_from_this<ConnectionOpener> {
 public:
  using Handler = std::function<void(const std::variant<std::shared_ptr<Transport>, Error>&)>;

  /// Answers once, on the loop's thread, never inside `start`: by `deadline` unless TLS is being
  /// spoken then; the caller cancels at the end of its patience.
  ConnectionOpener(std::shared_ptr<detail::EventLoop> loop, Endpoint endpoint,
                   std::shared_ptr<const ConnectionSettings> settings, LocalTime deadline,
                   Handler handler);

  /// Throws Error (configuration) if the settings of TLS are wrong.
  void start();

  /// No answer comes any more.
  void cancel();

 private:
  void resolve();
  void try_next();
  void connected(std::uint64_t attempt, const asio::error_code& error);
  void secured(const asio::error_code& error);
  void next_after(const std::string& why);
  void answer(const std::variant<std::shared_ptr<Transport>, Error>& result);
  Error unreachable() const;

  // constant after construction
  const std::shared_ptr<detail::EventLoop> loop_;
  const Endpoint endpoint_;
  const std::shared_ptr<const ConnectionSettings> settings_;
  const LocalTime deadline_;

  Handler handler_;  // empty: cancelled or answered
  std::shared_ptr<asio::ssl::context> tls_;
  std::shared_ptr<Resolver> resolver_;
  std::vector<Address> addresses_;
  std::size_t next_ = 0;
  std::uint64_t attempt_ = 0;  // tells what is meant of what comes late
  std::string failures_;
  ConnectionTimer patience_;
  std::shared_ptr<Transport> transport_;
};

}  // namespace simba::redis
