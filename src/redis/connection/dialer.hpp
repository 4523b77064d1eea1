#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <variant>

#include "redis/connection/connection.hpp"
#include "simba/core/error.hpp"
#include "simba/core/runtime.hpp"
#include "simba/redis/redis_options.hpp"

namespace simba::redis {

/// Opens a connection: `Connection::open` with a loop, or a test's own.
using OpenConnection = std::function<std::shared_ptr<Connection>(
    Endpoint, std::shared_ptr<const ConnectionSettings>, Connection::Use, Connection::Events)>;

using EndpointHandler = std::function<void(const std::variant<Endpoint, Error>&)>;

/// Finds the server to connect to, for each connection.
///
/// Threads: `find` is called on the loop's thread and answers there, inside the call or later,
/// exactly once, unless the loop ends first.
class EndpointSource {
 public:
  virtual ~EndpointSource() = default;
  virtual void find(EndpointHandler handler) = 0;
};

/// One server, always at the same place.
class FixedEndpoint final : public EndpointSource {
 public:
  explicit FixedEndpoint(Endpoint endpoint) : endpoint_{std::move(endpoint)} {}
  void find(EndpointHandler handler) override { handler(endpoint_); }

 private:
  const Endpoint endpoint_;
};

/// What it takes to connect to one server. Constant, shared.
struct Dialer {
  std::shared_ptr<const Runtime> runtime;
  std::function<void(std::function<void()>)> post;  ///< runs it on the loop's thread
  OpenConnection open;
  std::shared_ptr<EndpointSource> source;
  std::shared_ptr<const ConnectionSettings> settings;
  Topology topology = Topology::single;
  std::chrono::milliseconds token_retention = RedisOptions{}.token_retention;
};

}  // namespace simba::redis
