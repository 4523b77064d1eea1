#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <asio/generic/stream_protocol.hpp>

#include "core/threads/event_loop.hpp"
#include "redis/connection/connection_timer.hpp"
#include "simba/core/error.hpp"

namespace simba::redis {

using Address = asio::generic::stream_protocol::endpoint;
using Addresses = std::variant<std::vector<Address>, Error>;

/// Finds the addresses of a host without blocking the loop and without a thread of ours.
///
/// Threads: used on the loop's thread only.
/// Lifetime: the loop holds it until the look-up is over, and frees it when the loop itself ends.
class Resolver : public std::enable_shared_from_this<Resolver> {
 public:
  using Handler = std::function<void(const Addresses&)>;

  /// Answers on the loop's thread, never inside this call: at least one address, in the order in
  /// which they should be tried, or an Error (unavailable). A look-up has no time limit of its own.
  static std::shared_ptr<Resolver> start(detail::EventLoop& loop, const std::string& host,
                                         std::uint16_t port, Handler handler);

  /// No answer comes any more. What the system still does for it ends by itself.
  void cancel();

  Resolver(detail::EventLoop& loop, const std::string& host, std::uint16_t port, Handler handler);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

 private:
  struct Lookup;

  void begin();
  void look();
  void look_later();
  void answer(const Addresses& addresses);

  detail::EventLoop& loop_;
  Handler handler_;  // empty: cancelled or answered
  ConnectionTimer timer_;
  std::chrono::milliseconds pause_{1};
  std::unique_ptr<Lookup> lookup_;
};

/// The address of a Unix socket. Throws Error (configuration) if the path is too long.
Address unix_address(const std::string& path);

}  // namespace simba::redis
