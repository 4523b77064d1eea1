#pragma once

#include <functional>
#include <memory>

#include "redis/connection.hpp"
#include "redis/endpoint_source.hpp"
#include "redis/open_connection.hpp"
#include "simba/core/runtime.hpp"

namespace simba::redis {

/// What it takes to connect to one server. Constant, shared.
struct Dialer {
  std::shared_ptr<const Runtime> runtime;
  std::function<void(std::function<void()>)> post;  ///< runs it on the loop's thread
  OpenConnection open;
  std::shared_ptr<EndpointSource> source;
  std::shared_ptr<const ConnectionSettings> settings;
  Topology topology = Topology::single;
};

}  // namespace simba::redis
