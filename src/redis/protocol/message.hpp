#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "redis/protocol/reply.hpp"
#include "simba/core/time.hpp"

namespace simba::redis {

/// What comes on a connection that subscribes.
struct Subscribed {
  std::string channel;
};
struct Unsubscribed {
  std::string channel;
};
struct Published {
  std::string channel;
  std::string payload;
};
struct Pong {};
struct Unknown {
  std::string what;  ///< for the log: what was wrong with it, without bytes that do not print
};

using Message = std::variant<Subscribed, Unsubscribed, Published, Pong, Unknown>;

/// Never throws. A PING on a connection that subscribes is answered by an array ["pong", ""], and
/// before the first SUBSCRIBE by the status PONG: both are Pong.
Message parse_message(const Reply& reply);

/// `granted <secret> <token> <ttl> <transition> <now>`, as the release script sends it to an inbox:
/// the waiter that registered under this secret owns the mutex. Times are milliseconds, `now` of
/// the server's clock.
struct Grant {
  std::string secret{};
  FencingToken token = 0;
  std::chrono::milliseconds ttl{0};
  std::chrono::milliseconds transition{0};
  StoreTime at{};
};

/// `acquired@@<id>` and `released@@<id>`, as every contender sends them.
struct Acquired {
  std::string owner_id;
};
struct Released {
  std::string previous_owner_id;
};

using Payload = std::variant<Grant, Acquired, Released, Unknown>;

/// Never throws: anyone may publish anything on our channels. A secret has the form of one; numbers
/// are decimal, complete and within bounds (token > 0, 0 < ttl, 0 <= transition, each at most 365
/// days).
Payload parse_payload(std::string_view payload);

}  // namespace simba::redis
